"""What `benchmarks.samplers` runs: search methods, one search with one of them, and tables that compare them."""
