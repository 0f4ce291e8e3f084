"""How a study runs: its trials, its burn-in runs, search and confirmations, and studies made from others."""
