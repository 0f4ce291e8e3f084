"""What the load generators of all clients share: records, pacing, windows, the watchdog, a process of their own."""
