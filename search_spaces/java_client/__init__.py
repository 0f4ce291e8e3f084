"""What is known of the Java client: its properties, roles, rules, knobs and limits, by version."""
