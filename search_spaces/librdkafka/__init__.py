"""The facts about librdkafka: its properties, roles, rules, knobs and limits."""
