"""The failure campaign: whole studies whose parts are killed, paused and cut off, with a check after each failure.

A pause is a SIGSTOP that lasts longer than any lease or patience of the part, and then a SIGCONT.
"""

import contextlib
import itertools
import secrets
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, Final
from urllib.parse import quote

import psutil

from runners.clusters.cluster import RunningCluster
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.space.parameters import KnobChange
from tests.campaign.brokers import RestartableBroker, our_topics
from tests.campaign.invariants import RUN_VARIABLE, Invariants, left_by, processes_of
from tests.campaign.shared_child import SharedDriver
from tests.campaign.stepped_clock import SteppedClock
from tests.helpers.cutting_proxy import CuttingProxy
from tests.helpers.mlflow_server import kill as kill_mlflow
from tests.helpers.mlflow_server import server as mlflow_server
from tests.helpers.ports import free_port
from tests.helpers.postgres_server import PostgresServer
from tests.helpers.shared_storage import storage_of
from tests.helpers.studies import of_kind, real_study, simulated_study
from tuner.model.errors import StudyError
from tuner.model.spec import Executor, Method, PhaseSpec, SafetySpec, SearchSpec, StudySpec, TrackingSpec, WorkloadSpec
from tuner.model.trial import Trial, TrialKind
from tuner.tracking import TrackingLocation, sync
from tuner.tracking.connection import connect

LEASE_S: Final = 4.0
PAUSE_S: Final = 6.0
BROKER_PAUSE_S: Final = 18.0
"""Longer than the load waits for deliveries."""
PATIENCE_S: Final = 300.0
"""Longer than any part takes to come back, even on a busy machine."""
HOUR_S: Final = 3600
MB_PER_S: Final = 30.0
TRIAL_BYTES: Final = 80_000_000
STUDY_BYTES: Final = 400_000_000
_MOST_ENDS: Final = 5
_OF_DRIVER: Final = {"load process": "spawn_main", "worker": "ray::Worker"}
"""Words in the command lines of the processes that a driver starts."""

Fault = tuple[str, str]
"""How a part fails (`kill`, `pause`, `cut` or `step`), and the part."""
LOCAL: Final[tuple[Fault, ...]] = (
    ("kill", "driver"),
    ("pause", "driver"),
    ("kill", "load process"),
    ("pause", "load process"),
    ("kill", "PostgreSQL"),
    ("pause", "PostgreSQL"),
    ("kill", "MLflow"),
    ("pause", "MLflow"),
    ("cut", "driver and PostgreSQL"),
    ("cut", "load and broker"),
    ("cut", "driver and MLflow"),
    ("pause", "broker"),
    ("kill", "broker"),
)
ON_RAY: Final[tuple[Fault, ...]] = (
    ("kill", "worker"),
    ("pause", "worker"),
    ("kill", "load process"),
    ("kill", "driver"),
)


@dataclass(slots=True)
class Outcome:
    """What a campaign has done and found.

    Attributes:
        invariants: The checks and the violations.
        faults: How often each part failed in each way.
        studies: How many studies were run.
        restarts: How often a driver ended with an error and was started again, by the name of the error.
    """

    invariants: Invariants = field(default_factory=Invariants)
    faults: Counter[Fault] = field(default_factory=Counter)
    studies: int = 0
    restarts: Counter[str] = field(default_factory=Counter)


class RealStudies:
    """Studies on a real broker, with PostgreSQL and MLflow, whose parts fail. All connections go through proxies.

    Args:
        postgres: The server that keeps the results. Call from the thread that has started it.
        folder: A folder with a short path, for Ray's sockets.
        stack: Ends all parts when it is closed.
        outcome: Gets what was done and found.
        seed: The seed of the moments at which parts fail.
        mlflow: Whether to copy the studies to an MLflow server, which takes most of the start.
    """

    def __init__(
        self, postgres: PostgresServer, folder: Path, stack: ExitStack, outcome: Outcome, seed: int, *, mlflow: bool
    ) -> None:
        self._postgres, self._outcome, self._chance = postgres, outcome, Random(seed)
        self._run, self._numbers = secrets.token_hex(8), itertools.count()
        self._folder, self._temporary, self._home = folder, folder / "t", folder / "home"
        self._temporary.mkdir()
        self._home.mkdir()
        self._database = f"failures {self._run}"
        postgres.execute(f'CREATE DATABASE "{self._database}"')
        self._direct = storage_of(postgres.url(quote(self._database)))
        through = stack.enter_context(CuttingProxy(postgres.port))
        self._url = postgres.url(quote(self._database), port=through.port)
        self._postgres_proxy = through
        self._broker_proxy = stack.enter_context(CuttingProxy(0, MB_PER_S))
        self._broker = RestartableBroker(proxy_port=self._broker_proxy.port)
        self._broker_proxy.to_port = self._broker.port
        stack.callback(self._broker.stop)
        self._broker.start()
        self._mlflow_port = free_port()
        self._mlflow_proxy = stack.enter_context(CuttingProxy(self._mlflow_port))
        self._tracking = TrackingSpec(uri=f"http://127.0.0.1:{self._mlflow_proxy.port}", enabled=mlflow)
        self._stack = stack
        if mlflow:
            (folder / "mlflow").mkdir()
            connect(TrackingLocation.of(TrackingSpec(), folder / "mlflow")).search_experiments()  # creates its tables
            self._start_mlflow()
        stack.callback(self._end_processes)

    def fail(self, faults: Sequence[Fault], executor: Executor) -> None:
        """Run studies until each of the faults has happened in one of them, and check after each fault."""
        to_come, last = list(faults), "the start"
        while to_come:
            before = len(to_come)
            self._begin(executor)
            while self._another_trial(last):
                self._check(last)
                time.sleep(self._chance.uniform(0, 1.5))
                if to_come and self._is_ready(to_come[0]):
                    how, part = fault = to_come.pop(0)
                    last = f"a {how} of {part}" if how == "cut" else f"a {how} of the {part}"
                    self._do(fault)
                    self._outcome.faults[fault] += 1
            self._check_end(last)
            assert len(to_come) < before, f"nothing of {self._spec.name} could fail: {self._driver.errors}"

    def _do(self, fault: Fault) -> None:
        match fault:
            case ("kill", "driver"):
                self._driver.send(signal.SIGKILL)
                self._driver.wait()
                self._next_driver()
            case ("pause", "driver"):
                self._replace_paused()
            case ("kill", "load process" | "worker"):
                _each(self._all(fault[1]), psutil.Process.kill)
            case ("pause", "load process" | "worker"):
                paused(self._all(fault[1]), PAUSE_S)
            case ("kill", "broker"):
                self._broker.kill()
                time.sleep(self._chance.choice([0.0, 2.0]))
                self._broker.restart()
                self._broker_is_new = True
            case ("pause", "broker"):
                paused([self._broker.process], BROKER_PAUSE_S)
            case ("kill", "PostgreSQL"):
                self._postgres.kill()
                time.sleep(self._chance.choice([0.0, 1.0, LEASE_S + 1]))
                self._postgres.start()
            case ("pause", "PostgreSQL"):
                paused(self._postgres.family(), PAUSE_S)
            case ("kill", "MLflow"):
                kill_mlflow(self._mlflow)
                self._start_mlflow()
            case ("pause", "MLflow"):
                process = psutil.Process(self._mlflow.pid)
                paused([process, *process.children(recursive=True)], PAUSE_S)
            case ("cut", between):
                proxies = {"PostgreSQL": self._postgres_proxy, "broker": self._broker_proxy}
                for _ in range(3):
                    proxies.get(between.rpartition(" ")[2], self._mlflow_proxy).cut()
                    time.sleep(0.3)
            case _:
                raise ValueError(f"there is no fault {fault}")

    def _replace_paused(self) -> None:
        """Stop the driver until another one has taken its study over, and let it go on then."""
        old = self._driver
        old.send(signal.SIGSTOP)
        time.sleep(0.5)
        self._next_driver()
        until = time.monotonic() + PATIENCE_S
        time.sleep(PAUSE_S)
        # On a busy host, the other driver may take long to begin.
        while self._driver.running and not self._driver.trials and time.monotonic() < until:
            time.sleep(0.2)
        old.send(signal.SIGCONT)
        if old.wait() != 1 or old.errors != ["StudyTakenOver"]:
            self._outcome.invariants.say(
                "a pause of the driver", f"the driver that was replaced ended with {old.errors or 'no error'}"
            )

    def _is_ready(self, fault: Fault) -> bool:
        """Return whether a fault can happen now; not if the study has just ended, or a lost part is not back yet."""
        part = fault[1]
        return self._driver.running and (part not in _OF_DRIVER or bool(self._all(part)))

    def _all(self, part: str) -> list[psutil.Process]:
        """Return the load processes or the Ray workers."""
        found = []
        for process in processes_of(self._run):
            with contextlib.suppress(psutil.Error):
                if _OF_DRIVER[part] in " ".join(process.cmdline()):
                    found.append(process)
        return found

    def _begin(self, executor: Executor) -> None:
        self._outcome.studies += 1
        self._spec = failing_study(
            f"study-{self._run[:6]}-{next(self._numbers)}",
            self._broker.bootstrap,
            executor=executor,
            tracking=self._tracking,
        )
        self._sent_before, self._stored, self._ends = self._broker_proxy.sent_bytes, 0, 0
        self._broker_is_new = False
        self._drivers: list[SharedDriver] = []
        self._next_driver()

    def _next_driver(self) -> None:
        folder = self._folder / f"host{len(self._drivers)}" / self._spec.name
        environ = {RUN_VARIABLE: self._run, "TMPDIR": str(self._temporary), "KAFKA_TUNER_HOME": str(self._home)}
        driver = SharedDriver(self._url, folder, self._spec, step_s=0, lease_s=LEASE_S, environ=environ)
        self._driver = self._stack.enter_context(driver)
        self._drivers.append(driver)

    def _another_trial(self, after: str) -> bool:
        """Wait until one more trial is stored; return False if the study has ended.

        A driver that ended with one of our errors is started again, as its user would do.
        """
        until = time.monotonic() + PATIENCE_S
        while (stored := len(self._trials())) <= self._stored:
            if not self._driver.running:
                if self._driver.wait() == 0:
                    return False
                self._ends += 1
                self._outcome.restarts.update(self._driver.errors or ["no error of ours"])
                if self._driver.errors == ["StudyChanged"] and self._broker_is_new:
                    return False  # the broker came back without its data, as another cluster
                if not self._driver.errors or self._ends > _MOST_ENDS:
                    self._outcome.invariants.say(after, f"the driver ended with {self._driver.errors or 'a traceback'}")
                    return False
                self._next_driver()
            if time.monotonic() > until:
                self._outcome.invariants.say(after, f"{self._spec.name} stands still for {PATIENCE_S:.0f} s")
                self._driver.send(signal.SIGKILL)
                return False
            time.sleep(0.2)
        self._stored, self._ends = stored, 0
        return True

    def _trials(self) -> list[Trial]:
        try:
            with closing(self._direct.read(Path(self._spec.name))) as store:
                return [trial for _, trial in store.trials()]
        except StudyError:
            return []

    def _check(self, after: str) -> None:
        told = [trial for driver in self._drivers for trial in driver.trials]
        with closing(self._direct.read(Path(self._spec.name))) as store:
            trials = [trial for _, trial in store.trials()]
            self._outcome.invariants.nothing_lost_or_doubled(self._spec.name, trials, told, after)
            self._outcome.invariants.no_pause_believed(self._spec.name, trials, store.attachment, after)

    def _check_end(self, after: str) -> None:
        """Check what must hold when a study has ended: its bytes, its copy in MLflow, and what it left."""
        name, invariants = self._spec.name, self._outcome.invariants
        given_up = self._driver.wait()
        self._check(after)
        invariants.budget_kept(name, self._broker_proxy.sent_bytes - self._sent_before, STUDY_BYTES, after)
        if self._tracking.enabled:
            self._check_mlflow(after)
        if given_up:  # only the next run of a study cleans up after a kill
            return
        cluster = RunningCluster(kind="existing", connection={"bootstrap.servers": self._broker.bootstrap})
        held = "SELECT * FROM kafka_tuner.leases WHERE expires_at > clock_timestamp()"

        def left() -> list[str]:
            return [
                *left_by(self._run, self._temporary, self._home),
                *(f"the topic {topic}" for topic in our_topics(cluster)),
                *["the lease on the study" for _ in self._postgres.execute(held, self._database)],
            ]

        # Who cleans up after a killed owner may take a moment.
        until = time.monotonic() + 2 * LEASE_S
        while left() and time.monotonic() < until:
            time.sleep(0.5)
        invariants.nothing_left(name, left(), after)

    def _check_mlflow(self, after: str) -> None:
        name, stored = self._spec.name, [trial.key for trial in self._trials()]
        synced = sync(Path(name), self._tracking, storage=self._direct)
        shown = trials_in(connect(TrackingLocation.of(self._tracking, Path(name))), name)
        if synced.error or sorted(shown) != sorted(stored):
            self._outcome.invariants.say(
                after, f"MLflow shows {len(shown)} of {len(stored)} trials of {name}: {synced.error}"
            )

    def _start_mlflow(self) -> None:
        self._mlflow = self._stack.enter_context(mlflow_server(self._folder / "mlflow", self._mlflow_port))

    def _end_processes(self) -> None:
        for process in processes_of(self._run):
            with contextlib.suppress(psutil.Error):
                process.kill()


def step_clock(postgres: PostgresServer, folder: Path, outcome: Outcome, steps: int) -> None:
    """Step the clock of a driver an hour forth and back while it runs a study, and check after each step.

    After every other step, the driver is killed, and another one goes on at the new time.

    Args:
        postgres: The server that keeps the results.
        folder: A folder for everything.
        outcome: Gets what was done and found.
        steps: How often to step the clock.

    Raises:
        FileNotFoundError: There is no C compiler.
    """
    clock, name, told = SteppedClock(folder), f"stepped {secrets.token_hex(8)}", list[dict[str, Any]]()
    postgres.execute(f'CREATE DATABASE "{name}"')
    url, storage = postgres.url(quote(name)), storage_of(postgres.url(quote(name)))
    spec = simulated_study((1000,), trials=4 * steps, burn_in_max=1, hours=2.0)
    left, after = steps, "the start"
    outcome.studies += 1
    while True:
        with SharedDriver(url, folder / "stepped", spec, step_s=0.1, lease_s=LEASE_S, environ=clock.environ) as driver:
            while left and driver.wait_for_trials(len(driver.trials) + 2):
                clock.set(HOUR_S if left % 2 else -HOUR_S)
                after = "a step of the clock"
                outcome.faults["step", "clock"] += 1
                left -= 1
                if left % 2:
                    driver.send(signal.SIGKILL)
                    break
            code = driver.wait()
        told += driver.trials
        with closing(storage.read(Path("stepped"))) as store:
            trials = [trial for _, trial in store.trials()]
        outcome.invariants.nothing_lost_or_doubled(name, trials, told, after)
        if code != -signal.SIGKILL:
            break
    if code or left or len(of_kind(trials, TrialKind.BASELINE, TrialKind.SEARCH)) != spec.search.trials:
        outcome.invariants.say(after, f"the study ended with {driver.errors or code} after {len(trials)} trials")


def failing_study(name: str, bootstrap: str, **changes: Any) -> StudySpec:
    """Return a study that only its byte budget ends, so that bytes that were not counted show on the wire."""
    queue = {"queue.buffering.max.messages": "5000", "queue.buffering.max.kbytes": "5000"}
    fixed = ("compression.type", "acks", "enable.idempotence", *queue)
    return replace(
        real_study(bootstrap, trials=1),
        name=name,
        workload=WorkloadSpec(
            real_study(bootstrap, trials=1).workload.record_sizes, saturate=PhaseSpec(0.3, 1.5), partitions=1
        ),
        baseline=ProducerConfig.parse(queue),
        space={knob: KnobChange(off=True) for knob in fixed},
        search=SearchSpec(Method.RANDOM, trials=200, max_bytes=STUDY_BYTES, burn_in_max=1, racing=False),
        safety=SafetySpec(max_bytes_per_trial=TRIAL_BYTES, min_free_disk_bytes=10**8),
        **changes,
    )


def paused(processes: Sequence[psutil.Process], seconds: float) -> None:
    """Stop processes with SIGSTOP for some seconds, and let them go on."""
    _each(processes, psutil.Process.suspend)
    time.sleep(seconds)
    _each(processes, psutil.Process.resume)


def _each(processes: Sequence[psutil.Process], do: Callable[[psutil.Process], None]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            do(process)


def trials_in(client: Any, study: str) -> list[str]:
    """Return the keys of a study's trials in MLflow, each as often as it is there."""
    experiments = [each.experiment_id for each in client.search_experiments()]
    tags = [run.data.tags for run in client.search_runs(experiments, max_results=5_000)]
    return [
        f"{of['tuner.record_bytes']}/{int(of['tuner.trial']):04d}"
        for of in tags
        if of.get("tuner.study") == study and "tuner.trial" in of
    ]


@contextmanager
def real_studies(
    postgres: PostgresServer, outcome: Outcome, seed: int, *, mlflow: bool = True
) -> Iterator[RealStudies]:
    """Start a broker, an MLflow server if asked, and proxies, and end all at the end of the context."""
    with (
        tempfile.TemporaryDirectory(prefix="c", ignore_cleanup_errors=True) as folder,
        ExitStack() as stack,
    ):
        yield RealStudies(postgres, Path(folder), stack, outcome, seed, mlflow=mlflow)
