"""Runs one of Kafka's own benchmark tools, such as `ProducerPerformance`, from the jars of the embedded broker."""

import subprocess
from collections.abc import Mapping, Sequence
from typing import Final

from runners.errors import GeneratorError
from runners.host_processes.temporary import temporary_folder
from runners.java_runtime.java import KafkaJava, run_java
from search_spaces.files.properties_file import format_ascii_properties

SHOWN_COMPLAINTS: Final = 5


def run_performance_tool(
    tool: str, arguments: Sequence[str], properties: Mapping[str, str], heap_bytes: int | None, timeout_s: float
) -> "subprocess.CompletedProcess[str]":
    """Run a tool to its end.

    Args:
        tool: The name of its class.
        arguments: Its arguments, without `--command-config`.
        properties: Properties of its client, under their Java names. They are passed in a file, because they may hold a
            password, and because the tools split properties on their command line at every `=`.
        heap_bytes: The size of the heap; None for Java's default.
        timeout_s: Seconds that the run may take.

    Raises:
        GeneratorError: The tool did not end in time.
        JavaNotFound: There is no usable Java runtime.
        JarsUnavailable: Kafka's jars could not be fetched.
    """
    with temporary_folder("java", "tuner-java-") as folder:
        config = folder / "client.properties"
        config.touch(mode=0o600)  # it may hold a password, and every user of the host could read a command line
        config.write_text(format_ascii_properties(properties), encoding="ascii")
        heap = [] if heap_bytes is None else [f"-Xmx{heap_bytes}", f"-Xms{heap_bytes}"]
        flags = [*heap, f"-Djava.io.tmpdir={folder}"]
        command = KafkaJava.prepare().command(tool, *arguments, "--command-config", str(config), flags=flags)
        try:
            return run_java(command, timeout_s)
        except subprocess.TimeoutExpired:
            raise GeneratorError(
                f"Kafka's {_short(tool)} is still running after {timeout_s:.0f} s; check that the "
                "cluster answers, or allow more time"
            ) from None


def tool_failed(tool: str, ran: "subprocess.CompletedProcess[str]") -> GeneratorError:
    """Return the error of a tool that failed or printed no summary. It quotes the tool's output."""
    said = "\n".join((ran.stderr.strip() or ran.stdout.strip()).splitlines()[:SHOWN_COMPLAINTS])
    return GeneratorError(
        f"Kafka's {_short(tool)} ended without a summary, with status {ran.returncode}; it printed: {said}"
    )


def _short(tool: str) -> str:
    return tool.rpartition(".")[2]
