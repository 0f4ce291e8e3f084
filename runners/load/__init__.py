"""The code that the load generators of all clients share: records, pacing, windows, the watchdog, child processes."""
