"""The part of the failure campaign that kills, pauses and cuts off the service, its reader and its studies."""

import contextlib
import itertools
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import psutil

from tests.campaign.failures import PATIENCE_S, Fault, Outcome, paused
from tests.campaign.invariants import RUN_VARIABLE, left_by
from tests.helpers.cutting_proxy import CuttingProxy
from tests.helpers.serving import Serving, at_work, of_studies, serving, state_of, study_file
from tests.helpers.studies import on_record
from tuner.client import Client, ServiceFault
from tuner.model.errors import StudyError
from tuner.model.trial import Trial, TrialKind

SERVED: Final[tuple[Fault, ...]] = (
    ("kill", "service"),
    ("kill", "reader of the service"),
    ("kill", "study of the service"),
    ("cut", "client and service"),
    ("pause", "service"),
    ("pause", "reader of the service"),
    ("pause", "study of the service"),
)
PAUSE_S: Final = 22.0
"""Longer than the service's lease on a study."""
TRIALS: Final = 60


class ServedStudies:
    """Simulated studies in a service, whose parts fail.

    Args:
        folder: A folder for everything.
        proxy: Stands between the service and its client.
        outcome: Gets what was done and found.
    """

    def __init__(self, folder: Path, proxy: CuttingProxy, outcome: Outcome) -> None:
        self._root, self._temporary, self._home = folder / "studies", folder / "temporary", folder / "home"
        self._temporary.mkdir()
        self._home.mkdir()
        self._run = secrets.token_hex(8)
        self._proxy, self._outcome = proxy, outcome
        self._client = Client(f"http://127.0.0.1:{proxy.port}", timeout_s=PATIENCE_S)
        self._numbers = itertools.count()
        self._names: list[str] = []
        self._before: dict[str, int] = {}

    def fail(self, faults: Sequence[Fault]) -> None:
        """Run studies until each of the faults has happened, and check after each."""
        to_come, last = list(faults), "the start"
        while to_come:
            with self._served() as served:
                # A service that was killed is followed by another one.
                while served.process.poll() is None and to_come:
                    process = self._study_with_news(served)
                    how, part = fault = to_come.pop(0)
                    last = f"a {how} of {part}" if how == "cut" else f"a {how} of the {part}"
                    self._do(fault, served, process)
                    self._outcome.faults[fault] += 1
                    self._check(last)
        with self._served() as served:
            for name in self._names:
                until = time.monotonic() + 2 * PATIENCE_S
                while (state := state_of(served, name)) != "complete":
                    if state == "failed" or time.monotonic() > until:
                        self._outcome.invariants.say(last, f"{name} is {state or 'unknown'} and not complete")
                        break
                    time.sleep(0.3)
            self._check(last)
            for name in self._names:
                searched = [
                    trial for trial in self._trials(name) if trial.kind in (TrialKind.BASELINE, TrialKind.SEARCH)
                ]
                shown = [each["number"] for each in self._client.trials(name)]
                if len(searched) != TRIALS or shown != [trial.number for trial in self._trials(name)]:
                    self._outcome.invariants.say(last, f"{name} has {len(searched)} trials, and shows {len(shown)}")
        self._outcome.studies += len(self._names)
        self._outcome.invariants.nothing_left(
            "the service",
            left_by(self._run, self._temporary, self._home) + [str(p) for p in of_studies(self._root)],
            last,
        )

    @contextmanager
    def _served(self) -> Iterator[Serving]:
        environ = {RUN_VARIABLE: self._run, "TMPDIR": str(self._temporary), "KAFKA_TUNER_HOME": str(self._home)}
        with serving(self._root, environ=environ) as served:
            self._proxy.to_port = served.port
            yield served

    def _do(self, fault: Fault, served: Serving, study: psutil.Process) -> None:
        match fault:
            case ("kill", "service"):
                served.kill()
            case ("pause", "service"):
                paused([psutil.Process(served.process.pid)], PAUSE_S)
            case ("kill", "reader of the service"):
                self._reader(served).kill()
            case ("pause", "reader of the service"):
                paused([self._reader(served)], PAUSE_S)
            case ("kill", "study of the service"):
                study.kill()
            case ("pause", "study of the service"):
                paused([study], PAUSE_S)
            case ("cut", _):
                self._submit(cut=True)
            case _:
                raise ValueError(f"there is no fault {fault}")

    def _study_with_news(self, served: Serving) -> psutil.Process:
        """Return the process of a study that has stored a trial since its process was returned last.

        The service gives up a study that ends several times without a new trial.
        """
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            for process in at_work(self._root):
                with contextlib.suppress(psutil.Error):
                    name = process.cmdline()[5]
                    ended = len(self._trials(name))
                    if ended > self._before.get(name, 0):
                        self._before[name] = ended
                        return process
            if all(state_of(served, name) in ("complete", "failed") for name in self._names):
                self._submit()
            time.sleep(0.1)
        raise AssertionError(f"no study of the service stores a trial: {served.said()[-2000:]}")

    def _submit(self, *, cut: bool = False) -> None:
        """Submit a study as a client does: again if the connection was lost before the answer came."""
        name = f"served-{self._run[:4]}-{next(self._numbers)}"
        self._names.append(name)
        if cut:
            self._proxy.cut_at(b"POST /v1/studies", answered=len(self._names) % 2 == 0)
        for last in (False, True):
            try:
                self._client.submit(study_file(name, trials=TRIALS))
                break
            except ServiceFault:
                if last:
                    raise
        if [each["name"] for each in self._client.studies()].count(name) != 1:
            self._outcome.invariants.say("a cut of client and service", f"{name} is not in the service once")

    def _trials(self, name: str) -> list[Trial]:
        with contextlib.suppress(StudyError):
            return on_record(self._root / name)
        return []

    def _check(self, after: str) -> None:
        for name in self._names:
            told: list[str] = []
            with contextlib.suppress(ServiceFault):  # the service was killed, or its reader is away
                told = [f"{each['record_bytes']}/{each['number']:04d}" for each in self._client.trials(name)]
            stored = self._trials(name)
            self._outcome.invariants.nothing_lost_or_doubled(name, stored, (), after)
            for key in set(told) - {trial.key for trial in stored}:
                self._outcome.invariants.say(after, f"trial {key} of {name} was shown to a client and is not stored")

    def _reader(self, served: Serving) -> psutil.Process:
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            for process in of_studies(self._root):
                with contextlib.suppress(psutil.Error):
                    if process.ppid() == served.process.pid and "--multiprocessing-fork" in process.cmdline():
                        return process
            time.sleep(0.1)
        raise AssertionError("the service has no reader")


@contextmanager
def served_studies(folder: Path, outcome: Outcome) -> Iterator[ServedStudies]:
    """Start a service, and a proxy through which clients reach it. Yield the studies that run in the service."""
    with ExitStack() as stack:
        yield ServedStudies(folder, stack.enter_context(CuttingProxy(0)), outcome)
