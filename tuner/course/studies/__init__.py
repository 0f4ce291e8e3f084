"""How a study runs: its order, its loop of trials, its burn-in runs and confirmations, and studies made from others."""
