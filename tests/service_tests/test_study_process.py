"""The file that identifies a study's process, as this release and earlier releases write it."""

import json
import os
from pathlib import Path

import psutil
import pytest

from runners.clusters.processes import ProcessIdentity
from tuner.service.worker.study_process import StudyProcess


@pytest.mark.parametrize("form", ["now", "earlier"])
def test_a_process_that_another_service_started_is_recognised(tmp_path: Path, form: str) -> None:
    own = ProcessIdentity.of()
    now = {"attempt": "a1", "pid": os.getpid(), "started": own.started, "after": 3}
    earlier = {"attempt": "a1", "pid": os.getpid(), "started_s": psutil.Process().create_time(), "after": 3}
    told = now if form == "now" else earlier
    (tmp_path / "service-process.json").write_text(json.dumps(told), encoding="utf-8")
    adopted = StudyProcess.adopt(tmp_path)
    assert adopted is not None
    assert (adopted.running, adopted.after) == (True, 3)
    (tmp_path / "service-process.json").write_text(json.dumps({**told, "started": f"{own.started}0"}), encoding="utf-8")
    adopted = StudyProcess.adopt(tmp_path)
    assert adopted is not None
    assert not adopted.running
