"""The programs at the other side of a benchmark: tools that our loads are compared with, and a peer on loopback."""
