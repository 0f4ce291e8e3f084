"""Benchmarks of the tool itself, which fill the pages of docs/evidence. Run one at a time, on an idle machine."""
