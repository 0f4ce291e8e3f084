"""Storage of studies: in folders with SQLite files, or in a PostgreSQL database that several hosts share."""
