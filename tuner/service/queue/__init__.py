"""The queue of submitted studies."""
