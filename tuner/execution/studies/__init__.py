"""How a study runs: burn-in, search and confirmation. It also makes new studies from existing ones."""
