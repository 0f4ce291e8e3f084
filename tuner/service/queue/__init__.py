"""Studies that wait for their turn."""
