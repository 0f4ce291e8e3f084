"""`tuner doctor` checks this host and the cluster before a study needs them."""

import itertools
import platform
import random
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from statistics import quantiles
from typing import Annotated, Final

import psutil
import typer

from objectives.producer_verdict import Evidence, judge
from runners.clusters.brokers.memory import memory_root
from runners.clusters.topics.owned_topics import OwnedTopics
from runners.errors import GeneratorError, RunnerError
from runners.host_processes.folders import cache_root, state_root
from runners.java_runtime.java import find_java
from runners.librdkafka import capi
from runners.reporting import percent, silent
from runners.runner import Limits
from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig
from tuner.cli.options import common_options, target_options
from tuner.cli.output import print_json
from tuner.execution.open_target import OpenTarget, open_target
from tuner.model.document import document
from tuner.model.errors import ExitCode
from tuner.model.target import Target
from tuner.present.console import OUT, say

OF_THE_CLUSTER: Final = frozenset({"cluster", "permissions"})
"""Names of the checks that are about the user's cluster. All other checks are about this host."""

_LOW_DISK_BYTES: Final = 5 * 10**9
_COARSE_TIMER_US: Final = 1_000.0
_TIMER_TRIALS: Final = 50
_BUSY_HOST_RATIO: Final = 0.3
_DOCKER_TIMEOUT_S: Final = 5.0
_SPEED_TEST_S: Final = 1.0
_WORK_BYTES: Final = 100_000
_UNSTEADY_RATIO: Final = 1.25
"""If the same work takes so much longer at times, the processors' speed varies.

Measured on a virtual machine with two cores: 1.1 at most times, 1.3 while other virtual machines used the same cores.
"""


class CheckState(StrEnum):
    """How good the result of a check is."""

    GOOD = "ok"
    WEAK = "weak"
    BAD = "bad"
    ABSENT = "absent"


_STYLES = {CheckState.GOOD: "green", CheckState.WEAK: "yellow", CheckState.BAD: "red", CheckState.ABSENT: "dim"}


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check of `tuner doctor`.

    Attributes:
        name: The subject of the check, such as `disk`.
        state: `ok`; `weak` if measurements suffer; `bad` if something will not work; `absent` if something optional is
            not installed.
        detail: What was found, and what to do unless `state` is `ok`.
    """

    name: str
    state: CheckState
    detail: str


def check_host() -> Iterator[Check]:
    """Yield the findings about this host. The checks start nothing and change nothing."""
    for check in (_system, _client, _java, _docker, _timer, _disk, _load, _speed):
        yield check()


def _system() -> Check:
    cores = psutil.cpu_count() or 1
    text = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, {cores} cores"
    if sys.platform != "linux":
        return Check(
            "host",
            CheckState.WEAK,
            f"{text}: CPU time per thread and socket statistics need Linux, so verdicts will be less precise",
        )
    if cores < 2:
        return Check(
            "host",
            CheckState.WEAK,
            f"{text}: load generator and client share one core, so the generator will limit the throughput",
        )
    return Check("host", CheckState.GOOD, text)


def _client() -> Check:
    try:
        return Check("client", CheckState.GOOD, f"librdkafka {capi.version()}; its C functions can be called")
    except GeneratorError as error:
        return Check("client", CheckState.WEAK, str(error))


def _java() -> Check:
    try:
        java = find_java()
    except RunnerError as error:
        return Check("java", CheckState.BAD, f"{error} (Java is needed to start a broker on this machine)")
    return Check("java", CheckState.GOOD, f"{java.version} ({java.origin})")


def _docker() -> Check:
    program = shutil.which("docker")
    if program is None:
        return Check("docker", CheckState.ABSENT, "no docker program was found; only brokers in containers need one")
    try:
        command = [program, "info", "--format", "{{.ServerVersion}}"]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=_DOCKER_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return Check("docker", CheckState.ABSENT, f"the Docker engine did not answer within {_DOCKER_TIMEOUT_S:.0f} s")
    if ran.returncode != 0:
        return Check("docker", CheckState.ABSENT, "no Docker engine answers; only brokers in containers need one")
    return Check("docker", CheckState.GOOD, f"engine {ran.stdout.strip()}")


def _timer() -> Check:
    late_us = []
    for _ in range(_TIMER_TRIALS):
        before = time.monotonic_ns()
        time.sleep(0.0005)
        late_us.append((time.monotonic_ns() - before) / 1e3 - 500)
    worst = sorted(late_us)[-3]
    text = (
        f"a sleep of 0.5 ms usually ends {sorted(late_us)[len(late_us) // 2]:.0f} us late, at times {worst:.0f} us late"
    )
    if worst > _COARSE_TIMER_US:
        return Check("clock", CheckState.WEAK, f"{text}: paced loads will be sent late; close other programs")
    return Check("clock", CheckState.GOOD, text)


def _disk() -> Check:
    memory = memory_root(brokers=1)
    data = "data" if memory is None else "data (in memory)"
    places = {
        data: memory or Path(tempfile.gettempdir()),
        "cache": _existing(cache_root()),
        "broker logs": _existing(state_root()),
    }
    free = {name: psutil.disk_usage(str(place)).free for name, place in places.items()}
    text = ", ".join(f"{name} {amount / 1e9:.0f} GB free" for name, amount in free.items())
    if memory is None and free[data] < _LOW_DISK_BYTES:
        return Check(
            "disk",
            CheckState.BAD,
            f"{text}: a broker on this machine needs 5 GB for its data; set TMPDIR to a larger disk",
        )
    return Check("disk", CheckState.GOOD, text)


def _existing(folder: Path) -> Path:
    return next(place for place in (folder, *folder.parents) if place.exists())


def _load() -> Check:
    busy = psutil.cpu_percent(interval=0.5) / 100
    text = f"{percent(busy)} of the CPU is in use by other programs"
    if busy > _BUSY_HOST_RATIO:
        return Check("CPU load", CheckState.WEAK, f"{text}: measurements will be noisy; stop the other programs")
    return Check("CPU load", CheckState.GOOD, text)


def _speed() -> Check:
    data = random.Random(0).randbytes(_WORK_BYTES)
    took_ms: list[float] = []
    ends_s = time.monotonic() + _SPEED_TEST_S
    while time.monotonic() < ends_s or len(took_ms) < 2:
        before_ns = time.thread_time_ns()
        zlib.compress(data, level=1)
        took_ms.append((time.thread_time_ns() - before_ns) / 1e6)
    return steadiness(took_ms)


def steadiness(took_ms: Sequence[float]) -> Check:
    """Return the finding about the processors' speed.

    Args:
        took_ms: The CPU time that the same work took each time, in milliseconds; at least two values.
    """
    low, *_, high = quantiles(took_ms, n=20, method="inclusive")
    text = f"the same work took {low:.1f} to {high:.1f} ms of CPU time"
    if high < _UNSTEADY_RATIO * low:
        return Check("CPU speed", CheckState.GOOD, text)
    return Check(
        "CPU speed",
        CheckState.WEAK,
        f"{text}: measurements will be noisy, so give studies more --rounds; other virtual machines may use the same "
        "cores, or the clock frequency may change",
    )


def check_cluster(target: Target, progress: Callable[[str], None]) -> Iterator[Check]:
    """Check that a cluster answers and which permissions the user has on it. No record is written.

    If the target does not name a topic of the user, one small topic is created and deleted.

    Args:
        target: The cluster.
        progress: Called with a line of text when something starts.
    """
    try:
        with open_target(target, progress) as opened:
            yield Check("cluster", CheckState.GOOD, f"{opened.cluster.bootstrap} answers")
            yield _permissions(opened)
    except RunnerError as error:
        yield Check("cluster", CheckState.BAD, str(error))


def _permissions(opened: OpenTarget) -> Check:
    named = opened.target.topic
    try:
        with OwnedTopics(opened.cluster) as topics:
            if named is not None:
                topic, may = topics.describe(named), f"you may write to the topic {named}"
            else:
                topic, may = topics.create(partitions=1, replication=1), "you may create, write to and delete topics"
                topics.delete(topic)
    except RunnerError as error:
        return Check("permissions", CheckState.BAD, str(error))
    if not topic.configs:
        may += (
            "; the DescribeConfigs permission is missing, so max.message.bytes is assumed to be "
            f"{topic.max_message_bytes:,}"
        )
    return Check("permissions", CheckState.GOOD, may)


def check_load_generator(progress: Callable[[str], None]) -> Iterator[Check]:
    """Measure how fast the load generator is on this host, with a real broker that is started for this measurement.

    Args:
        progress: Called with a line of text when something starts.
    """
    config = ProducerConfig.parse(
        {"acks": "1", "linger.ms": 10, "batch.num.messages": 100_000, "queue.buffering.max.kbytes": 65_536}
    )
    try:
        with open_target(Target(), progress) as opened:
            runner = opened.runner(limits=Limits(max_bytes=20 * 10**9))
            for size in (10, 100, 1000):
                seen = runner.run(config, Workload(RecordSizes.fixed(size), warmup_s=1.0, measured_s=2.0))
                bound = judge(Evidence.of(seen)).bound
                rate = f"{seen.records_per_s:,.0f} records/s, {seen.mb_per_s:.0f} MB/s, bound by: {bound}"
                yield Check(f"load generator at {size} B", CheckState.GOOD, rate)
    except RunnerError as error:
        yield Check("load generator", CheckState.BAD, str(error))


def doctor(
    bootstrap: target_options.ClusterBootstrap = None,
    command_config: target_options.CommandConfig = None,
    topic: Annotated[
        str | None,
        typer.Option(
            help="Topic of yours that a study would write to. Give it if you may not create topics.",
            rich_help_panel=target_options.TARGET_PANEL,
        ),
    ] = None,
    load_test: Annotated[
        bool,
        typer.Option(
            help="Measure how fast the load generator is on this host, with a broker that is started for this "
            "measurement. --no-load-test skips that: no broker is started and no records are sent."
        ),
    ] = True,
    as_json: common_options.Json = False,
) -> None:
    """Check this host and your cluster, and measure how fast the load generator is on this host.

    The command checks the client library, Java, Docker, the clock, the disks, other programs and the speed of the
    processors. With --bootstrap, it also checks the connection to the cluster and your permissions on it.

    With --bootstrap, it deletes the topics of earlier runs on this host that were killed and, without --topic, creates
    one empty topic and deletes it.

    The exit code is 1 if the tuner will not work on this host. It is 3 if only the cluster is the problem, because it
    can't be reached or refuses access.

    \b
    Examples:
        tuner doctor
        tuner doctor --bootstrap broker:9092 --command-config client.properties --no-load-test
        tuner doctor --bootstrap broker:9092 --command-config client.properties --topic scratch --no-load-test
    """
    target = target_options.target_of(bootstrap, command_config, topic=topic)
    tell = silent if as_json else say
    checks: list[Iterable[Check]] = [check_host()]
    if bootstrap is not None:
        checks.append(check_cluster(target, tell))
    if load_test:
        checks.append(check_load_generator(tell))
    findings = []
    for finding in itertools.chain.from_iterable(checks):
        findings.append(finding)
        if not as_json:
            style = _STYLES[finding.state]
            OUT.print(f"[{style}]{finding.state:<7}[/] {finding.name:<24} ", end="")
            OUT.show(finding.detail)
    if as_json:
        print_json(document("checkup", findings=[asdict(one) for one in findings]))
    bad = {finding.name for finding in findings if finding.state is CheckState.BAD}
    if bad:
        raise typer.Exit(ExitCode.TARGET if bad <= OF_THE_CLUSTER else ExitCode.FAILED)
