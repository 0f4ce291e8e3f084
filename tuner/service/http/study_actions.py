"""Carries out what clients ask of studies: to confirm, verify, fork, remove or plan one, or to copy it to MLflow."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from runners.reporting import silent
from search_spaces.client import Client, client_of
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.errors import ConfigError
from search_spaces.properties.catalogue import Value
from tuner.execution.budgets.least_limits import check_limits
from tuner.execution.studies.forking import ForkedTrials, begin_fork
from tuner.execution.studies.verifying import judgement_before, measuring_like
from tuner.model.document import document
from tuner.model.errors import ProblemKind, RequestRefused, StudyNotFound
from tuner.model.goals import Goal
from tuner.model.spec import StudySpec, check_rounds
from tuner.model.study_files import SERVICE_FILES, numbered_name, verification_stem
from tuner.present.console import text_of
from tuner.present.studies.plan_view import plan_json, plan_warning, print_plan
from tuner.results.comparisons.verification import FEWEST_ROUNDS, MOST_ROUNDS, VerificationTerms, verification_rounds
from tuner.service.errors import NameTaken
from tuner.service.http.studies import NAME_PATTERN, Studies
from tuner.service.operator_limits import LimitedValue, limited_json
from tuner.service.problems import Problem
from tuner.service.queue.job import JobState, Task, TaskKind
from tuner.service.responses.results_cache import no_study
from tuner.service.submission import spec_of, submission_of
from tuner.storage.folder_files import remove_files
from tuner.storage.locations import storage_at
from tuner.storage.protocols import ResultsStore
from tuner.study_file import StudyFileError, measuring_text, renamed

Rounds = Annotated[int, Field(ge=2, le=1000)]
Share = Annotated[float, Field(ge=0, le=0.99, allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)]

_FIELDS: Final = {
    "workload.record_bytes": "record_bytes",
    "workload.saturate.measured": "seconds",
    "workload.paced.measured": "seconds",
    "workload.saturate.warmup": "warmup",
    "workload.paced.warmup": "warmup",
}
"""The fields of a verification that make keys of a study file with other names."""


class VerificationRequest(BaseModel):
    """A producer config that is measured alternating with a baseline."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    file: Annotated[str, Field(min_length=1, max_length=300)]
    """Name of the config in messages, such as the path of its properties file."""
    client: Annotated[str, Field(max_length=100)] | None = None
    """Client that is measured: `librdkafka` (default), `java` or `java:VERSION`. With `study`, that of the study."""
    config: dict[str, Value]
    """Producer properties of this client that are verified."""
    study: Annotated[str, Field(pattern=NAME_PATTERN)] | None = None
    """Study to measure like: its target, workload, fixed rates and baseline. It must have been submitted."""
    record_bytes: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    """Record sizes such as `100,1000`, or a mix such as `100:70,1000:30`. Default: 1000, or all sizes of `study`."""
    target: Annotated[str, Field(max_length=100)] | None = None
    """Name of the cluster to measure on. Not with `study`."""
    baseline: dict[str, Value] | None = None
    """Producer properties of the baseline. Default: the client's defaults. Not with `study`."""
    seconds: Seconds | None = None
    """Seconds of load that are measured, in each phase. Default: 10. Not with `study`."""
    warmup: Seconds | None = None
    """Seconds of load before the measurement, in each phase. Default: 2. Not with `study`."""
    rounds: Rounds = FEWEST_ROUNDS
    """Minimum number of rounds; with a lower `max_rounds`, that number."""
    max_rounds: Rounds = MOST_ROUNDS
    """Maximum number of rounds; at least `rounds`. Default: 20, or `rounds` if that is more."""
    width_ratio: Annotated[float, Field(ge=0.001, le=10, allow_inf_nan=False)] = 0.1
    """Width of a gain's confidence interval, relative to the gain, at which no more rounds are added."""
    min_gain: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """Pass only if the whole interval of every gain is at or above this number."""
    tolerance_ratio: Share = 0.0
    """How much worse than the baseline a metric may be: 0.05 for 5 percent."""
    allow_weaker: bool = False
    """Whether a guarantee that is weaker than the baseline's is accepted."""

    def terms(self, client: Client) -> VerificationTerms:
        """Return the conditions under which the config passes, if this client is measured.

        Raises:
            RequestRefused: The client does not accept the config, or `max_rounds` is less than `rounds`.
        """
        fields_set = self.model_fields_set
        fewest, most = verification_rounds(
            self.rounds if "rounds" in fields_set else None, self.max_rounds if "max_rounds" in fields_set else None
        )
        try:
            config = ProducerConfig.parse(self.config, client)
        except ConfigError as error:
            raise RequestRefused(str(error), "config") from None
        return VerificationTerms(
            config=config,
            rounds=fewest,
            max_rounds=most,
            width_ratio=self.width_ratio,
            min_gain=self.min_gain,
            tolerance_ratio=self.tolerance_ratio,
            allow_weaker=self.allow_weaker,
            keeps_floor=self.study is not None,
        )


@dataclass(frozen=True, slots=True)
class StudyActions:
    """Checks a client's request, and puts the task into the queue or does it immediately.

    Attributes:
        studies: The studies of the service.
    """

    studies: Studies

    async def confirm(self, name: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """Put another confirmation of a study into the queue, and return the study.

        Raises:
            JobNotFound: No study of this name was submitted.
            WrongMove: The study is waiting or running, or was cancelled.
            Problem: The study has no rounds.
        """

        def check() -> None:
            spec = self._spec(self.studies.queue.study_file(name))
            if not spec.confirm.rounds and not options.get("rounds"):
                raise Problem.of_value(
                    "query.rounds", f"a confirmation needs rounds, but {name} has confirm.rounds: 0; give rounds"
                )

        await run_in_threadpool(check)
        return await self._assigned(name, TaskKind.CONFIRM, options)

    async def sync(self, name: str) -> dict[str, Any]:
        """Put the task of copying a study's latest results to MLflow into the queue, and return the study.

        Raises:
            JobNotFound: No study of this name was submitted.
            WrongMove: The study is waiting or running, or was cancelled.
            Problem: This service writes nothing to MLflow.
        """
        if not self.studies.config.mirrored:
            raise Problem(ProblemKind.INVALID, "this service copies no studies to MLflow (mlflow.enabled: false)")
        return await self._assigned(name, TaskKind.SYNC, {})

    async def remove(self, name: str) -> dict[str, Any]:
        """Remove a study for good: from the queue, from the storage, and its folder.

        Raises:
            StudyNotFound: There is no such study.
            WrongMove: The study is waiting or running.
            StudyBusy: A process that the service did not start is running the study.
            ResultsUnwritable: The system refused to remove the folder. The study stays in the queue.
        """

        def take() -> None:
            folder, queue, storage = self._folder(name), self.studies.queue, storage_at()
            with queue.removing(name) as submitted:
                try:
                    storage.remove(folder, name, silent)
                except StudyNotFound:
                    if not submitted:
                        raise StudyNotFound(f"there is no study {name}") from None
                    remove_files(folder, SERVICE_FILES)  # the study was cancelled before it started

        await run_in_threadpool(take)
        return document("removed", removed=[name])

    async def fork(self, source: str, name: str, text: str | None, submitted_by: str) -> dict[str, Any]:
        """Make a new study with those trials of another study that fit the new settings. The new study is paused.

        Args:
            source: The name of the other study.
            name: The name of the new study.
            text: The study file of the new study; None for the settings of the other study.
            submitted_by: The name of the client's token.

        Raises:
            JobNotFound: The other study was not submitted, and `text` is None.
            NameTaken: A study with the new name exists.
            StudyChanged: The workload, the target, the baseline or the executor differs.
            RequestRefused: No trial fits.
            Problem: The study file names another study.
        """
        return await run_in_threadpool(self._fork, source, name, text, submitted_by)

    def _fork(self, source: str, name: str, text: str | None, submitted_by: str) -> dict[str, Any]:
        queue, storage, folder = self.studies.queue, storage_at(), self._folder(name)
        if text is None:
            text = renamed(queue.study_file(source), name)
        submission, changes = submission_of(text, self.studies.config, submitted_by=submitted_by)
        if submission.name != name:
            raise Problem(
                ProblemKind.INVALID, f"the study file must name the new study {name}, but it names {submission.name}"
            )
        spec = self._spec(text)
        with closing(self._stored(source)) as store:
            taken = ForkedTrials.of(spec, source, store)
            queue.submit(replace(submission, state=JobState.PAUSED), must_be_new=True)
            try:
                if not begin_fork(storage, folder, spec, text, store, taken.trials, silent):
                    raise NameTaken(f"the new study must have a new name, but there is already a study {name}")
            except BaseException:
                queue.remove(name)
                raise
        return {**taken.as_json(name), "limited": limited_json(changes)}

    async def verify(self, body: VerificationRequest, submitted_by: str) -> tuple[dict[str, Any], bool]:
        """Put the verification of a config into the queue.

        Returns:
            The new study and True. If the config is rejected without any measurement, the JSON of the judgement and
            False.

        Raises:
            ConfigError: The client does not accept the config.
            StudyFileError: A setting is wrong.
            JobNotFound: The study whose load is to be used was not submitted.
            RequestRefused: The config does not differ from the baseline, the study whose load is to be used did not
                measure a record size, or `max_rounds` is less than `rounds`.
            Problem: A setting can't be given together with a study whose load is to be used.
        """
        with _naming_fields(body):
            queued = await run_in_threadpool(self._verify, body, submitted_by)
        if isinstance(queued, tuple):
            name, changes = queued
            self.studies.supervisor.wake()
            return {**await self.studies.show(name), "limited": limited_json(changes)}, True
        return queued, False

    def _verify(
        self, body: VerificationRequest, submitted_by: str
    ) -> tuple[str, tuple[LimitedValue, ...]] | dict[str, Any]:
        """Put a study that verifies a config into the queue.

        Returns:
            The name of the study and the values that the operator's limits changed, or the JSON of a judgement that
            rejects the config.
        """
        while True:
            name = self._free_name(verification_stem(body.file))
            text, rates = self._like(body, name) if body.study is not None else (_measuring(body, name), {})
            spec = self._spec(text, searched=False)
            if body.client is not None and client_of(body.client) != spec.client:
                raise RequestRefused(f"client must be that of {body.study}: {spec.client.identity}", "client")
            terms = body.terms(spec.client)
            before = judgement_before(spec, terms, body.file, "the baseline")
            if before.refused:
                return before.as_json()
            submission, changes = submission_of(text, self.studies.config, submitted_by=submitted_by, searched=False)
            options = {"terms": terms.as_json(), "rates": rates, "file": body.file}
            with suppress(NameTaken):  # another client has just taken the name
                self.studies.queue.submit(replace(submission, task=Task(TaskKind.VERIFY, options)), must_be_new=True)
                return name, changes

    def _like(self, body: VerificationRequest, name: str) -> tuple[str, dict[str, float]]:
        """Return a study file with the load of another study, and the fixed rate of each record size."""
        fixed = {"target": body.target, "baseline": body.baseline, "seconds": body.seconds, "warmup": body.warmup}
        if excluded := [key for key, value in fixed.items() if value is not None]:
            rule = f"study decides how to measure, so leave these out: {', '.join(excluded)}"
            errors = tuple({"line": None, "key": f"body.{key}", "detail": rule} for key in excluded)
            raise Problem(ProblemKind.INVALID, rule, errors)
        study = str(body.study)
        text = self.studies.queue.study_file(study)
        with closing(self._stored(study)) as store:
            facts = store.facts()
        return measuring_like(text, name, study, facts, body.record_bytes, "record_bytes")

    def _free_name(self, stem: str) -> str:
        """Return `STEM-1`, or the name with the next number that no study has."""
        root = self.studies.config.root
        folders = (path.name for path in root.glob(f"{stem}-*"))
        return numbered_name(stem, (*self.studies.queue.names(), *storage_at().names(root), *folders))

    async def plan(self, text: str, mb_per_s: float, *, as_text: bool) -> dict[str, Any] | str:
        """Return what a study would do, as JSON values or as text.

        Args:
            text: The study file.
            mb_per_s: The throughput that the client expects at full speed.
            as_text: Whether to return the text that `tuner plan` prints.

        Raises:
            StudyFileError: The study file has mistakes.
            LimitTooLow: A limit leaves too little time or too few bytes.
        """

        def planned() -> dict[str, Any] | str:
            submission, changes = submission_of(text, self.studies.config)
            spec = self._spec(text)
            check_limits(spec)
            spaces = spec.spaces
            # The addresses of the clusters belong to the operator.
            record = plan_json(spec, spaces, mb_per_s, submission.targets)
            if as_text:
                return text_of(lambda out: print_plan(spec, spaces, record, out))
            return {**record, "warnings": [*map(str, changes), *filter(None, [plan_warning(spec, mb_per_s)])]}

        return await run_in_threadpool(planned)

    async def _assigned(self, name: str, kind: TaskKind, options: Mapping[str, Any]) -> dict[str, Any]:
        await run_in_threadpool(self.studies.queue.assign, name, kind, options)
        self.studies.supervisor.wake()
        return await self.studies.show(name)

    def _spec(self, text: str, *, searched: bool = True) -> StudySpec:
        return spec_of(text, self.studies.config, searched=searched)[0]

    def _stored(self, name: str) -> ResultsStore:
        """Open the results of a study for reading.

        Raises:
            Problem: The study has no results.
        """
        try:
            return storage_at().read(self._folder(name))
        except StudyNotFound:  # its text names the operator's folder or database
            raise no_study(name) from None

    def _folder(self, name: str) -> Path:
        return self.studies.config.root / name


def confirm_options(
    goals: list[Goal] | None,
    rounds: int | None,
    max_rounds: int | None,
    width_ratio: float | None,
    undo_rounds: int | None,
) -> dict[str, Any]:
    """Return the settings that a request gives for a further confirmation, as JSON values.

    Raises:
        RequestRefused: `max_rounds` is less than `rounds`.
    """
    check_rounds(rounds, max_rounds)
    given = {
        "goals": [str(goal) for goal in goals] if goals else None,
        "rounds": rounds,
        "max_rounds": max_rounds,
        "width_ratio": width_ratio,
        "undo_rounds": undo_rounds,
    }
    return {name: value for name, value in given.items() if value is not None}


@contextmanager
def _naming_fields(body: VerificationRequest) -> Iterator[None]:
    """Name the fields of a request in errors, also those about the study file that is made of them.

    Raises:
        Problem: The block raised a `RequestRefused` about a field. Or it raised a `StudyFileError`, and the study file
            is made of the request alone.
    """
    try:
        yield
    except RequestRefused as error:
        if not error.setting:
            raise
        raise Problem.of_value(f"body.{error.setting}", str(error)) from None
    except StudyFileError as error:
        if body.study is not None:
            raise
        problems = dict.fromkeys((f"body.{_field_of(each.key)}", each.what) for each in error.problems)
        raise Problem(
            ProblemKind.INVALID,
            "; ".join(f"{field}: {what}" for field, what in problems),
            tuple({"line": None, "key": field, "detail": what} for field, what in problems),
        ) from None


def _field_of(key: str) -> str:
    """Return the field of a request that set a key of the study file; the key itself if no field did."""
    for start, field in _FIELDS.items():
        if key == start or key.startswith((f"{start}.", f"{start}[")):
            return field
    return key


def _measuring(body: VerificationRequest, name: str) -> str:
    """Return the study file of a study that measures a config alternating with the baseline."""
    return measuring_text(
        name,
        body.record_bytes or "1000",
        target=body.target,
        client=body.client,
        baseline=body.baseline,
        measured_s=body.seconds,
        warmup_s=body.warmup,
    )
