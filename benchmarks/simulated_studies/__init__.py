"""What `benchmarks.trust` runs: studies on simulated machines whose true gains are known."""
