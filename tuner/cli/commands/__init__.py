"""The commands of `tuner` without a service: one module for each, which has the name of the command."""
