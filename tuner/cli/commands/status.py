"""`tuner status` shows the progress of a study."""

import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from rich.live import Live

from tuner.cli.options import common_options
from tuner.cli.options.study_arguments import StudyOrAll, Watch, check_named
from tuner.cli.output import print_json
from tuner.cli.printing.studies import print_studies_on_this_host
from tuner.present.console import OUT
from tuner.present.studies.status import Status, status_of
from tuner.present.studies.status_view import status_text
from tuner.results.study_results import results_of
from tuner.storage.locations import find_study, storage_at
from tuner.storage.protocols import ResultsStore

_POLL_S: Final = 2.0


def status(
    study: StudyOrAll = None,
    watch: Watch = False,
    as_json: common_options.Json = False,
) -> None:
    """Show the progress of a study: trials done, best results so far, time left, current step, failures.

    Once the winners of a record size are confirmed, the command shows the recommended configs instead of the best
    results so far. Without a study, the command lists all studies, as `tuner studies` does.

    \b
    Examples:
        tuner status
        tuner status overnight
        tuner status overnight --watch
        tuner status overnight --json
    """
    if study is None:
        check_named(watch=watch)
        print_studies_on_this_host(as_json=as_json, as_csv=False)
        return
    folder = find_study(study)
    statuses = _statuses(folder) if watch else iter([next(_statuses(folder))])
    if as_json:
        for status_now in statuses:
            # With --watch, each change is one JSON document on one line.
            print_json(status_now.as_json(), indent=None if watch else 2)
    elif watch and OUT.is_terminal:
        with Live(console=OUT, auto_refresh=False) as live:
            for status_now in statuses:
                live.update(status_text(status_now), refresh=True)
    else:
        for status_now in statuses:
            OUT.print(status_text(status_now))


def _statuses(folder: Path) -> Iterator[Status]:
    """Yield the status of a study now, and again at every change until the study no longer runs.

    The trials are read again only when a new trial has ended, because frequent reading could disturb the measurements.
    """
    with closing(storage_at().read(folder)) as store:
        results = results_of(store, folder)
        last, shown = _last_sequence(store, sum(len(size.trials) for size in results.sizes)), None
        while True:
            status = status_of(results, store.progress(), datetime.now(UTC))
            if status != shown:
                yield status
            if not status.running:
                return
            shown = status
            time.sleep(_POLL_S)
            newest = _last_sequence(store, last)
            if newest != last:
                results, last = results_of(store, folder), newest


def _last_sequence(store: ResultsStore, after: int) -> int:
    return max((sequence for sequence, _ in store.trials(after)), default=after)
