"""The parts of `benchmarks.samplers`: the search methods, a search with one of them, and tables that compare them."""
