"""Which config is recommended for a record size and a goal, and why."""
