"""What is said about recommended configs: what they bring and cost, and why."""
