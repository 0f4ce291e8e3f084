"""`tuner doctor`: what was found on this host and on the cluster."""

import itertools
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import psutil
import typer

from objectives.verdict import Evidence, judge
from runners.clusters.java import find_java
from runners.clusters.memory import memory_root
from runners.clusters.topics import OwnedTopics
from runners.errors import GeneratorError, RunnerError
from runners.librdkafka import capi
from runners.librdkafka.librdkafka_runner import Limits
from runners.places import cache_root, state_root
from runners.reporting import silent
from runners.workload import RecordSizes, Workload
from search_spaces.producer_config import ProducerConfig
from tuner.cli import options
from tuner.course.open_target import OpenTarget, open_target
from tuner.model.errors import ExitCode
from tuner.model.measurement_record import SCHEMA_VERSION
from tuner.model.target import Target
from tuner.present.console import OUT, say

OF_THE_CLUSTER: Final = frozenset({"cluster", "rights"})
"""Findings about the user's cluster, not about this host."""

_LOW_DISK_BYTES: Final = 5 * 10**9
_COARSE_TIMER_US: Final = 1_000.0
_TIMER_TRIALS: Final = 50
_BUSY_HOST_RATIO: Final = 0.3
_DOCKER_TIMEOUT_S: Final = 5.0


class State(StrEnum):
    """How a check went."""

    GOOD = "ok"
    WEAK = "weak"
    BAD = "bad"
    ABSENT = "absent"


_STYLES = {State.GOOD: "green", State.WEAK: "yellow", State.BAD: "red", State.ABSENT: "dim"}


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check.

    Attributes:
        name: What was looked at.
        state: `ok`, `weak` (measurements suffer), `bad` (something will not work), `absent` (not needed, not there).
        detail: What was found, and what to do where it is not good.
    """

    name: str
    state: State
    detail: str


def check_host() -> Iterator[Finding]:
    """Look at this host; nothing is started or changed."""
    for check in (_system, _client, _java, _docker, _timer, _disk, _load):
        yield check()


def _system() -> Finding:
    cores = psutil.cpu_count() or 1
    text = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, {cores} cores"
    if sys.platform != "linux":
        return Finding("host", State.WEAK, f"{text}: thread and socket readings need Linux, so verdicts will know less")
    if cores < 2:
        return Finding(
            "host", State.WEAK, f"{text}: generator and client share one core; the generator will be the limit"
        )
    return Finding("host", State.GOOD, text)


def _client() -> Finding:
    try:
        return Finding("client", State.GOOD, f"librdkafka {capi.version()}, its C functions can be called")
    except GeneratorError as error:
        return Finding("client", State.WEAK, str(error))


def _java() -> Finding:
    try:
        java = find_java()
    except RunnerError as error:
        return Finding("java", State.BAD, f"{error} (needed for a broker of our own)")
    return Finding("java", State.GOOD, f"{java.version} ({java.origin})")


def _docker() -> Finding:
    program = shutil.which("docker")
    if program is None:
        return Finding("docker", State.ABSENT, "no docker program; only clusters in containers need one")
    try:
        asked = [program, "info", "--format", "{{.ServerVersion}}"]
        ran = subprocess.run(asked, capture_output=True, text=True, timeout=_DOCKER_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return Finding("docker", State.ABSENT, f"the engine did not answer within {_DOCKER_TIMEOUT_S:.0f} s")
    if ran.returncode != 0:
        return Finding("docker", State.ABSENT, "no engine answers; only clusters in containers need one")
    return Finding("docker", State.GOOD, f"engine {ran.stdout.strip()}")


def _timer() -> Finding:
    late_us = []
    for _ in range(_TIMER_TRIALS):
        before = time.monotonic_ns()
        time.sleep(0.0005)
        late_us.append((time.monotonic_ns() - before) / 1e3 - 500)
    worst = sorted(late_us)[-3]
    text = f"a sleep of 0.5 ms ends {sorted(late_us)[len(late_us) // 2]:.0f} us late, at times {worst:.0f} us"
    if worst > _COARSE_TIMER_US:
        return Finding("clock", State.WEAK, f"{text}: paced loads will send late; close other programs")
    return Finding("clock", State.GOOD, text)


def _disk() -> Finding:
    memory = memory_root(brokers=1)
    data = "data" if memory is None else "data, in memory,"
    places = {
        data: memory or Path(tempfile.gettempdir()),
        "cache": _existing(cache_root()),
        "state": _existing(state_root()),
    }
    free = {name: psutil.disk_usage(str(place)).free for name, place in places.items()}
    text = ", ".join(f"{name} {amount / 1e9:.0f} GB free" for name, amount in free.items())
    if memory is None and free[data] < _LOW_DISK_BYTES:
        return Finding(
            "disk", State.BAD, f"{text}: a broker of our own wants 5 GB for its data; set TMPDIR to a larger disk"
        )
    return Finding("disk", State.GOOD, text)


def _existing(folder: Path) -> Path:
    return next(place for place in (folder, *folder.parents) if place.exists())


def _load() -> Finding:
    busy = psutil.cpu_percent(interval=0.5) / 100
    text = f"{busy:.0%} of the CPU is in use before we start"
    if busy > _BUSY_HOST_RATIO:
        return Finding("idle", State.WEAK, f"{text}: measurements will be noisy; stop what else runs")
    return Finding("idle", State.GOOD, text)


def check_cluster(target: Target, progress: Callable[[str], None]) -> Iterator[Finding]:
    """Contact a cluster and try our rights on it; nothing is written.

    One small topic is created and deleted, where the target names none of its own.
    """
    try:
        with open_target(target, progress) as session:
            yield Finding("cluster", State.GOOD, f"{session.cluster.bootstrap} answers")
            yield _rights(session)
    except RunnerError as error:
        yield Finding("cluster", State.BAD, str(error))


def _rights(session: OpenTarget) -> Finding:
    named = session.target.topic
    try:
        with OwnedTopics(session.cluster) as topics:
            if named is not None:
                topic, may = topics.describe(named), f"topic {named} may be written to"
            else:
                topic, may = topics.create(partitions=1, replication=1), "topics may be created, written to and deleted"
                topics.delete(topic)
    except RunnerError as error:
        return Finding("rights", State.BAD, str(error))
    if not topic.configs:
        may += f"; DescribeConfigs is missing, so max.message.bytes is taken to be {topic.max_message_bytes:,}"
    return Finding("rights", State.GOOD, may)


def check_ceiling(progress: Callable[[str], None], seconds: float = 2.0) -> Iterator[Finding]:
    """How fast our generator goes on this host, against a real broker of our own on it."""
    config = ProducerConfig.parse(
        {"acks": "1", "linger.ms": 10, "batch.num.messages": 100_000, "queue.buffering.max.kbytes": 65_536}
    )
    try:
        with open_target(Target(), progress) as session:
            runner = session.runner(limits=Limits(max_bytes=20 * 10**9))
            for size in (10, 100, 1000):
                seen = runner.run(config, Workload(RecordSizes.fixed(size), warmup_s=1.0, measured_s=seconds))
                bound = judge(Evidence.of(seen)).bound
                rate = f"{seen.records_per_s:,.0f} records/s, {seen.mb_per_s:.0f} MB/s, bound by: {bound}"
                yield Finding(f"ceiling at {size} B", State.GOOD, rate)
    except RunnerError as error:
        yield Finding("ceiling", State.BAD, str(error))


def doctor(
    bootstrap: options.Bootstrap = None,
    command_config: options.CommandConfig = None,
    topic: Annotated[
        str | None,
        typer.Option(
            help="A topic of yours that is to be written to, where we may create none.", rich_help_panel="Target"
        ),
    ] = None,
    ceiling: Annotated[
        bool, typer.Option(help="Measure how fast the generator goes on this host, on a broker of its own.")
    ] = True,
    as_json: options.Json = False,
) -> None:
    """Say what was found: client, Java, Docker, clock, disk, cluster and rights, and the generator's ceiling here.

    Exit code 1 if something will not work, 3 if it is only the cluster: it can't be reached, or refuses us.

    \b
    Examples:
        tuner doctor
        tuner doctor --bootstrap broker:9092 --command-config client.properties --no-ceiling
        tuner doctor --bootstrap broker:9092 --command-config client.properties --topic scratch --no-ceiling
    """
    target = options.target_of(bootstrap, command_config, topic=topic)
    tell = silent if as_json else say
    checks: list[Iterable[Finding]] = [check_host()]
    if bootstrap is not None:
        checks.append(check_cluster(target, tell))
    if ceiling:
        checks.append(check_ceiling(tell))
    found = []
    for finding in itertools.chain.from_iterable(checks):
        found.append(finding)
        if not as_json:
            style = _STYLES[finding.state]
            OUT.print(f"[{style}]{finding.state:<7}[/] {finding.name:<18} ", end="")
            OUT.print(finding.detail, markup=False, soft_wrap=True)
    if as_json:
        record = {"schema_version": SCHEMA_VERSION, "kind": "checkup", "findings": [asdict(one) for one in found]}
        options.print_json(record)
    bad = {finding.name for finding in found if finding.state is State.BAD}
    if bad:
        raise typer.Exit(ExitCode.TARGET if bad <= OF_THE_CLUSTER else ExitCode.FAILED)
