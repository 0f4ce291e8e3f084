"""How `tuner studies` lists studies, with and without a service, and `tuner status` without a study."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime

from tuner.cli.output import print_result
from tuner.model.document import document
from tuner.model.errors import EXPECTED, StudyNotFound
from tuner.model.facts import EXPERIMENT
from tuner.present.console import OUT, say, warn
from tuner.present.studies.status import status_of
from tuner.present.studies.study_list import (
    UNREADABLE,
    ListedStudy,
    listed_experiment,
    listed_study,
    newest_first,
    study_csv,
    study_lines,
)
from tuner.results.study_results import results_of
from tuner.storage.locations import storage_at, studies_location_text, studies_root


def print_studies_on_this_host(*, as_json: bool, as_csv: bool) -> None:
    """Print the list of the studies of this host's storage, newest first."""
    listed = newest_first([*_studies_on_this_host()])
    print_studies(listed, studies_location_text(storage_at(), studies_root()), as_json=as_json, as_csv=as_csv)


def print_studies(studies: list[ListedStudy], where: str, *, as_json: bool, as_csv: bool) -> None:
    """Print the list of studies in the format that the user asked for; say `where` they would be if there is none."""
    if not studies:
        say(f"there is no study yet {where}; `tuner run` makes one")
    print_result(
        document("studies", studies=[each.as_json() for each in studies]),
        lambda: OUT.show(*study_lines(studies) if studies else ()),
        lambda: study_csv(studies),
        as_json=as_json,
        as_csv=as_csv,
    )


def _studies_on_this_host() -> Iterator[ListedStudy]:
    """Yield the studies of this host's storage; a study whose results can't be read is listed with a warning."""
    root, storage = studies_root(), storage_at()
    for name in storage.names(root):
        try:
            with closing(storage.read(root / name)) as store:
                facts, progress = store.facts(), store.progress()
                if EXPERIMENT in facts:
                    yield listed_experiment(name, facts, progress, (trial for _, trial in store.trials()))
                    continue
                results = results_of(store, root / name)
        except StudyNotFound:
            continue  # another process has removed the study in the meantime
        except (*EXPECTED, OSError) as error:
            warn(f"{name}: {error}")
            yield ListedStudy(name, UNREADABLE)
            continue
        yield listed_study(name, results.facts, status_of(results, progress, datetime.now(UTC)).as_json())
