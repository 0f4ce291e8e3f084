"""The search: samplers and strategies that propose the configs to measure."""
