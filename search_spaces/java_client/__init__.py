"""The facts about the Java client: its properties, roles, rules, knobs and limits, by version."""
