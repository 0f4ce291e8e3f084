"""Where studies are recorded: folders with SQLite, or a PostgreSQL server that several hosts share."""
