"""Constructs producers of real releases of kafka-clients, without a broker."""

import subprocess
from collections.abc import Mapping, Sequence

from runners.host_processes.folders import cache_root
from runners.host_processes.locks import locked
from scripts.make_java_catalogue import Clients
from search_spaces import ProducerConfig

_TIMEOUT_S = 300
RELEASES = ("2.8.2", "3.2.3", "3.6.2", "3.9.1", "4.3.1")


def constructed(release: str, configs: Sequence[Mapping[str, str]]) -> list[dict[str, str] | str]:
    """Return, for each config, the values that a producer uses, by name; or why the client refuses the config.

    Names with a `#` are fields of the producer's inner objects, which the client itself has set.
    """
    folder = cache_root() / "java-configs"
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / "lock", _TIMEOUT_S):
        command = Clients(folder).command(release, "construct")
    lines = "".join("\t".join(f"{name}={value}" for name, value in each.items()) + "\n" for each in configs)
    ran = subprocess.run(command, input=lines, capture_output=True, text=True, check=True, timeout=_TIMEOUT_S)
    # The client's log goes to the same stream if a logger is on the class path; our lines begin with one of two words.
    answers = [line for line in ran.stdout.splitlines() if line.startswith(("ok\t", "refused\t"))]
    assert len(answers) == len(configs), ran.stderr[-2000:]
    return [_read(line) for line in answers]


def _read(line: str) -> dict[str, str] | str:
    state, *fields = line.split("\t")
    if state == "refused":
        return " ".join(fields)
    return dict(field.split("=", 1) for field in fields)


def differences(config: ProducerConfig, seen: Mapping[str, str]) -> list[str]:
    """Return where the effective values of a config differ from those that a producer uses."""
    force = config.effective_values
    pairs = {
        name: (force.text(name), "" if seen[name] == "null" else seen[name]) for name in config.client.producer_names
    }
    pairs["acks"] = (str(config.acks), seen["#acks"])
    pairs["enable.idempotence"] = ("true" if config.idempotent else "false", seen["#idempotent"])
    pairs["batch.size"] = (str(config.max_batch_bytes), seen["#batch.size"])
    for name in ("retries", "linger.ms", "delivery.timeout.ms"):
        pairs[name] = (force.text(name), seen[f"#{name}"])
    ours, theirs = pairs.get("metadata.recovery.strategy", ("", ""))
    pairs["metadata.recovery.strategy"] = ours, theirs.lower()  # the client keeps the word as it was given
    found = [f"{name}: {ours!r}, the client has {theirs!r}" for name, (ours, theirs) in pairs.items() if ours != theirs]
    return found + ([f"the client does not use {seen['#unused']}"] if seen["#unused"] else [])
