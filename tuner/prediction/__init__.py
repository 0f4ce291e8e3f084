"""What a config would do, computed from the trials of a study and without measuring it.

`observations_of_study` and `observations_of_experiment` take what was measured, `calibrate` fits the constants of the
performance model (`runners.performance_model`) to it, and `predict` computes what a config would do.
"""
