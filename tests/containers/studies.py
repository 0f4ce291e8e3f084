"""A short study for tests of containers. It has all stages and takes about a minute. Its results mean nothing.

The rate is low, so that every config holds it even while other studies run on the same machine.
"""


def short_study(name: str, target: str) -> str:
    """Return the text of the study file.

    Args:
        name: Name of the study.
        target: The value of `target` as YAML.
    """
    return f"""
study: {{name: {name}}}
target: {target}
workload:
  record_bytes: [1000]
  saturate: {{warmup: 0.5s, measured: 1s}}
  paced: {{warmup: 0.5s, measured: 1s, rate_records_per_s: 1000}}
search: {{trials: 3, startup_trials: 2, burn_in_max: 2}}
confirm:
  {{goals: [balanced], nominees: 1, rounds: 2, max_rounds: 2, undo_rounds: 0, new_broker: never, spread_over: 0s}}
"""
