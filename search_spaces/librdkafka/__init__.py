"""What is known of librdkafka: its properties, roles, rules, knobs and limits."""
