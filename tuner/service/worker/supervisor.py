"""Works through the queue: starts a process for each study, looks after it, and says in the queue what became of it."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from runners.clusters.processes import this_host
from runners.reporting import Say
from tuner.model.errors import ExitCode
from tuner.service.config import ServiceConfig
from tuner.service.errors import ServiceError
from tuner.service.queue.job import Job, JobState
from tuner.service.queue.job_queue import JobQueue
from tuner.service.worker.study_process import Outcome, StudyProcess, last_sequence

MOST_CRASHES: Final = 3
"""In a row, without a new trial; then the study has failed."""
_TICK_S: Final = 0.3
_LEASE_S: Final = 20.0
_STOP_S: Final = 25.0
_BUSY_DELAY_S: Final = 2.0
_TARGET_DELAY_S: Final = 15.0
_FOR_GOOD: Final = frozenset({ExitCode.USAGE, ExitCode.SAFETY})
_FOR_GOOD_KINDS: Final = frozenset({"TooManyFailures", "RecordDamaged"})


class Supervisor:
    """A thread that works through the queue.

    When it is told to stop, it stops the studies' processes as Ctrl-C does, and puts the studies back into the queue:
    nothing measures while nobody looks after it, and the next start goes on with them. When it is killed, they go on,
    and the next start finds them.

    Args:
        config: Of the service.
        queue: What to do.
        config_file: The operator's file, for the studies' processes.
        log: Told what happens, in sentences.
    """

    def __init__(self, config: ServiceConfig, queue: JobQueue, config_file: Path | None, log: Say) -> None:
        self._config = config
        self._queue = queue
        self._config_file = config_file
        self._log = log
        self._owner = f"{this_host()} {config.root}"
        self._processes: dict[str, StudyProcess] = {}
        self._wake = threading.Event()
        self._stopping = False
        self._ticked_at = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="tuner-supervisor", daemon=True)
        self.started = 0
        self.crashed = 0

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def wake(self) -> None:
        """Look at the queue now: something has changed."""
        self._wake.set()

    def stop(self) -> None:
        """Stop the studies' processes and then the thread; returns when that is done."""
        self._stopping = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    @property
    def seconds_since_alive(self) -> float:
        """How long ago it looked at the queue and could."""
        return time.monotonic() - self._ticked_at

    @property
    def running(self) -> int:
        """How many processes there are."""
        return len(self._processes)

    def _run(self) -> None:
        while not self._stopping:
            self._guarded(self._tick)
            self._wake.wait(_TICK_S)
            self._wake.clear()
        deadline = time.monotonic() + _STOP_S
        while self._processes and time.monotonic() < deadline:
            for process in self._processes.values():
                process.stop()
            self._guarded(self._look_after)
            time.sleep(0.05)
        for process in self._processes.values():
            process.kill()
        self._guarded(self._look_after)

    def _guarded(self, do: Callable[[], None]) -> None:
        """A queue that can't be reached for a while must not end the supervision of what runs."""
        try:
            do()
            self._ticked_at = time.monotonic()
        except Exception as error:  # noqa: BLE001 - whatever it was, it is tried again
            self._log(f"the queue could not be served, which is tried again: {type(error).__name__}: {error}")
            time.sleep(_TICK_S)

    def _tick(self) -> None:
        self._look_after()
        while not self._stopping:
            job = self._queue.claim(self._owner, at_once=self._config.at_once_per_target, lease_s=_LEASE_S)
            if job is None:
                return
            # The process of a service that was killed before it could say so may be there.
            process = StudyProcess.adopt(self._folder(job))
            if process is not None and process.running:
                self._watch_again(job, process)
            elif job.state is JobState.RUNNING:
                self._start(job)

    def _look_after(self) -> None:
        held = {job.name: job for job in self._queue.renew(self._owner, lease_s=_LEASE_S)}
        for name in self._processes.keys() - held.keys():
            # Its lease ran out, as when this host slept: another service has it now.
            self._log(f"{name} is another service's by now; its process here is ended")
            self._processes.pop(name).kill()
        for name, job in held.items():
            process = self._processes.get(name)
            if process is None:
                self._left(job)
            elif not process.running:
                del self._processes[name]
                self._after_end(job, process, process.outcome)
            elif job.state in (JobState.PAUSING, JobState.CANCELLING):
                process.stop()

    def _left(self, job: Job) -> None:
        """A study that an earlier service was working on when it was killed."""
        process = StudyProcess.adopt(self._folder(job))
        if process is not None and process.running:
            self._watch_again(job, process)
        elif process is not None and process.outcome is not None:
            self._after_end(job, process, process.outcome)
        elif job.state is JobState.RUNNING:
            # Killed together with the service, which is no fault of the study.
            self._queue.move(job.name, JobState.QUEUED, owner=self._owner, note="the service was killed; it goes on")
            self._log(f"{job.name}: no process works on it any more; it goes on when its turn comes")
        else:
            self._stopped(job)

    def _watch_again(self, job: Job, process: StudyProcess) -> None:
        self._processes[job.name] = process
        self._log(f"{job.name}: its process {process.identity.pid} was found again")

    def _start(self, job: Job) -> None:
        study_file = self._queue.study_file(job.name)
        try:
            process = StudyProcess.start(self._config.root, job.name, study_file, self._config_file)
        except OSError as error:
            self._put_back(job, f"its process could not be started: {error.strerror}", progressed=False)
            return
        self.started += 1
        self._processes[job.name] = process
        self._log(f"{job.name}: started, process {process.identity.pid}")

    def _after_end(self, job: Job, process: StudyProcess, outcome: Outcome | None) -> None:
        """Say in the queue what became of a study whose process has ended."""
        code, message = (outcome.code, outcome.message) if outcome is not None else (None, process.tail())
        kind = outcome.kind if outcome is not None else ""
        after = process.after
        # Forgotten first: should we be killed in between, it is started again, and finds itself at its end.
        process.forget()
        if code in (ExitCode.DONE, ExitCode.NO_FEASIBLE_CONFIG):
            self._move(job, JobState.COMPLETE, message)
        elif job.state is not JobState.RUNNING:
            self._stopped(job)
        elif code in _FOR_GOOD or kind in _FOR_GOOD_KINDS:
            self._move(job, JobState.FAILED, message)
        elif code == ExitCode.INTERRUPTED:
            self._queue.move(job.name, JobState.QUEUED, owner=self._owner, note="it was interrupted, and goes on")
            self._log(f"{job.name}: interrupted; it goes on when its turn comes")
        elif kind == "StudyBusy":
            self._queue.move(job.name, JobState.QUEUED, owner=self._owner, note=message, delay_s=_BUSY_DELAY_S)
        else:
            progressed = last_sequence(self._folder(job), after) > after
            delay_s = _TARGET_DELAY_S if code == ExitCode.TARGET else 0.0
            self._put_back(job, message, progressed=progressed, delay_s=delay_s)

    def _stopped(self, job: Job) -> None:
        """A study that was to be stopped has no process any more."""
        self._move(job, JobState.PAUSED if job.state is JobState.PAUSING else JobState.CANCELLED, "")

    def _folder(self, job: Job) -> Path:
        return self._config.root / job.name

    def _put_back(self, job: Job, told: str, *, progressed: bool, delay_s: float = 0.0) -> None:
        """Back into the queue, unless that was tried often enough."""
        self.crashed += 1
        crashes = 1 if progressed else job.crashes + 1
        if crashes > MOST_CRASHES:
            self._move(
                job, JobState.FAILED, f"its process ended {crashes} times without a new trial; the last:\n{told}"
            )
            return
        self._queue.move(
            job.name,
            JobState.QUEUED,
            owner=self._owner,
            note=f"its process ended before the study did, and is started again\n{told}".strip(),
            crashes=crashes,
            delay_s=delay_s or (0.0 if progressed else float(2**crashes)),
        )
        self._log(f"{job.name}: its process ended before the study did ({crashes} in a row without a new trial)")

    def _move(self, job: Job, to: JobState, note: str) -> None:
        try:
            self._queue.move(job.name, to, owner=self._owner, note=note)
        except ServiceError as error:  # moved meanwhile, by a user: the next look sees it as it is now
            self._log(f"{job.name}: {error}")
            return
        self._log(f"{job.name}: {to}{f': {note}' if note else ''}")
