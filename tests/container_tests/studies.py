"""A study that shows the whole way in half a minute; its figures mean nothing."""


def short_study(name: str, target: str) -> str:
    """Its file.

    Args:
        name: Of the study.
        target: What stands there for the target, as YAML.
    """
    return f"""
study: {{name: {name}}}
target: {target}
workload:
  record_bytes: [1000]
  saturate: {{warmup: 0.5s, measured: 1s}}
  paced: {{warmup: 0.5s, measured: 1s}}
search: {{trials: 3, startup_trials: 2, burn_in_max: 2}}
confirm: {{goals: [balanced], nominees: 1, rounds: 3, max_rounds: 3, ablation_rounds: 0}}
"""
