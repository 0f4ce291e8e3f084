"""What a run has measured: its result, and the histograms, end-to-end latencies and used resources in it."""
