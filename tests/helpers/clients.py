"""The clients of the studies that tests kill and interrupt, and the processes in which these clients run."""

from collections.abc import Iterable
from typing import Final

import psutil
import pytest

from runners.host_processes.clean_up import clean_up_lists

CLIENTS: Final = ("librdkafka", pytest.param("java", marks=pytest.mark.long))
"""The clients, as `--client` names them. A Java process needs seconds to warm up, so it takes part in the long form."""
_HOLDER: Final = {"librdkafka": "spawn_main", "java": "harness.Harness"}
"""A word in the command line of the process that holds the client."""
_BROKER: Final = "kafka.Kafka"


def with_word(word: str, processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Return the processes that are running and whose command line contains a word."""
    found = []
    for process in processes:
        try:
            if word in " ".join(process.cmdline()):
                found.append(process)
        except psutil.Error:
            continue
    return found


def holders(client: str, processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Return the processes in which a client runs."""
    return with_word(_HOLDER[client], processes)


def brokers_in(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Return the processes that are brokers."""
    return with_word(_BROKER, processes)


def left_by_java() -> list[str]:
    """Return the temporary folders that Java processes have left behind: those whose owners have ended."""
    return [record.facts["folder"] for record in clean_up_lists("java") if record.state == "dead"]
