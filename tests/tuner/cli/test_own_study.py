"""The studies in which a command keeps what it measures: their names, and what is left of one that measured nothing."""

import re
from pathlib import Path

import pytest

from tests.helpers.command import tuner
from tests.helpers.invented_studies import baseline, study, trial
from tuner.cli.interruption import Interrupted
from tuner.cli.running.own_study import new_study
from tuner.model.trial import Trial, TrialKind
from tuner.storage.sqlite import FolderStorage


class Raced(FolderStorage):
    """A storage in which another process is quicker to create the first study."""

    def create(self, folder: Path) -> bool:
        if folder.name.endswith("-1"):
            folder.mkdir(parents=True)
        return super().create(folder)


def test_a_name_that_another_process_has_just_taken_is_not_used(studies: Path) -> None:
    with new_study("calibration", Raced(), silent=True) as first:
        assert (studies / first).exists()
        with new_study("calibration", FolderStorage(), silent=True) as second:
            assert (first, second) == ("calibration-2", "calibration-3")


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("calibrate", "--probes", "4", "--rate", "2000"), "calibration-1"),
        (("verify", "fast.properties"), "verify-fast-1"),
    ],
)
def test_a_wrong_address_leaves_no_study(
    studies: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("fast.properties").write_text("linger.ms=7\n")
    ended = tuner(*words, "--bootstrap", "127.0.0.1:9")
    assert ended.code == 3, ended.err
    if words[0] == "calibrate":
        assert re.search(r"8 measurements take about 1 min$", ended.err, re.M), ended.err
    assert f"{name} is not kept, because nothing that counts was measured" in ended.err
    assert not studies.exists()


def ended_by(error: BaseException, studies: Path, *measured: Trial) -> str:
    """Return what is said when an error ends a command that has measured this."""

    def command() -> None:
        with new_study("verify-mine", FolderStorage(), silent=True) as name:
            if measured:
                study(studies / name, *measured).close()
            raise error

    with pytest.raises(type(error)) as ended:
        command()
    return str(ended.value)


@pytest.mark.parametrize("measured", [(), (trial(0, kind=TrialKind.BURN_IN),)], ids=["nothing", "burn-in"])
def test_ctrl_c_before_the_first_trial_leaves_no_study(studies: Path, measured: tuple[Trial, ...]) -> None:
    said = ended_by(Interrupted(), studies, *measured)
    assert said == "nothing that counts was measured yet, so verify-mine-1 is not kept; the same command starts over"
    assert not studies.exists()


@pytest.mark.parametrize(
    "measured", [baseline(), trial(0, kind=TrialKind.BURN_IN, error="the broker is lost")], ids=["trial", "error"]
)
def test_what_was_measured_and_why_it_failed_are_kept(studies: Path, measured: Trial) -> None:
    assert ended_by(Interrupted(), studies, measured).startswith("what was measured is kept as verify-mine-1; ")
    ended_by(ValueError("a bug"), studies, baseline())
    assert {each.name for each in studies.iterdir()} == {"verify-mine-1", "verify-mine-2"}
