"""What the load generators of all clients are made of: records, pacing, windows, and the watchdog."""
