"""The commands of `tuner --server URL`, and what they share (`at_service.py`)."""
