"""The study: what is asked for, the loop that answers, and the record of every trial."""
