"""Topics on a cluster: those that we create and delete, and what lies in those of the user."""
