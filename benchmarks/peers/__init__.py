"""Programs that benchmarks need: tools that our loads are compared with, and a peer for connections over loopback."""
