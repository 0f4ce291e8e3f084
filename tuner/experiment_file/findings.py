"""Makes a paper's findings and figures from the sections of an experiment file."""

import itertools
from collections.abc import Iterator

from tuner.experiment_file.sections import CaseSection, FindingSection, PaperSection
from tuner.model.paper import Comparison, Finding, PaperValue, SuspectedArtefact


def is_complete(section: FindingSection) -> bool:
    """Return whether a finding says what to compare: `of` with `over` or with `limit`, or an `order`, or `along`."""
    if section.along:
        return not (section.over or section.order or section.each or section.limit is not None)
    for case in section.each or [CaseSection()]:
        of, over = section.of or case.of, section.over or case.over
        if bool(section.order) == bool(of) or (of and (over is None) == (section.limit is None)):
            return False
    return True


def finding_of(section: FindingSection) -> Finding:
    """Return a statement of a paper with the comparisons that check it."""
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


def paper_value_of(section: PaperSection) -> PaperValue:
    """Return what a paper measured for a row."""
    return PaperValue(row=section.row, values=section.values, source=section.source)
