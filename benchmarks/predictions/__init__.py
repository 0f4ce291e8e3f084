"""What is compared with measurements: predictions at other rates and for more producers, and models of others."""
