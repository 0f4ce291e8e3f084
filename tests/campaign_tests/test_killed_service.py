"""The service, the processes of its studies and its reader are killed at random, and all studies still complete."""

import contextlib
import os
import random
import time
from collections import Counter
from pathlib import Path

import psutil

from tests.builders.studies import on_record
from tests.campaign_form import LONG_CAMPAIGN
from tests.service_tests.serving import Serving, at_work, eventually, of_studies, serving, state_of, study_file
from tuner.model.errors import StudyError
from tuner.results.study_results import load_results

KILLS = 30 if LONG_CAMPAIGN else 6
STUDIES = 3
TRIALS = 200 if LONG_CAMPAIGN else 60


def test_all_studies_complete_whatever_is_killed(tmp_path: Path) -> None:
    root, rng, kills = tmp_path / "studies", random.Random(7), Counter[str]()
    names = [f"study-{number}" for number in range(STUDIES)]
    brings = Brings(root)
    with serving(root) as served:
        for name in names:
            served.client.submit(study_file(name, trials=TRIALS))
    while sum(kills.values()) < KILLS and not _all_complete(root, names):
        with serving(root) as served:
            while sum(kills.values()) < KILLS and not _all_complete(root, names):
                time.sleep(rng.uniform(0.5, 4.0))
                what = rng.choice(("service", "study", "study", "reader"))
                if what == "service":
                    served.kill()
                    kills[what] += 1
                    break
                found = _of(what, served)
                if found is not None and (what != "study" or brings(found, names)):
                    found.kill()
                    kills[what] += 1
    with serving(root) as served:
        for name in names:
            eventually(lambda name=name: _complete(served, name), 240)  # type: ignore[misc]
    for name in names:
        assert load_results(root / name).finished
        # `on_record` also checks that no trial is stored twice.
        searched = [trial for trial in on_record(root / name) if trial.kind in ("baseline", "search")]
        assert len(searched) == TRIALS
    assert eventually(lambda: not of_studies(root))
    report = os.environ.get("KAFKA_TUNER_KILLS")
    if report:
        Path(report).write_text(f"{dict(kills)}\n")


class Brings:
    """Tells which studies may be killed again.

    A study that was killed must first store a new trial, because the service gives up a study that ends several times
    without one.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._before: dict[str, int] = {}

    def __call__(self, process: psutil.Process, names: list[str]) -> bool:
        """Return whether the process's study has stored a trial since it was killed last."""
        try:
            words = process.cmdline()
            name = next((name for name in names if name in words), None)
            if name is None or (ended := len(on_record(self._root / name))) <= self._before.get(name, -1):
                return False
        except (psutil.Error, StudyError):
            return False
        self._before[name] = ended
        return True


def _complete(served: Serving, name: str) -> bool:
    state = state_of(served, name)
    assert state != "failed", served.client.study(name)
    return state == "complete"


def _all_complete(root: Path, names: list[str]) -> bool:
    try:
        return all(load_results(root / name).finished for name in names)
    except Exception:  # noqa: BLE001 - some studies have not begun yet
        return False


def _of(what: str, served: Serving) -> psutil.Process | None:
    if what == "study":
        return next(iter(at_work(served.root)), None)
    for process in of_studies(served.root):
        with contextlib.suppress(psutil.Error):
            if process.ppid() == served.process.pid and "--multiprocessing-fork" in process.cmdline():
                return process
    return None
