"""Studies on simulated machines whose true gains are known, for `benchmarks.trust`."""
