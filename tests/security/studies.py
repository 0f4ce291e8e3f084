"""Short studies on the secured broker, run as a user runs them."""

from pathlib import Path

from tests.security.secured import Secured, write_client

_REST = """\
workload:
  record_bytes: 200
  partitions: 1
  saturate: {warmup: 0.2s, measured: 1s}
objectives: throughput
search: {trials: 3, startup_trials: 2, burn_in_max: 1}
confirm: {rounds: 2, max_rounds: 2, nominees: 1, nominee_repeats: 0, undo_rounds: 0, goals: [throughput]}
safety: {min_free_disk: 100MB}
"""


def study_file(path: Path, target: str, *, executor: str = "local", mlflow: bool = False) -> str:
    """Write a study file, and return its path."""
    rest = f"tracking: {{enabled: {str(mlflow).lower()}}}\nexecutor: {{kind: {executor}}}\n"
    path.write_text(f"study: {{name: {path.stem}}}\ntarget: {target}\n{_REST}{rest}", encoding="utf-8")
    return str(path)


def target_by_file(secured: Secured, listener: str, client_file: Path, topic: str | None = None) -> str:
    """Write a connection file, and return a target that names it."""
    write_client(client_file, secured.ways_in()[listener])
    named = f", topic: {topic}" if topic else ""
    return f'{{bootstrap: "{secured.address(listener)}", command_config: {client_file}{named}}}'


def target_by_environment(secured: Secured, variable: str) -> str:
    """Return a target whose password comes from the environment."""
    properties = {**secured.scram, "sasl.password": f"${{{variable}}}"}
    written = ", ".join(f'{name}: "{value}"' for name, value in properties.items())
    return f'{{bootstrap: "{secured.address("SCRAM")}", properties: {{{written}}}}}'
