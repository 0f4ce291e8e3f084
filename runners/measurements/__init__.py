"""The result of a run, with its histograms, end-to-end latencies and used resources."""
