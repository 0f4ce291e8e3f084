"""Works through the queue: runs each study in a separate process and records in the queue how the study ended."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from runners.host_processes.processes import this_host
from runners.reporting import Say
from tuner.model.errors import ExitCode
from tuner.service.config import ServiceConfig
from tuner.service.errors import ServiceError
from tuner.service.queue.job import JobState, QueuedJob, Task
from tuner.service.queue.job_queue import JobQueue
from tuner.service.worker.study_process import ProcessOutcome, StudyProcess, last_sequence
from tuner.storage.locations import shared_url

MOST_CRASHES: Final = 3
"""How many times in a row a study's process may end early without a new trial. The next early end fails the study."""
_TICK_S: Final = 0.3
_LEASE_S: Final = 20.0
_STOP_S: Final = 25.0
_BUSY_DELAY_S: Final = 2.0
_TARGET_DELAY_S: Final = 15.0
_HOST_DELAY_S: Final = 5.0
_NOT_RETRIED: Final = frozenset({ExitCode.USAGE, ExitCode.SAFETY})
"""Exit codes of a study's process after which the study has failed and is not started again."""
_NOT_RETRIED_ERRORS: Final = frozenset({"TooManyFailures", "ResultsDamaged"})
"""The names of the errors for which the same holds."""


class Supervisor:
    """A thread that works through the queue.

    When the service stops, the supervisor interrupts the studies' processes, as Ctrl-C does, and puts the studies back
    into the queue, so that no study runs unsupervised. The studies continue when the service starts again. When the
    service is killed, the processes keep running, and the service finds them again when it starts.

    Args:
        config: The configuration of the service.
        queue: The queue of studies.
        config_file: The service's config file, which the studies' processes read too.
        log: Logs one sentence.

    Attributes:
        started: How many processes were started.
        crashed: How many processes ended before their study did.
    """

    def __init__(self, config: ServiceConfig, queue: JobQueue, config_file: Path | None, log: Say) -> None:
        self._config = config
        self._queue = queue
        self._config_file = config_file
        self._log = log
        self._owner = f"{this_host()} {config.root}"
        self._processes: dict[str, StudyProcess] = {}
        self._unreadable: set[str] = set()
        self._wake = threading.Event()
        self._stopping = False
        self._ticked_at = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="tuner-supervisor", daemon=True)
        self.started = 0
        self.crashed = 0

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def wake(self) -> None:
        """Make the thread look at the queue now, because something has changed."""
        self._wake.set()

    def stop(self) -> None:
        """Stop the studies' processes and then the thread, and wait until both have ended."""
        self._stopping = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    @property
    def seconds_since_alive(self) -> float:
        """The time since the thread last reached the queue, in seconds."""
        return time.monotonic() - self._ticked_at

    @property
    def running(self) -> int:
        """The number of processes that are running studies."""
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
        """Call a function and log its errors. An unreachable queue must not end the supervision of running studies."""
        try:
            do()
            self._ticked_at = time.monotonic()
        except Exception as error:  # noqa: BLE001 - any error is logged, and the function is called again later
            self._log(f"working through the queue failed and will be tried again: {type(error).__name__}: {error}")
            time.sleep(_TICK_S)

    def _tick(self) -> None:
        self._look_after()
        while not self._stopping:
            at_once = self._config.at_once_per_target
            # A queue in PostgreSQL may be shared with services that have other targets. A queue in a folder belongs to
            # this service alone, so it also takes studies whose target the config no longer names.
            targets = self._config.targets if shared_url() else None
            job = self._queue.claim(self._owner, at_once=at_once, lease_s=_LEASE_S, targets=targets)
            if job is None:
                return
            try:
                self._begin(job)
            except OSError as error:  # one study must not stop the others
                self._try_again(job, f"the files of the study can't be read or written: {error}")

    def _begin(self, job: QueuedJob) -> None:
        """Start the process of a study that was just claimed, unless it is running already."""
        # A service that was killed right after it started the study's process may have left that process running.
        process = StudyProcess.adopt(self._folder(job))
        if process is not None and process.running:
            self._watch_again(job, process)
        elif job.state is JobState.RUNNING:
            self._start(job)

    def _look_after(self) -> None:
        held = {job.name: job for job in self._queue.renew(self._owner, lease_s=_LEASE_S)}
        for name in self._processes.keys() - held.keys():
            # The lease ran out, for example because this host was suspended. Then another service claimed the study.
            self._log(f"{name}: another service runs this study now, so its process on this host was ended")
            self._processes.pop(name).kill()
        unreadable = set()
        for job in held.values():
            try:
                self._look_at(job)
            except OSError as error:
                # Its process may still load the target, so it keeps its state until its files can be read.
                unreadable.add(f"{job.name}: the files of the study can't be read or written: {error}")
        for message in sorted(unreadable - self._unreadable):  # each is logged once, and not at each look
            self._log(message)
        self._unreadable = unreadable

    def _look_at(self, job: QueuedJob) -> None:
        process = self._processes.get(job.name)
        if process is None:
            self._take_over(job)
        elif not process.running:
            del self._processes[job.name]
            self._after_end(job, process, process.outcome)
        elif job.state in (JobState.PAUSING, JobState.CANCELLING):
            process.stop()

    def _take_over(self, job: QueuedJob) -> None:
        """Take over a study that this service was running when it was killed."""
        process = StudyProcess.adopt(self._folder(job))
        if process is not None and process.running:
            self._watch_again(job, process)
        elif process is not None and process.outcome is not None:
            self._after_end(job, process, process.outcome)
        elif job.state is JobState.RUNNING:
            # The process was killed together with the service, so this does not count as a crash of the study.
            self._move(job, JobState.QUEUED, "the service was killed; the study continues")
        else:
            self._record_stop(job)

    def _watch_again(self, job: QueuedJob, process: StudyProcess) -> None:
        self._processes[job.name] = process
        self._log(f"{job.name}: its process {process.identity.pid} was found again")

    def _start(self, job: QueuedJob) -> None:
        study_file = self._queue.study_file(job.name)
        try:
            process = StudyProcess.start(self._config.root, job.name, study_file, self._config_file, job.task)
        except OSError as error:
            # This host lacks file descriptors, memory, processes or disk space, which is no fault of the study.
            self._try_again(job, f"this host could not start the study's process ({error.strerror})")
            return
        self.started += 1
        self._processes[job.name] = process
        self._log(f"{job.name}: started, process {process.identity.pid}")

    def _try_again(self, job: QueuedJob, why: str) -> None:
        """Put a study that could not be started on this host back into the queue."""
        self._move(job, JobState.QUEUED, f"{why}; it is tried again", delay_s=_HOST_DELAY_S)

    def _after_end(self, job: QueuedJob, process: StudyProcess, outcome: ProcessOutcome | None) -> None:
        """Record in the queue how a study ended, after its process has ended."""
        code, message = (outcome.code, outcome.message) if outcome is not None else (None, process.tail())
        kind = outcome.kind if outcome is not None else ""
        before = process.last_sequence_before
        # The files of the process are removed first. If the service is killed before the queue is changed, it starts
        # the study again, and the study ends immediately because it is complete.
        process.forget()
        if code in (ExitCode.DONE, ExitCode.NO_FEASIBLE_CONFIG):
            self._move(job, job.task.then, message, Task())
        elif job.state is not JobState.RUNNING:
            self._record_stop(job)
        elif code in _NOT_RETRIED or kind in _NOT_RETRIED_ERRORS:
            self._move(job, JobState.FAILED, message)
        elif code == ExitCode.INTERRUPTED:
            self._move(job, JobState.QUEUED, "the study was interrupted and continues")
        elif kind == "StudyBusy":
            self._move(job, JobState.QUEUED, message, delay_s=_BUSY_DELAY_S)
        else:
            progressed = last_sequence(self._folder(job), before) > before
            delay_s = _TARGET_DELAY_S if code == ExitCode.TARGET else 0.0
            self._put_back(job, message, progressed=progressed, delay_s=delay_s)

    def _record_stop(self, job: QueuedJob) -> None:
        """Record that a study which was asked to stop has stopped."""
        self._move(job, JobState.PAUSED if job.state is JobState.PAUSING else JobState.CANCELLED, "")

    def _folder(self, job: QueuedJob) -> Path:
        return self._config.root / job.name

    def _put_back(self, job: QueuedJob, message: str, *, progressed: bool, delay_s: float) -> None:
        """Put a study whose process ended early back into the queue, or record its failure after too many crashes."""
        self.crashed += 1
        crashes = 1 if progressed else job.crashes + 1
        if crashes > MOST_CRASHES:
            self._move(
                job,
                JobState.FAILED,
                f"the study's process ended {crashes} times in a row without a new trial; the last time:\n"
                f"{message or 'its log is empty, so it was probably killed, for example because memory ran out'}",
            )
            return
        self._move(
            job,
            JobState.QUEUED,
            f"the study's process ended before the study did, and is started again\n{message}".strip(),
            crashes=crashes,
            delay_s=delay_s or (0.0 if progressed else float(2**crashes)),
        )

    def _move(
        self,
        job: QueuedJob,
        to: JobState,
        note: str,
        task: Task | None = None,
        *,
        crashes: int | None = None,
        delay_s: float = 0.0,
    ) -> None:
        """Change a study's state, and log its new state and the note. The arguments are those of `JobQueue.move`."""
        try:
            now = self._queue.move(
                job.name, to, owner=self._owner, note=note, task=task, crashes=crashes, delay_s=delay_s
            ).state
        except ServiceError as error:  # a client has changed the study meanwhile; the next call of `_tick` handles it
            self._log(f"{job.name}: {error}")
            return
        later = f" (in {delay_s:g} s)" if delay_s else ""
        self._log(f"{job.name}: {now}{f': {note}' if note else ''}{later}")
