"""Test problems for samplers, with known answers: simulated clusters and tables of measurements."""
