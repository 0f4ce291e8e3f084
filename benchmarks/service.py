"""Measures how quickly the service answers many pollers at the same time, and whether its memory grows.

python -m benchmarks.service [--seconds 600] [--pollers 200] [--idle-connections 2000] [--interval 0.25] [--studies 100]
    [--trials 50000]

The benchmark builds studies, starts `tuner serve` on them with tokens, and lets pollers in other processes ask for
recommendations, as the pipelines of a team do. Each poller has one connection and always sends the same query about one
study. After each answer it waits for the interval, and then asks again with `If-None-Match`. The pollers run on the
same machine. They begin when the service is ready and the connections of idle clients are open
(`benchmarks.idle_connections`). A response time is counted from the first byte sent to the last byte received.
Meanwhile the service runs a simulated study, which must end well.
"""

import argparse
import asyncio
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil

from benchmarks.evidence import TUNER, benchmark_parser, positive_number, print_goal, run_benchmark, whole_number
from search_spaces.configs.guarantee import Guarantee
from search_spaces.configs.producer_config import ProducerConfig
from tuner.client import Client
from tuner.confirmation.plan import ConfirmationPlan
from tuner.model.facts import CONFIRMING
from tuner.model.goals import Goal
from tuner.model.trial import State, Trial, TrialKind
from tuner.storage.sqlite import SqliteStore

GOAL_P99_MS = 100.0
GOAL_GROWTH_MB = 20.0
_CODECS = ("none", "lz4", "zstd", "gzip")
_ROUNDS = 3
_START_S = 90.0
_POLLER_PROCESSES = 2
_STUDY = """\
study: beside
target: simulated
workload: {record_bytes: [1000]}
search: {trials: 20, method: random}
tracking: {enabled: false}
"""


def main() -> None:
    """Build studies, start the service and poll it. The exit code is 1 if a goal is missed."""
    parser = benchmark_parser(__doc__)
    parser.add_argument("--seconds", type=positive_number, default=600.0)
    parser.add_argument("--pollers", type=whole_number, default=200)
    parser.add_argument(
        "--idle-connections", type=int, default=2_000, help="connections without a token that others hold meanwhile"
    )
    parser.add_argument(
        "--interval", type=float, default=0.25, help="seconds from an answer to the next query of a poller"
    )
    parser.add_argument("--studies", type=whole_number, default=100)
    parser.add_argument("--trials", type=whole_number, default=50_000)
    parser.add_argument("--poll", nargs=4, metavar=("PORT", "FIRST", "COUNT", "STUDIES"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.poll:
        port, first, count, studies = map(int, asked.poll)
        asyncio.run(_poll(port, range(first, first + count), studies, asked.seconds, asked.interval))
        return
    with tempfile.TemporaryDirectory(prefix="tuner-service-", ignore_cleanup_errors=True) as folder:
        root = Path(folder) / "studies"
        began = time.perf_counter()
        for number in range(asked.studies):
            _build(root / f"study-{number:03d}", asked.trials // asked.studies, number)
        print(f"- {asked.studies} studies with {asked.trials} trials built in {time.perf_counter() - began:.0f} s")
        token = _run("serve", "token", "add", "pollers", "--role", "submit", root=root).strip()
        with _served(root) as (server, port), _idle_connections(port, asked.idle_connections):
            client = Client(f"http://127.0.0.1:{port}", token)
            client.submit(_STUDY)
            kept = _measure(asked, server, port, token)
            ends_at = time.perf_counter() + _START_S
            while (ran := client.study("beside"))["state"] in ("queued", "running") and time.perf_counter() < ends_at:
                time.sleep(0.5)
            well = ran["state"] == "complete" and not ran["crashes"]
            goal = f"complete without a crash: {'met' if well else 'missed'}"
            print(f"- the study that ran meanwhile: {ran['state']}, {ran['crashes']} crashes (goal: {goal})")
    sys.exit(0 if kept and well else 1)


def _build(folder: Path, trials: int, seed: int) -> None:
    """Write a finished study with made-up results: baselines, a search, and the confirmation of its winner."""
    rng = np.random.default_rng(seed)
    configs = [{}, {"linger.ms": "2", "compression.type": "lz4", "batch.size": "262144"}]
    configs += [
        {"linger.ms": f"{rng.uniform(0.1, 50):.1f}", "compression.type": str(rng.choice(_CODECS))} for _ in range(40)
    ]
    parsed = [ProducerConfig.parse(values) for values in configs]
    guarantees = [str(Guarantee.of(config)) for config in parsed]
    winner = ConfirmationPlan(
        parsed[0].fingerprint, dict.fromkeys(Goal, (parsed[1].fingerprint,)), rounds=_ROUNDS, max_rounds=_ROUNDS
    )
    facts = {
        "study_id": f"{seed:032x}", "name": folder.name, "target": "lab:9092", "record_sizes": ["1000"],
        "objectives": ["mb_per_s", "latency_p99_ms"], "rates": {"1000": 20_000.0}, "method": "bayesian",
        "seed": 0, "trials_per_size": trials, "started_at": "2026-03-01T20:00:00+00:00",
        "finished_at": "2026-03-02T06:00:00+00:00", "client_version": "librdkafka 2.16.0", "broker_version": "4.3.1",
        "tracking": {"uri": None, "experiment": None, "enabled": False}, CONFIRMING: {"1000": winner.as_json()},
    }  # fmt: skip
    store = SqliteStore(folder)
    with store._file.alone():  # one transaction, because each waits for the disk
        for name, value in facts.items():
            store.set_fact(name, value)
        confirming = 2 * _ROUNDS
        for number in range(trials):
            left = trials - number
            if left <= confirming:
                kind, which, turn = TrialKind.CONFIRM, left % 2, (confirming - left) // 2
            else:
                kind = TrialKind.BASELINE if number % 10 == 0 else TrialKind.SEARCH
                which, turn = (0 if number % 10 == 0 else 1 + number % (len(configs) - 1)), None
            better = 1.4 if which == 1 else 1.0 + 0.2 * (which % 5) / 5
            mb_per_s = 80.0 * better * float(rng.normal(1, 0.02))
            p99_ms = 10.0 / better * float(rng.normal(1, 0.02))
            store.append(
                Trial(
                    record_bytes="1000",
                    number=number,
                    kind=kind,
                    state=State.COMPLETE,
                    values=parsed[which].values,
                    fingerprint=parsed[which].fingerprint,
                    guarantee=guarantees[which],
                    metrics={
                        "mb_per_s": mb_per_s, "records_per_s": mb_per_s * 1e3, "latency_p50_ms": p99_ms / 3,
                        "latency_p99_ms": p99_ms, "latency_p999_ms": p99_ms * 1.6, "delivered_ratio": 1.0,
                        "held_rate_ratio": 1.0, "wire_bytes_per_value_byte": 0.8,
                    },
                    objectives=(mb_per_s, p99_ms),
                    verdict="broker",
                    because="a thread of the broker needed a core 97% of the time",
                    worker="local",
                    started_at="2026-03-01T20:00:00+00:00",
                    duration_s=30.0,
                    load_s=25.0,
                    value_bytes=mb_per_s * 13e6,
                    round=turn,
                    window_values={"mb_per_s": tuple(float(x) for x in rng.normal(mb_per_s, 1, 10).round(3))},
                )
            )  # fmt: skip
    store.close()


def _run(*words: str, root: Path) -> str:
    command = [TUNER, *words]
    environ = {**os.environ, "KAFKA_TUNER_STUDIES": str(root)}
    return subprocess.run(command, env=environ, stdout=subprocess.PIPE, text=True, check=True).stdout


@contextmanager
def _served(root: Path) -> Iterator[tuple[psutil.Process, int]]:
    """Start the service on the studies in a folder, and yield the service's process and port."""
    command = [TUNER, "serve", "--port", "0", "--no-access-log"]
    environ = {**os.environ, "KAFKA_TUNER_STUDIES": str(root)}
    with subprocess.Popen(command, env=environ, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            began = time.perf_counter()
            for line in process.stderr:
                if found := re.search(r"serving at http://127\.0\.0\.1:(\d+)", line):
                    _await_ready(int(found[1]))
                    print(f"- ready {time.perf_counter() - began:.1f} s after its start", flush=True)
                    yield psutil.Process(process.pid), int(found[1])
                    break
            else:
                raise SystemExit("the service ended before it served at an address")
        finally:
            process.terminate()


@contextmanager
def _idle_connections(port: int, number: int) -> Iterator[None]:
    """Let idle clients hold this many connections (`benchmarks.idle_connections`)."""
    if not number:
        yield
        return
    command = [sys.executable, "-m", "benchmarks.idle_connections", str(port), str(number)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        print(f"- {process.stdout.readline().strip()}", flush=True)
        try:
            yield
        finally:
            process.communicate()


def _await_ready(port: int) -> None:
    for _ in range(int(_START_S / 0.2)):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=10).close()
            return
        except OSError:
            time.sleep(0.2)
    raise SystemExit(f"the service must be ready within {_START_S:g} s after its start, but is not")


async def _poll(port: int, pollers: range, studies: int, seconds: float, interval_s: float) -> None:
    """Run all pollers of one process, and print their response times, statuses and errors as JSON."""
    token, ends_at = os.environ["KAFKA_TUNER_TOKEN"], time.perf_counter() + seconds
    times_s: list[float] = []
    statuses: Counter[int] = Counter()
    failures: list[str] = []
    rng = np.random.default_rng(pollers.start)

    async def poller(number: int) -> None:
        goal = list(Goal)[number % 3]
        form = ("properties", "json", "spring", "env")[number // 3 % 4]
        path = f"/v1/recommendation?study=study-{number % studies:03d}&record_bytes=1000&goal={goal}&format={form}"
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n".encode()
        await asyncio.sleep(float(rng.uniform(0, interval_s)))
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        known = b""
        try:
            while time.perf_counter() < ends_at:
                began = time.perf_counter()
                writer.write(head + known + b"\r\n")
                answer = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)
                status = int(answer[9:12])
                length = re.search(rb"content-length: (\d+)", answer)
                if length:
                    await asyncio.wait_for(reader.readexactly(int(length[1])), 30)
                times_s.append(time.perf_counter() - began)
                statuses[status] += 1
                if status == 200 and (etag := re.search(rb"etag: (\S+)", answer)):
                    known = b"If-None-Match: " + etag[1] + b"\r\n"
                await asyncio.sleep(interval_s)
        except (OSError, EOFError, TimeoutError) as error:
            failures.append(repr(error))
        finally:
            writer.close()

    await asyncio.gather(*(poller(number) for number in pollers))
    print(json.dumps({"times_s": times_s, "statuses": statuses, "failures": failures}))


def _measure(asked: argparse.Namespace, server: psutil.Process, port: int, token: str) -> bool:
    bounds = [asked.pollers * number // _POLLER_PROCESSES for number in range(_POLLER_PROCESSES + 1)]
    pollers = [
        subprocess.Popen(
            [
                sys.executable, "-m", "benchmarks.service", "--seconds", str(asked.seconds),
                "--interval", str(asked.interval),
                "--poll", str(port), str(first), str(end - first), str(asked.studies),
            ],
            env={**os.environ, "KAFKA_TUNER_TOKEN": token},
            stdout=subprocess.PIPE,
            text=True,
        )
        for first, end in itertools.pairwise(bounds)
    ]  # fmt: skip
    first_mb, most_mb, began = server.memory_info().rss / 1e6, 0.0, time.perf_counter()
    cpu_s = sum(server.cpu_times()[:2])
    with ThreadPoolExecutor(_POLLER_PROCESSES) as readers:
        # Read all pipes at the same time: a poller that prints much at its end would wait for a pipe that nobody reads.
        said = [readers.submit(poller.communicate) for poller in pollers]
        while not all(each.done() for each in said):
            if time.perf_counter() - began > asked.seconds + _START_S:
                for poller in pollers:
                    poller.kill()
                raise SystemExit(f"the pollers did not end within {asked.seconds + _START_S:g} s, so they were killed")
            most_mb = max(most_mb, server.memory_info().rss / 1e6)
            time.sleep(1.0)
    cpu_s = sum(server.cpu_times()[:2]) - cpu_s
    found = [json.loads(each.result()[0]) for each in said]
    times_ms = 1e3 * np.concatenate([each["times_s"] for each in found])
    statuses: Counter[str] = Counter()
    for each in found:
        statuses.update(each["statuses"])
    failures = [text for each in found for text in each["failures"]]
    wrong = len(failures) + sum(count for status, count in statuses.items() if status not in ("200", "304"))
    p50, p99 = np.percentile(times_ms, (50, 99))
    print(
        f"- {len(times_ms)} answers in {asked.seconds:.0f} s ({len(times_ms) / asked.seconds:.0f}/s) "
        f"to {asked.pollers} pollers: p50 {p50:.1f} ms, p99 {p99:.1f} ms, longest {times_ms.max():.0f} ms; "
        f"by status {dict(statuses)}"
    )
    print(f"- CPU time of the server's process: {1e3 * cpu_s / max(1, len(times_ms)):.2f} ms per answer")
    goals = [
        print_goal("p99 of the response time", p99, GOAL_P99_MS, "ms"),
        print_goal("growth of the server's memory", most_mb - first_mb, GOAL_GROWTH_MB, "MB"),
    ]
    print(f"- errors: {wrong} (goal: 0: {'met' if not wrong else 'missed'}) {failures[:3] or ''}")
    return all(goals) and not wrong


if __name__ == "__main__":
    run_benchmark(main)
