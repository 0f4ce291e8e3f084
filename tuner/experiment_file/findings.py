"""Makes a paper's findings from the sections of an experiment file, and checks which rows they compare."""

import itertools
from collections.abc import Iterator, Sequence

from tuner.experiment_file.sections import CaseSection, FindingSection, Settings
from tuner.model.experiment import ExperimentSpec
from tuner.model.paper import Comparison, Finding, SuspectedArtefact
from tuner.model.row import Row, setting_text
from tuner.study_file.errors import Problems


def is_complete(section: FindingSection) -> bool:
    """Return whether a finding says what to compare, in only one way.

    The ways are `of` with `over`, `of` with `limit`, `order`, and `along`.
    """
    if section.along:
        return not (section.over or section.order or section.each or section.limit is not None)
    for case in section.each or [CaseSection()]:
        of, over = section.of or case.of, section.over or case.over
        divisors = (over is not None) + (section.limit is not None)
        if (of or divisors) if section.order else (not of or divisors != 1):
            return False
    return True


def finding_of(section: FindingSection) -> Finding:
    """Return a finding of a paper with the comparisons that check it."""
    artefact = section.artefact
    return Finding(
        id=section.id,
        claim=section.claim,
        source=section.source,
        metric=section.metric,
        comparisons=tuple(_comparisons(section)),
        expect=section.expect,
        tolerance=section.tolerance,
        artefact=None if artefact is None else SuspectedArtefact(**artefact.model_dump()),
    )


def _comparisons(section: FindingSection) -> Iterator[Comparison]:
    if section.along:
        yield Comparison(section.of or {}, None, None, section.paper_ratio, section.along)
        return
    for case in section.each or [CaseSection(paper_ratio=section.paper_ratio)]:
        at = case.at or {}
        of = {**(section.of or {}), **at, **(case.of or {})}
        over = {**(section.over or {}), **at, **(case.over or {})}
        if section.order:
            for before, after in itertools.pairwise(section.order):
                yield Comparison({**after, **at}, {**before, **at}, None, case.paper_ratio)
        else:
            yield Comparison(of, over if section.limit is None else None, section.limit, case.paper_ratio)


def selection_problem(selected: Settings, rows: Sequence[Row], *, quick: bool) -> str:
    """Return why settings do not select exactly one row; empty if they do.

    In the quick version, they may also select no row.

    Args:
        selected: The settings, with the row's name as `row`.
        rows: All rows.
        quick: Whether this is the quick version, which may leave rows out.
    """
    count = sum(row.matches(selected) for row in rows)
    if count == 1 or (quick and not count):
        return ""
    words = " ".join(f"{name}={setting_text(value)}" for name, value in selected.items())
    return f"one row must have the settings {words}, but {count} rows have them"


def check_selected_rows(spec: ExperimentSpec, problems: Problems, *, quick: bool) -> None:
    """Check that each figure of the paper belongs to one row, and that no finding compares a row with itself.

    Earlier releases accepted both mistakes. So the stored file of an experiment is not checked, and its results stay
    readable.

    Args:
        spec: The experiment.
        problems: Collects the problems that are found.
        quick: Whether this is the quick version, which may leave rows out.
    """
    for position, value in enumerate(spec.paper_values):
        if problem := selection_problem(value.row, spec.rows, quick=quick):
            problems.add(("paper_values", position, "row"), problem)
    for position, finding in enumerate(spec.findings):
        for each in finding.comparisons:
            over = each.over
            if over is not None and any(row.matches(each.of) and row.matches(over) for row in spec.rows):
                problems.add(
                    ("findings", position),
                    "a finding must compare two different rows, but `of` and `over` select the same row; change one",
                )
