"""Starts brokers through a keeper process, waits until they answer, and cleans up after keepers that were killed.

A keeper is a small process that starts the brokers, and stops them when the process that uses them ends.
"""

import contextlib
import json
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil
from confluent_kafka import KafkaException

from runners.clusters.admin_connection import AdminConnection
from runners.clusters.brokers import keeper
from runners.clusters.brokers.broker_layout import Layout, remove_folders
from runners.errors import BrokerDidNotStart
from runners.host_processes.clean_up import CleanUpList, clean_up_lists
from runners.host_processes.processes import ProcessIdentity
from runners.java_runtime.java import java_environment

_POLL_S = 0.03
_METADATA_TIMEOUT_S = 2.0
_KEEPER_TIMEOUT_S = 20.0
_LOG_LINES_SHOWN = 8
_SIGNS_OF_FAILURE = (" ERROR ", " FATAL ", "Exception", "Error:")


def launch_keeper(
    layout: Layout, brokers: Sequence[dict[str, Any]], record: CleanUpList, *, owned: bool
) -> tuple[subprocess.Popen[bytes], list[int]]:
    """Start the keeper: a small process that starts the brokers, and later stops them and removes their data.

    Args:
        layout: The layout of the cluster. Its files must have been written.
        brokers: Command and log of each broker.
        record: The file that lists what has to be cleaned up. The keeper removes this file when the keeper ends.
        owned: Whether the brokers are stopped when this process ends. If so, the keeper's standard input is a pipe from
            this process. Otherwise the brokers outlive this process.

    Returns:
        The process that was started, and the ids of the keeper and of the brokers. If not `owned`, the started process
        has already ended, and its child is the keeper.

    Raises:
        BrokerDidNotStart: The keeper could not start the brokers.
    """
    spec = layout.folders[0] / "keeper.json"
    content = {
        "owned": owned,
        "folders": [str(folder) for folder in layout.folders],
        "record": str(record.path),
        "brokers": list(brokers),
    }
    spec.write_text(json.dumps(content), encoding="utf-8")
    with layout.logs[0].open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", keeper.__file__, str(spec)],
            stdin=subprocess.PIPE if owned else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
            env=java_environment(),
            cwd=layout.folders[0].parent,
        )
    assert process.stdout is not None
    with process.stdout as answer:
        line = answer.readline()
    if not owned:
        process.wait(_KEEPER_TIMEOUT_S)
    if not line:
        process.kill()
        process.wait()
        if process.stdin:
            process.stdin.close()
        raise BrokerDidNotStart(
            f"the process that starts the brokers ended too early; its log {layout.logs[0]} says:\n"
            f"{_end_of_log(layout.logs[0])}"
        )
    return process, [int(pid) for pid in json.loads(line)]


def identities(layout: Layout, pids: Sequence[int]) -> list[ProcessIdentity]:
    """Return the process id and the start of each broker, which together identify its process.

    Args:
        layout: The layout of the cluster.
        pids: Process ids of the brokers, in the order of the nodes.

    Raises:
        BrokerDidNotStart: A broker has ended already.
    """
    try:
        return [ProcessIdentity.of(pid) for pid in pids]
    except psutil.NoSuchProcess:
        raise BrokerDidNotStart(_ended(layout.logs[0])) from None


def await_answers(
    layout: Layout, brokers: Sequence[ProcessIdentity], connection: Mapping[str, str], timeout_s: float
) -> None:
    """Wait until every broker listens on its port and a client gets an answer from the cluster.

    Args:
        layout: The layout of the cluster.
        brokers: The processes of the brokers, in the order of the nodes.
        connection: Client properties that the brokers require, without `bootstrap.servers`.
        timeout_s: Longest wait in seconds.

    Raises:
        BrokerDidNotStart: A broker ended, or did not answer in time. The message names the broker's log and shows the
            end of that log.
    """
    deadline = time.monotonic() + timeout_s

    def check() -> None:
        for process, log in zip(brokers, layout.logs, strict=True):
            if process.process() is None:
                raise BrokerDidNotStart(_ended(log))
        if time.monotonic() > deadline:
            raise BrokerDidNotStart(
                f"the broker did not answer within {timeout_s:.0f} s; "
                f"its log {layout.logs[0]} says:\n{_end_of_log(layout.logs[0])}"
            )

    for node in layout.nodes:
        while not _listens(node.host, node.port):
            check()
            time.sleep(_POLL_S)
    while True:
        # Make a new client for each try. Once a client knows the advertised addresses, it uses no others, and the
        # advertised addresses may not work on this host.
        admin = AdminConnection({**connection, "bootstrap.servers": layout.bootstrap})
        with contextlib.suppress(KafkaException):
            if len(admin.metadata(_METADATA_TIMEOUT_S).brokers) == len(layout.nodes):
                return
        check()
        time.sleep(_POLL_S)


def remove_dead_brokers() -> None:
    """Kill the brokers and remove the folders that earlier runs left behind because they were killed.

    Clusters whose keeper process is still running are left alone.
    """
    for kind in ("broker", "persistent"):
        for record in clean_up_lists(kind):
            if record.state != "dead":
                continue
            for pid, started in record.facts.get("brokers", ()):
                # On Linux the kernel has already killed the brokers.
                if process := ProcessIdentity.parse(pid, started).process():
                    with contextlib.suppress(psutil.NoSuchProcess):
                        process.kill()
            remove_folders(record.facts.get("folders", ()))
            record.remove()


def keeper_of(record: Path) -> int | None:
    """Return the id of the keeper process that will remove a record; None if there is none on this host.

    Args:
        record: The file that lists what has to be cleaned up. It is not read, because it may be damaged.
    """
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError, ValueError):
            *_, program, spec = ["", "", *process.cmdline()]
            if program == keeper.__file__ and json.loads(Path(spec).read_text(encoding="utf-8"))["record"] == str(
                record
            ):
                return process.pid
    return None


def _end_of_log(log: Path) -> str:
    """Return the lines of a broker's log file that explain why the broker failed, indented."""
    try:
        return failure_lines(log.read_text(encoding="utf-8", errors="replace"))
    except OSError as error:
        return f"  ({error.strerror})"


def failure_lines(log: str) -> str:
    """Return the lines of a log that explain a failure, indented: the last errors, or else the last lines."""
    lines = log.splitlines()
    errors = [line for line in lines if any(sign in line for sign in _SIGNS_OF_FAILURE)]
    return "\n".join(f"  {line[:300]}" for line in (errors or lines)[-_LOG_LINES_SHOWN:]) or "  (the log is empty)"


def _ended(log: Path) -> str:
    return f"the process of the broker ended; its log {log} says:\n{_end_of_log(log)}"


def _listens(host: str, port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((host, port)) == 0
