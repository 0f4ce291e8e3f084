"""Answers made from a study's record. Runs in a process of its own: see `reader.py`.

A study with thousands of trials takes a second to read, and its pictures import half of scientific Python: neither time
nor memory of that should be the server's. The last studies that were asked about are kept.
"""

import io
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, cast

from rich.console import Console

from tuner.model.errors import NoFeasibleConfig, RecordDamaged, StudyError, StudyNotFound
from tuner.model.spec import Goal
from tuner.model.trial import Trial
from tuner.present.export import Format, export_all
from tuner.results.recommendation import Conditions, Recommendation, recommend_for
from tuner.results.study_results import TOTALS, SizeResults, StudyResults, results_of
from tuner.service.cache.answer import CSV, HTML, JSON, PNG, TEXT, YAML, Answer, Ask
from tuner.service.http.problems import Problem, problem_of
from tuner.storage.protocols import ResultsStore, Storage

EVERY_RECOMMENDATION: Final = "recommendations"
_KEPT_TRIALS: Final = 6_000
_WIDTH: Final = 100
_MEDIA_TYPES: Final[Mapping[Format, str]] = MappingProxyType(
    {Format.JSON: JSON, Format.LIBRDKAFKA: JSON, Format.SPRING: YAML}
)


class Reading:
    """Answers questions about the studies below one root.

    Args:
        storage: Where they are recorded.
        root: Their folder on this host.
    """

    def __init__(self, storage: Storage, root: Path) -> None:
        self._storage = storage
        self._root = root
        self._kept: OrderedDict[str, tuple[tuple[Any, ...], StudyResults]] = OrderedDict()
        self._last: dict[tuple[str, Any], int] = {}

    def answers(self, ask: Ask) -> list[tuple[Ask, Answer]]:
        """The answer to a question; to `EVERY_RECOMMENDATION`, those to all that pollers are likely to ask."""
        if ask.what != EVERY_RECOMMENDATION:
            return [(ask, self.answer(ask))]
        try:
            with closing(self._storage.read(self._root / ask.study)) as store:
                sizes = [size.record_bytes for size in self.results(ask.study, store).sizes]
        except StudyError:
            return []
        asked = [
            Ask.of(ask.study, "recommendation", record_bytes=size, goal=goal and str(goal), form=str(form))
            for size in (None, *sizes)
            for goal in (None, *Goal)
            for form in Format
        ]
        return [(each, self.answer(each)) for each in asked]

    def answer(self, ask: Ask) -> Answer:
        """The answer, whatever it is: what goes wrong is one too."""
        try:
            with closing(self._storage.read(self._root / ask.study)) as store:
                return ANSWERS[ask.what](self, ask.study, store, dict(ask.given))
        except StudyNotFound:
            return Answer.of_problem(
                Problem(404, "not-found", f"{ask.study} has no results: there is none, or not yet")
            )
        except RecordDamaged as error:
            return Answer.of_problem(Problem(404, "not-found", str(error)))
        except Exception as error:  # noqa: BLE001 - one question must not end the process that answers all of them
            problem = problem_of(error)
            if problem.status == 500:
                import traceback

                traceback.print_exc()
            return Answer.of_problem(problem)

    def results(self, study: str, store: ResultsStore) -> StudyResults:
        """The study's results as its record is now."""
        kept = self._kept.pop(study, None)
        if kept is None or kept[0] != self.stamp(study, store):
            facts, noting = store.facts(), _Noting(store)
            found = results_of(cast(ResultsStore, noting), self._root / study)
            self._last[study, facts.get("study_id")] = noting.last
            kept = (_stamp_of(noting.last, facts), found)
        self._kept[study] = kept
        while sum(trials_in(found) for _, found in self._kept.values()) > _KEPT_TRIALS and len(self._kept) > 1:
            self._kept.popitem(last=False)
        return kept[1]

    def stamp(self, study: str, store: ResultsStore) -> tuple[Any, ...]:
        """Changes whenever the record does."""
        facts = store.facts()
        return _stamp_of(self.last(study, store, facts.get("study_id")), facts)

    def last(self, study: str, store: ResultsStore, study_id: Any) -> int:
        """The record's last sequence number, which is how many trials it has; only new trials are read for it."""
        before = self._last.get((study, study_id), 0)
        newest = max((sequence for sequence, _ in store.trials(before)), default=before)
        self._last[study, study_id] = newest
        return newest


class _Noting:
    """A store that remembers how far its trials were read."""

    def __init__(self, store: ResultsStore) -> None:
        self._store = store
        self.last = 0

    def trials(self, after: int = 0) -> list[tuple[int, Trial]]:
        """See `ResultsStore.trials`."""
        found = self._store.trials(after)
        self.last = max((sequence for sequence, _ in found), default=after)
        return found

    def __getattr__(self, name: str) -> Any:
        """All else is the store's."""
        return getattr(self._store, name)


def _stamp_of(last: int, facts: Mapping[str, Any]) -> tuple[Any, ...]:
    return (last, repr(sorted(facts.items())))


def trials_in(results: StudyResults) -> int:
    """How many trials a study has."""
    return sum(len(size.trials) for size in results.sizes)


def _recommendation(reading: Reading, study: str, store: ResultsStore, given: Mapping[str, Any]) -> Answer:
    results = reading.results(study, store)
    form = Format(given.get("form", Format.JSON))
    goal = Goal(given["goal"]) if given.get("goal") else None
    conditions = Conditions(given.get("max_p99_ms"), given.get("min_mb_per_s"))
    asked = given.get("record_bytes")
    sizes = [asked] if asked is not None else [size.record_bytes for size in results.sizes]
    found: list[Recommendation] = []
    missing: list[str] = []
    for size in sizes:
        try:
            found.append(recommend_for(results, size, goal, conditions))
        except NoFeasibleConfig as error:
            missing.append(str(error))
    if missing or not found:
        raise NoFeasibleConfig("; ".join(missing) or f"{study} has no results yet: its first trial has not ended")
    return Answer.of(export_all(found, form), _MEDIA_TYPES.get(form, TEXT))


def _front(reading: Reading, study: str, store: ResultsStore, given: Mapping[str, Any]) -> Answer:
    from tuner.present.report.front_table import SCHEMA_VERSION, front_csv, front_record, front_rows

    results = reading.results(study, store)
    sizes = _sizes(results, given.get("record_bytes"))
    match given.get("form", "json"):
        case "csv":
            return Answer.of("".join(front_csv(size) for size in sizes), CSV)
        case "text":
            from tuner.present.text_view import print_front

            shown = [_as_text(partial(print_front, results, size, front_rows(size))) for size in sizes]
            return Answer.of("".join(shown), TEXT)
        case _:
            records = [front_record(results, size) for size in sizes]
            return Answer.of(
                {"schema_version": SCHEMA_VERSION, "kind": "fronts", "study": results.name, "fronts": records}
            )


def _status(reading: Reading, study: str, store: ResultsStore, given: Mapping[str, Any]) -> Answer:
    from tuner.present.report.status import status_of

    found = status_of(reading.results(study, store), store.progress(), datetime.now(UTC))
    if given.get("form") == "text":
        from tuner.present.text_view import status_text

        return Answer.of(_as_text(lambda out: out.print(status_text(found))), TEXT)
    return Answer.of(found.as_json())


def _summary(reading: Reading, study: str, store: ResultsStore, given: Mapping[str, Any]) -> Answer:
    """What a list of studies says of each; nothing is computed for it."""
    facts, progress = store.facts(), store.progress()
    names = ("target", "record_sizes", "objectives", "started_at", "finished_at", "trials_per_size", TOTALS)
    return Answer.of(
        {
            "trials": reading.last(study, store, facts.get("study_id")),
            **{name: facts.get(name) for name in names},
            "simulated": facts.get("client_version") == "simulated",
            "doing": str(progress.get("message") or ""),
            "updated_at": str(progress.get("updated_at") or ""),
        }
    )


def _trials(reading: Reading, study: str, store: ResultsStore, given: Mapping[str, Any]) -> Answer:
    after, limit = int(given.get("after", 0)), int(given.get("limit", 100))
    found = store.trials(after)[:limit]
    rows = [{"sequence": sequence, **trial.as_json()} for sequence, trial in found]
    for row in rows:
        row.pop("sampler_state", None)
    following = found[-1][0] if len(found) == limit and found else None
    return Answer.of({"schema_version": 1, "kind": "trials", "study": study, "trials": rows, "next_after": following})


def _report(reading: Reading, study: str, store: ResultsStore, given: Mapping[str, Any]) -> Answer:
    from tuner.present.report.page import report_page

    return Answer.of(report_page(reading.results(study, store)), HTML)


def _picture(reading: Reading, study: str, store: ResultsStore, given: Mapping[str, Any]) -> Answer:
    from tuner.present.report.pictures import draw_front
    from tuner.results.by_goal import labels, recommendations

    results = reading.results(study, store)
    (size,) = _sizes(results, given["record_bytes"])
    with tempfile.TemporaryDirectory(prefix="tuner-front-") as folder:
        path = Path(folder) / "front.png"
        draw_front(size, labels(recommendations(results, size)), path, heading=f"{size.record_bytes} B records")
        return Answer.of(path.read_bytes(), PNG)


def _stamp(reading: Reading, study: str, store: ResultsStore, given: Mapping[str, Any]) -> Answer:
    return Answer.of(repr(reading.stamp(study, store)), TEXT)


def _sizes(results: StudyResults, record_bytes: str | None) -> tuple[SizeResults, ...]:
    if record_bytes is None:
        return results.sizes
    size = results.size(record_bytes)
    if size is None:
        there = ", ".join(each.record_bytes for each in results.sizes) or "none yet"
        raise Problem(404, "not-found", f"a record size must be one of the study's ({there}), but got {record_bytes}")
    return (size,)


def _as_text(show: Callable[[Console], None]) -> str:
    out = Console(file=io.StringIO(), width=_WIDTH, highlight=False, no_color=True)
    show(out)
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


ANSWERS: Final[Mapping[str, Callable[[Reading, str, ResultsStore, Mapping[str, Any]], Answer]]] = MappingProxyType(
    {
        "recommendation": _recommendation,
        "front": _front,
        "status": _status,
        "summary": _summary,
        "trials": _trials,
        "report": _report,
        "picture": _picture,
        "stamp": _stamp,
    }
)
