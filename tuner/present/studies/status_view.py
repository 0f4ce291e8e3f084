"""The status of a study as plain text, for terminals and for the service."""

from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from runners.reporting import counted, duration, in_bytes
from tuner.model.progress import StudyState
from tuner.present.number_text import number, title
from tuner.present.studies.status import BestSoFar, SizeStatus, Status
from tuner.results.study_results import SIMULATED


def status_text(status: Status) -> RenderableType:
    """Return the status of a study as plain text."""
    left = "" if status.left_s is None else f", about {duration(status.left_s)} left"
    parts: list[RenderableType] = [Text(f"{status.study}: {status.state}{left}", style="bold")]
    if status.simulated:
        parts.append(Text(SIMULATED, style="yellow"))
    if status.doing:
        parts.append(Text(f"now: {status.doing}"))
    if status.state == StudyState.NOT_STARTED:
        parts.append(Text("nothing was measured here yet; to start it, give its study file to tuner run"))
    elif status.error and status.state in (StudyState.INTERRUPTED, StudyState.FAILED):
        parts.append(Text(f"an error ended it: {status.error}", style="yellow"))
        parts.append(Text("the command that began it continues it, once the cause of the error is gone"))
    elif status.state == StudyState.INTERRUPTED:
        parts.append(Text("no process is running this study; the command that began it continues it"))
    elif status.state == StudyState.FAILED:
        parts.append(Text("an error ended it; the command that began it shows the error again, or continues the study"))
    elif status.state == StudyState.FINISHED and not any(size.done or size.confirming for size in status.sizes):
        parts.append(Text("nothing was measured: the limits left too little time or too few bytes for a trial"))
    headings = ("record bytes", "search trials", "measured after the search", "failed", "on the front")
    table = Table(*(Column(heading, justify="right") for heading in headings))
    for size in status.sizes:
        of = "" if size.total is None else f" of {size.total}"
        counts = (f"{size.done}{of}", size.confirming, size.failed, size.front)
        table.add_row(Text(size.record_bytes), *map(str, counts))
    parts.append(table)
    for size in status.sizes:
        if size.recommended:
            parts += [Text(f"recommended, {in_bytes(size.record_bytes)}, {each}") for each in size.recommended]
        elif size.best:
            parts.append(Text(f"best so far, {in_bytes(size.record_bytes)}: {_best(size)}"))
    parts += [Text(f"{in_bytes(size.record_bytes)}: {size.raced}") for size in status.sizes if str(size.raced)]
    if status.behind_mlflow:
        parts.append(Text(f"MLflow does not show {counted(status.behind_mlflow, 'trial')} yet", style="dim"))
    parts += [Text(f"failed: trial {trial}: {error}", style="yellow") for trial, error in status.failures]
    return Group(*parts)


def _best(size: SizeStatus) -> str:
    """Return the best value of each objective as text.

    The text claims no gain, because these values were not measured alternating with the baseline.
    """
    return "; ".join(f"{title(best.metric)} {number(best.value)} ({_found(best)})" for best in size.best)


def _found(best: BestSoFar) -> str:
    if best.value == best.baseline:
        return "the baseline"
    return f"trial {best.trial}" + ("" if best.baseline is None else f"; baseline {number(best.baseline)}")
