"""The types that describe a client: its knobs and their ranges, its rules and its limits; and Kafka's record format."""
