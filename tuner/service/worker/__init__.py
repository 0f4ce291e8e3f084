"""The processes that run the studies, and the thread that looks after them."""
