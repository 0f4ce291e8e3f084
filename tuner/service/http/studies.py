"""The studies as clients of the service see them: their state in the queue and their progress."""

import asyncio
import json
import re
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool

from tuner.execution.budgets.least_limits import check_limits
from tuner.model.document import document
from tuner.model.errors import ProblemKind, ResultsDamaged, StudyNotFound
from tuner.model.facts import IDENTITY
from tuner.model.identity import setting_changes, study_identity
from tuner.model.progress import StudyState
from tuner.service.config import ServiceConfig
from tuner.service.errors import JobNotFound, WrongMove
from tuner.service.problems import Problem
from tuner.service.queue.job import JobState, QueuedJob, Submission, check_changeable
from tuner.service.queue.job_queue import JobQueue
from tuner.service.response_cache import ResponseCache
from tuner.service.responses.query import QueryResponse, ResultQuery
from tuner.service.submission import check_settings, spec_of
from tuner.service.worker.supervisor import Supervisor
from tuner.storage.locations import shared_url, storage_at
from tuner.study_file import StudyFileError

NAME_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$"
CURSOR_PATTERN: Final = r"^([0-9]{1,15}|~[A-Za-z0-9_.-]{0,100})$"
"""The cursor of a page of studies."""
RECORDED: Final = "recorded"
"""The state of a study that is in the service's folder but was not submitted to the service."""
_CURSOR: Final = "~"
_NOTED: Final = (ProblemKind.NOT_A_STUDY, ProblemKind.RESULTS_DAMAGED)
"""The kinds of problems with a study's results that its page shows as a note."""


@dataclass(frozen=True, slots=True)
class Studies:
    """Shows studies and changes their state.

    Attributes:
        config: The configuration of the service.
        queue: The queue, which holds the states of the studies.
        responses: The cache of responses, which reads the results of the studies.
        supervisor: The thread that works through the queue. The thread is woken when a client changes a study's state.
    """

    config: ServiceConfig
    queue: JobQueue
    responses: ResponseCache
    supervisor: Supervisor

    async def submit(self, submission: Submission, *, may_change: bool = True) -> tuple[dict[str, Any], bool]:
        """Put a study into the queue.

        Args:
            submission: The study.
            may_change: Whether the submission may change the settings of an existing study with the same name. If
                False, only settings on which no trial depends may change, and only while the study is not running.

        Returns:
            The study, and whether it is new. It is not new if a study of this name was submitted before, with the same
            study file or with another one.

        Raises:
            NameTaken: A study of this name with another study file was cancelled or may not change.
            WrongMove: A study of this name with another study file is running.
            StudyChanged: The study has trials, and the study file changes settings that the trials depend on.
            LimitTooLow: The study is new, and a limit leaves too little time or too few bytes.
        """
        job, new = await run_in_threadpool(self._put, submission, may_change)
        self.supervisor.wake()
        return await self._view(job.name, job), new

    def _put(self, submission: Submission, may_change: bool) -> tuple[QueuedJob, bool]:
        """Put a study into the queue, if its study file fits the trials that the study has."""
        try:
            before: QueuedJob | None = self.queue.find(submission.name)
        except JobNotFound:
            before = None
        if before is None or before.digest != submission.digest:
            if before is not None:
                may_change = may_change or (not before.active and self._same_trials(submission))
                check_changeable(before, may_change=may_change)
            try:
                with closing(storage_at().read(self.config.root / submission.name)) as store:
                    if store.trials(limit=1) and (identity := store.facts().get(IDENTITY)):
                        check_settings(submission, before, identity, self.config)
            except StudyNotFound:
                check_limits(spec_of(submission.text, self.config)[0])
            except ResultsDamaged:
                pass  # the process that runs the study will report this
        # Another client may have submitted a study of this name meanwhile, so the queue checks it again.
        return self.queue.submit(submission, may_change=may_change)

    def _same_trials(self, submission: Submission) -> bool:
        """Return whether a study would have the same trials with its new study file as with its present one."""
        try:
            own, _ = spec_of(self.queue.study_file(submission.name), self.config)
        except StudyFileError:  # the service's config no longer allows it
            return False
        asked, _ = spec_of(submission.text, self.config)
        return not setting_changes(study_identity(asked), study_identity(own))

    async def pause(self, name: str) -> dict[str, Any]:
        """Pause a study.

        A running study stops after its current measurement window. A waiting study leaves the queue.
        """
        return await self._move(name, JobState.PAUSED, JobState.PAUSING)

    async def cancel(self, name: str) -> dict[str, Any]:
        """Stop a study for good, or only its confirmation or copy to MLflow. Its results are kept."""
        return await self._move(name, JobState.CANCELLED, JobState.CANCELLING)

    async def resume(self, name: str) -> dict[str, Any]:
        """Put a study that is paused or has failed back into the queue.

        Raises:
            WrongMove: The study is neither paused nor failed.
        """
        job = await run_in_threadpool(self.queue.find, name)
        if job.state not in (JobState.QUEUED, JobState.RUNNING):
            if job.state not in (JobState.PAUSED, JobState.FAILED):
                wait = "; wait until it is paused" if job.state is JobState.PAUSING else ""
                raise WrongMove(f"only a paused or failed study can be resumed, but {name} is {job.state}{wait}")
            job = await run_in_threadpool(lambda: self.queue.move(name, JobState.QUEUED, note="", crashes=0))
        self.supervisor.wake()
        return await self._view(name, job)

    async def show(self, name: str) -> dict[str, Any]:
        """Return the state and the progress of one study.

        Raises:
            StudyNotFound: Neither the queue nor the storage has a study of this name.
            Problem: The queue has no study of this name, and its results in the storage can't be read.
        """
        try:
            job = await run_in_threadpool(self.queue.find, name)
        except JobNotFound:
            recorded = await self.responses.get(ResultQuery.of(name, "summary"))
            if recorded.status != 200:
                problem = Problem.of_json(json.loads(recorded.body))
                if problem.kind is ProblemKind.NOT_FOUND:
                    raise StudyNotFound(f"there is no study {name}") from None
                raise problem from None
            return await self._view(name, None)
        return await self._view(name, job)

    async def status(self, name: str, state: str, form: str = "json") -> QueryResponse:
        """Return the progress of a study.

        Args:
            name: The study's name.
            state: The study's state in the queue, or `RECORDED` if it is not in the queue. The returned status shows
                this state.
            form: `json` or `text`.
        """
        in_queue = None if state == RECORDED else state
        return await self.responses.fresh(ResultQuery.of(name, "status", form=form, state=in_queue))

    async def newest(self, name: str) -> dict[str, Any]:
        """Return the newest trials of a study as the rows of a table; an empty mapping if it has none yet."""
        found = await self.responses.get(ResultQuery.of(name, "newest"))
        return dict(json.loads(found.body)) if found.status == 200 else {}

    async def mlflow_views(self, name: str) -> dict[str, str]:
        """Return the links to a study's prepared views in MLflow, by name; empty if they are not known."""
        if self.config.mlflow_url is None:
            return {}
        address = urlsplit(self.config.mlflow_url)._replace(query="", fragment="").geturl().rstrip("/")
        found = await self.responses.get(ResultQuery.of(name, "mlflow_views", address=address))
        return dict(json.loads(found.body)) if found.status == 200 else {}

    async def listed(self, limit: int, cursor: str | None) -> tuple[list[dict[str, Any]], str | None]:
        """Return one page of studies.

        The newest submission comes first. Studies in the service's folder that were not submitted come last.

        Returns:
            The studies, and the cursor of the next page, or None on the last page.
        """
        jobs, names, following = await run_in_threadpool(self._page, limit, cursor)
        views = [self._with_summary(job.name, job) for job in jobs] + [self._with_summary(name, None) for name in names]
        return list(await asyncio.gather(*views)), following

    def _page(self, limit: int, cursor: str | None) -> tuple[list[QueuedJob], list[str], str | None]:
        jobs: list[QueuedJob] = []
        after_name = ""
        if cursor is not None and cursor.startswith(_CURSOR):
            after_name = cursor[1:]
        else:
            jobs = self.queue.jobs(before=int(cursor) if cursor else None, limit=limit + 1)
        if len(jobs) > limit:
            return jobs[:limit], [], str(jobs[limit - 1].number)
        submitted = self.queue.names()
        # A folder may have any name, but the address of a page and a cursor accept only names that a study may have.
        recorded = sorted(name for name in storage_at().names(self.config.root) if re.fullmatch(NAME_PATTERN, name))
        others = [name for name in recorded if name > after_name and name not in submitted][: limit + 1 - len(jobs)]
        if len(jobs) + len(others) <= limit:
            return jobs, others, None
        others.pop()
        return jobs, others, f"{_CURSOR}{others[-1] if others else ''}"

    async def _move(self, name: str, if_idle: JobState, if_active: JobState) -> dict[str, Any]:
        """Move a study to the state `if_active` if a process may be running it, and to `if_idle` otherwise."""
        for _ in range(3):
            job = await run_in_threadpool(self.queue.find, name)
            if job.state in (if_idle, if_active):
                break
            to = if_active if job.active else if_idle
            try:
                job = await run_in_threadpool(self.queue.move, name, to)
                break
            except WrongMove:
                # The study may have started or ended in between. If so, try again.
                again = await run_in_threadpool(self.queue.find, name)
                if again.state is job.state:
                    raise
        self.supervisor.wake()
        return await self._view(name, job)

    async def _view(self, name: str, job: QueuedJob | None) -> dict[str, Any]:
        head = self._head(name, job)
        found = await self.status(name, head["state"])
        body = json.loads(found.body)
        if found.status != 200 and Problem.of_json(body).kind in _NOTED:
            head["note"] = head["note"] or body["detail"]
        return {**head, "progress": body if found.status == 200 else None, "links": links(name)}

    async def _with_summary(self, name: str, job: QueuedJob | None) -> dict[str, Any]:
        # What a running study or experiment is doing changes even while its results do not.
        if job is not None and job.active:
            response = await self.responses.fresh(ResultQuery.of(name, "summary", at_work=True))
        else:
            response = await self.responses.get(ResultQuery.of(name, "summary"))
            experiment = json.loads(response.body)["experiment"] if response.status == 200 else None
            if experiment is not None and experiment["state"] != StudyState.FINISHED:
                response = await self.responses.fresh(ResultQuery.of(name, "summary"))
        return {**self._head(name, job), "summary": json.loads(response.body) if response.status == 200 else None}

    def _head(self, name: str, job: QueuedJob | None) -> dict[str, Any]:
        head = _head(name, job)
        # Without a shared queue, this service runs every study, whatever its target.
        if job is not None and job.state is JobState.QUEUED and shared_url() is not None:
            missing = [target for target in job.targets if target not in self.config.targets]
            if missing:
                head["note"] = (
                    f"a study waits until a service that has all its targets is running, but this service does not "
                    f"have {', '.join(missing)}; start a service that has it, or cancel the study"
                )
        return head


def links(name: str) -> Mapping[str, str]:
    """Return the addresses of a study's resources, by name."""
    own = f"/v1/studies/{name}"
    return {
        "self": own,
        "trials": f"{own}/trials",
        "front": f"{own}/front",
        "grid": f"{own}/grid",
        "report": f"{own}/report",
        "events": f"{own}/events",
        "recommendation": f"/v1/recommendation?study={name}",
        "page": f"/studies/{name}",
    }


def _head(name: str, job: QueuedJob | None) -> dict[str, Any]:
    if job is None:
        return document(
            "study", name=name, state=RECORDED, targets=[],
            submitted_by="", submitted_at=None, changed_at=None, crashes=0, note="",
        )  # fmt: skip
    return document(
        "study",
        name=job.name,
        state=str(job.state),
        targets=list(job.targets),
        submitted_by=job.submitted_by,
        submitted_at=job.submitted_at,
        changed_at=job.changed_at,
        crashes=job.crashes,
        note=job.note,
    )
