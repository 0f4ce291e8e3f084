"""Kills, pauses and cuts off the parts of whole studies, and checks after each failure that nothing is lost.

python -m tests.campaign.all_failures [--rounds 6] [--steps 12] [--seed 1] [--only service]

Studies run on a real broker, with PostgreSQL, an MLflow server and Ray; others run in the service. In each round each
part is killed with SIGKILL once and paused once: SIGSTOP for longer than any lease or patience of that part, then
SIGCONT. Proxies cut the connections. After each failure, these must hold:

- no finished trial is lost, changed, or there twice, in the results and in MLflow;
- no measurement in which nothing was delivered for 3 s counts;
- no study sends more bytes than it may, as counted on the wire;
- at the end of a study, no process, topic, file, record, lock or lease is left.

Then studies run on a disk that is full after one page more each time, and the clock of a driver is stepped by an hour.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.evidence import benchmark_parser, run_benchmark, whole_number
from tests.campaign.failures import LOCAL, ON_RAY, Outcome, real_studies, step_clock
from tests.campaign.served_failures import SERVED, served_studies
from tests.campaign.small_disk import fill_disk
from tests.helpers.postgres_server import PostgresServer, served
from tuner.model.spec import Executor

_PARTS = ("studies", "service", "disks", "clock")
_OTHERS_SETTINGS = ("MLFLOW_TRACKING_URI", "RAY_ADDRESS", "KAFKA_TUNER_STORAGE")


def main() -> None:
    """Run the campaign. The exit code is 1 if one of the conditions above did not hold after a failure."""
    parser = benchmark_parser(__doc__)
    parser.add_argument("--rounds", type=whole_number, default=6, help="how often each part is killed and paused")
    parser.add_argument("--steps", type=whole_number, default=12, help="how often the clock is stepped")
    parser.add_argument(
        "--every", type=whole_number, default=1, help="leave out all but every so many pages of the full disk"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default=",".join(_PARTS), help=f"parts of the campaign: {', '.join(_PARTS)}")
    asked = parser.parse_args()
    parts = asked.only.split(",")
    if unknown := sorted(set(parts) - set(_PARTS)):
        parser.error(f"--only must name parts among {', '.join(_PARTS)}, but got {', '.join(unknown)}")
    for variable in _OTHERS_SETTINGS:
        os.environ.pop(variable, None)
    outcome, began, chance, left_out = Outcome(), time.monotonic(), Random(asked.seed), list[str]()

    def guarded(part: str, what: str, run: Callable[[], Any]) -> Any:
        """Run a part of the campaign; report its error as a violation, so that the other parts still run."""
        if part not in parts:
            return None
        print(f"{what}, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        try:
            return run()
        except (PermissionError, FileNotFoundError) as error:
            left_out.append(str(error))
        except Exception as error:  # noqa: BLE001 - any error is reported, and the other parts run
            outcome.invariants.say(what, f"the campaign could not go on: {type(error).__name__}: {error}")
        for sentence in outcome.invariants.broken:
            print(f"  {sentence}", file=sys.stderr, flush=True)
        return None

    with contextmanager(served)(durable=True) as postgres:
        for number in range(asked.rounds):
            guarded("studies", f"round {number + 1}", partial(_real, postgres, outcome, chance, number))
            guarded("service", f"service, round {number + 1}", partial(_in_service, outcome, chance))
        full = guarded(
            "disks", "full disks", lambda: _below(lambda folder: fill_disk(folder, outcome.invariants, asked.every))
        )
        guarded("clock", "clock", lambda: _below(lambda folder: step_clock(postgres, folder, outcome, asked.steps)))
    _tell(outcome, full, left_out, time.monotonic() - began)
    sys.exit(1 if outcome.invariants.broken else 0)


def _real(postgres: PostgresServer, outcome: Outcome, chance: Random, seed: int) -> None:
    with real_studies(postgres, outcome, seed) as studies:
        studies.fail(chance.sample(LOCAL, len(LOCAL)), Executor.LOCAL)
        studies.fail(chance.sample(ON_RAY, len(ON_RAY)), Executor.RAY)


def _in_service(outcome: Outcome, chance: Random) -> None:
    def fail(folder: Path) -> None:
        with served_studies(folder, outcome) as studies:
            studies.fail(chance.sample(SERVED, len(SERVED)))

    _below(fail)


def _below(run: Callable[[Path], Any]) -> Any:
    """Run a function with a new folder, which is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="tuner-failures-", ignore_cleanup_errors=True) as folder:
        return run(Path(folder))


def _tell(outcome: Outcome, full: int | None, left_out: list[str], took_s: float) -> None:
    faults, invariants = outcome.faults, outcome.invariants
    print("| what failed | killed | paused | cut or stepped |\n| --- | --- | --- | --- |")
    for part in dict.fromkeys(part for _, part in faults):
        cut = faults["cut", part] + faults["step", part]
        cells = (faults["kill", part], faults["pause", part], cut)
        print(f"| {part} | {' | '.join(str(count or '') for count in cells)} |")
    killed = sum(count for (how, _), count in faults.items() if how in ("kill", "pause"))
    print(
        f"\n- {killed} kills and pauses, {sum(faults.values()) - killed} cuts and steps of the clock, in "
        f"{outcome.studies} studies and {took_s / 60:.0f} minutes"
    )
    print(f"- {invariants.trials} finished trials, compared {invariants.checks} times with what was known before")
    if full:
        print(f"- {full} studies on a full disk, each with room for one page more than the previous study")
    if outcome.restarts:
        ends = ", ".join(f"{name} {count} times" for name, count in outcome.restarts.items())
        print(f"- drivers that ended with an error, and went on with the same command: {ends}")
    for sentence in left_out:
        print(f"- {sentence}")
    print("- conditions that did not hold: " + ("" if invariants.broken else "none"))
    for sentence in invariants.broken:
        print(f"  - {sentence}")


if __name__ == "__main__":
    run_benchmark(main)
