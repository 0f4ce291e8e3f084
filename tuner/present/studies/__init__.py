"""Studies before, while and after they run: their plan, their progress, their status, and the list of all studies."""
