"""The processes that run studies."""
