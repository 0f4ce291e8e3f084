"""Problems whose answer is known: simulated clusters and measured tables."""
