"""`tuner verify` and `tuner confirm` as a user types them, on the simulated cluster."""

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.helpers.command import arguments, tuner
from tuner.cli.options.verify_options import fewest_and_most_rounds
from tuner.model.goals import Goal
from tuner.model.trial import TrialKind
from tuner.results.study_results import SIMULATED, load_results
from tuner.storage.locations import storage_at

pytestmark = pytest.mark.usefixtures("studies")

QUICK = ("--executor", "simulated", "--warmup", "0", "--seconds", "1")
STUDY = """\
study: small
workload:
  record_bytes: [1000]
  saturate: {warmup: 0s, measured: 1s}
  paced: {warmup: 0s, measured: 1s}
search: {trials: 6, startup_trials: 3, burn_in_max: 1}
confirm: {rounds: 3, max_rounds: 3, nominee_repeats: 1, undo_rounds: 0}
executor: {kind: simulated}
"""


@pytest.fixture
def better(tmp_path: Path) -> Path:
    return written(tmp_path / "better.properties", "linger.ms=0.5\ncompression.type=lz4\n")


@pytest.fixture
def worse(tmp_path: Path) -> Path:
    return written(tmp_path / "worse.properties", "linger.ms=50\n")


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_a_better_config_passes_and_its_intervals_are_printed(better: Path, studies: Path) -> None:
    done = tuner("verify", str(better), *QUICK)
    assert done.code == 0, done.err
    for expected in (
        "1000 B",
        "throughput, MB/s",
        "latency p99, ms",
        "times as good: better",
        "one more round would show",
    ):
        assert expected in done.out
    assert SIMULATED in done.err
    assert done.err.count("warning: simulated") == 1
    assert [folder.name for folder in studies.iterdir()] == ["verify-better-1"]


def test_a_worse_config_ends_with_exit_code_99(worse: Path) -> None:
    done = tuner("verify", str(worse), *QUICK, "--json")
    assert done.code == 99
    assert "1000 B: latency p99: worse than the baseline" in done.err
    record = json.loads(done.out)
    assert (record["kind"], record["passed"], record["exit_code"]) == ("verification", False, 99)
    (size,) = record["sizes"]
    assert size["outcomes"]["latency_p99_ms"] == "worse"
    assert size["gains"]["latency_p99_ms"]["high"] < 1.0
    assert any(each.startswith("latency p99: ") for each in size["misses"])


def test_a_weaker_guarantee_is_a_failure_unless_it_is_allowed(tmp_path: Path, studies: Path) -> None:
    file = written(tmp_path / "unacknowledged.properties", "acks=0\nlinger.ms=0.5\n")
    few = (*QUICK, "--rounds", "2", "--max-rounds", "2", "--tolerance-ratio", "0.9")
    missed = tuner("verify", str(file), *few, "--json")
    assert missed.code == 99, missed.err
    assert not studies.exists(), "it is known beforehand, so nothing is measured"
    assert "the guarantee is weaker: acks=0, may reorder on retry, but the baseline's is acks=all" in missed.err
    assert "latencies could not be compared: the config or the baseline has no value, because with acks=0" in missed.err
    record = json.loads(missed.out)
    assert (record["guarantee"], record["baseline_guarantee"]) == (
        "acks=0, may reorder on retry",
        "acks=all, may reorder on retry",
    )
    assert (record["weaker"], record["passed"], record["exit_code"], len(record["misses"])) == (True, False, 99, 2)
    assert (record["study"], record["sizes"]) == (None, [])
    allowed = tuner("verify", str(file), *few, "--allow-weaker")
    assert allowed.code == 0, allowed.err
    assert "guarantee: acks=0, may reorder on retry; the baseline's is stronger: acks=all" in allowed.out
    assert "could not be compared: the config or the baseline has no value" in allowed.out
    assert "warning: the guarantee is weaker" in allowed.err


def test_a_baseline_without_acknowledgements_can_be_verified_against(tmp_path: Path) -> None:
    old = written(tmp_path / "old.properties", "acks=0\n")
    new = written(tmp_path / "new.properties", "acks=0\ncompression.type=lz4\n")
    words = ("--against", str(old), *QUICK, "--rounds", "2", "--max-rounds", "2", "--tolerance-ratio", "0.9")
    done = tuner("verify", str(new), *words)
    assert done.code == 0, done.err
    assert "guarantee: acks=0, may reorder on retry (the same as the baseline's)" in done.out
    assert "could not be compared: neither the config nor the baseline has a value" in done.out


def test_an_interval_that_says_nothing_has_an_exit_code_of_its_own(tmp_path: Path) -> None:
    file = written(tmp_path / "alike.properties", "linger.ms=5.5\n")
    done = tuner("verify", str(file), *QUICK, "--rounds", "2", "--max-rounds", "2", "--json")
    assert done.code == 98, done.err
    assert "1000 B: latency p99: undecided" in done.err
    record = json.loads(done.out)
    assert (record["passed"], record["exit_code"]) == (False, 98)
    assert any(each.startswith("latency p99: undecided") for each in record["sizes"][0]["undecided"])


def test_the_rounds_end_early_when_the_outcome_is_certain(worse: Path, studies: Path) -> None:
    for number, (tolerance, code) in enumerate((("0", 99), ("0.95", 0)), start=1):
        assert tuner("verify", str(worse), *QUICK, "-q", "--tolerance-ratio", tolerance).code == code
        (size,) = load_results(studies / f"verify-worse-{number}").sizes
        assert 2 < len([each for each in size.trials if each.kind is TrialKind.CONFIRM]) / 2 < 8


def test_ctrl_c_says_where_the_measurements_are_kept(tmp_path: Path, studies: Path) -> None:
    alike = written(tmp_path / "alike.properties", "connections.max.idle.ms=60000\n")  # never certain, so it goes on
    words = ("verify", str(alike), *QUICK, "--rounds", "10000", "--max-rounds", "10000")
    with subprocess.Popen(
        arguments(*words), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as interrupted:
        assert interrupted.stderr is not None
        assert any("in turn" in line for line in iter(interrupted.stderr.readline, ""))
        interrupted.send_signal(signal.SIGINT)
        said = interrupted.stderr.read()
    assert interrupted.returncode == 130, said
    assert said.count("stopping and cleaning up; pressing Ctrl-C again could leave") == 1
    assert said.index("stopping and cleaning up") < said.index("interrupted: ")
    assert "interrupted: what was measured is kept as verify-alike-1; the same command starts over" in said
    assert "is left behind" not in said
    assert tuner("rm", "verify-alike-1", "--yes").code == 0
    assert list(studies.iterdir()) == []


@pytest.mark.parametrize("words", [("--min-gain", "0"), ("--min-gain", "1.1", "--tolerance-ratio", "0.5")])
def test_a_gain_that_is_not_allowed_is_refused(better: Path, studies: Path, words: tuple[str, ...]) -> None:
    refused = tuner("verify", str(better), *QUICK, *words)
    assert refused.code == 2
    assert "--min-gain" in refused.complaint
    assert not studies.exists()


@pytest.mark.campaign
def test_min_gain_must_be_reached(better: Path) -> None:
    assert tuner("verify", str(better), *QUICK, "--min-gain", "1.01").code == 0
    missed = tuner("verify", str(better), *QUICK, "--min-gain", "50")
    assert missed.code == 99
    assert "the interval of the gain must not reach below 50" in missed.err


@pytest.mark.campaign
def test_two_files_are_compared_at_every_record_size(better: Path, worse: Path) -> None:
    done = tuner("verify", str(better), "--against", str(worse), "--record-bytes", "100,1000", *QUICK, "--json")
    assert done.code in (0, 99), done.err
    assert [size["record_bytes"] for size in json.loads(done.out)["sizes"]] == ["100", "1000"]


@pytest.mark.campaign
def test_each_verification_is_a_new_study(better: Path, studies: Path) -> None:
    for _ in range(2):
        assert tuner("verify", str(better), *QUICK, "-q").code == 0
    assert sorted(folder.name for folder in studies.iterdir()) == ["verify-better-1", "verify-better-2"]
    trials = load_results(studies / "verify-better-1").sizes[0].trials
    assert {trial.kind for trial in trials} == {TrialKind.BURN_IN, TrialKind.BASELINE, TrialKind.CONFIRM}


@pytest.mark.long
def test_verifications_on_shared_storage_have_names_of_their_own(
    database: str, better: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CI runners begin with an empty workspace, and verify files of the same name, possibly at the same time."""
    monkeypatch.setenv("KAFKA_TUNER_STORAGE", database)

    def begun(workspace: str) -> subprocess.Popen[str]:
        environ = {**os.environ, "KAFKA_TUNER_STUDIES": str(tmp_path / workspace)}
        words = arguments("verify", str(better), *QUICK, "--rounds", "2", "--max-rounds", "2", "--json")
        return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ)

    def ended(process: subprocess.Popen[str]) -> str:
        out, err = process.communicate(timeout=120)
        assert process.returncode in (0, 98, 99), err
        return str(json.loads(out)["study"])

    at_once = [begun("one"), begun("two")]
    names = {ended(process) for process in at_once}
    better.write_text("linger.ms=50\n")
    names.add(ended(begun("three")))
    assert names == {"verify-better-1", "verify-better-2", "verify-better-3"}
    assert set(storage_at().names(tmp_path)) == names
    last = load_results(tmp_path / "verify-better-3", storage_at()).sizes[0]
    assert {trial.values["linger.ms"] for trial in last.trials if "linger.ms" in trial.values} == {"50"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("linger.ms=5\n", "must differ from the client's defaults"),
        ("linger.ms=fast\n", "linger.ms"),
        ("no.such.knob=1\n", "no.such.knob"),
        (None, "must be readable"),
    ],
)
def test_a_file_that_cannot_be_verified_is_refused_and_nothing_is_left(
    tmp_path: Path, studies: Path, text: str | None, complaint: str
) -> None:
    path = tmp_path / "mine.properties"
    if text is not None:
        path.write_text(text)
    refused = tuner("verify", str(path), *QUICK)
    assert refused.code == 2
    assert complaint in refused.complaint
    assert not studies.exists()


@pytest.mark.campaign
def test_a_study_is_confirmed_again_with_more_rounds(tmp_path: Path, studies: Path) -> None:
    file = written(tmp_path / "night.yaml", STUDY)
    assert tuner("run", str(file), "--no-mlflow", "-q").code == 0
    before = load_results(studies / "small").sizes[0]
    done = tuner("confirm", str(file), "--goal", "latency", "--rounds", "5", "--no-mlflow")
    assert done.code == 0, done.err
    assert re.search(r"\d %( interval)?\)", done.out)
    after = load_results(studies / "small").sizes[0]
    assert after.trials[: len(before.trials)] == before.trials
    assert {trial.kind for trial in after.trials[len(before.trials) :]} <= {
        TrialKind.BURN_IN,
        TrialKind.REPEAT,
        TrialKind.CONFIRM,
    }
    found, *earlier = after.confirmations
    assert found.goals == {Goal.LATENCY}
    assert found.gains["latency_p99_ms"].rounds >= 5
    assert {goal for each in earlier for goal in each.goals} == {Goal.BALANCED, Goal.THROUGHPUT}, (
        "earlier confirmations of other goals stay"
    )
    assert "goal latency" in done.out
    record = json.loads(tuner("confirm", "small", "--goal", "latency", "--no-mlflow", "--json").out)
    assert [(each["goal"], each["record_bytes"]) for each in record["recommendations"]] == [("latency", "1000")]


@pytest.mark.campaign
def test_a_confirmation_without_a_recommendation_has_the_exit_code_of_the_run(tmp_path: Path) -> None:
    file = written(tmp_path / "never.yaml", f'{STUDY}constraints: ["latency_p99_ms <= 0.001"]\n')
    for words in (("run", str(file)), ("confirm", str(file), "--rounds", "2", "--max-rounds", "2")):
        ended = tuner(*words, "--no-mlflow", "--quiet")
        assert ended.code == 5, ended.err
        assert "no config of small meets every constraint" in ended.complaint


def test_a_confirmation_of_a_study_without_measurements_says_that_it_has_none(tmp_path: Path) -> None:
    file = written(tmp_path / "small.yaml", STUDY)
    assert tuner("run", str(file), "--max-bytes", "1MB", "--no-mlflow", "--quiet").code == 1
    ended = tuner("confirm", "small", "--no-mlflow", "--quiet")
    assert ended.code == 1
    assert "a confirmation needs a measured baseline, but small has none; continue the study" in ended.complaint
    assert "constraint" not in ended.err


def test_a_missing_study_cannot_be_confirmed() -> None:
    refused = tuner("confirm", "nothing")
    assert refused.code == 2
    assert "'nothing'" in refused.complaint


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a finished study of two record sizes."""
    folder = tmp_path_factory.mktemp("measured")
    text = STUDY.replace("record_bytes: [1000]", "record_bytes: [100, 1000]").replace("max: 1}", "max: 3}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KAFKA_TUNER_STUDIES", str(folder))
        assert tuner("run", str(written(folder / "small.yaml", text)), "--no-mlflow", "--quiet").code == 0
    return folder / "small"


class TestAsAStudy:
    """With `--study`, a config is measured in the same way as that study measured."""

    @pytest.fixture(autouse=True)
    def study(self, measured: Path, studies: Path) -> None:
        shutil.copytree(measured, studies / "small")

    def test_the_studys_workload_and_fixed_rates_are_used(self, better: Path, studies: Path) -> None:
        words = ("--rounds", "2", "--max-rounds", "2", "--tolerance-ratio", "0.9")
        assert tuner("verify", str(better), "--study", "small", *words).code == 0
        before, after = load_results(studies / "small"), load_results(studies / "verify-better-1")
        assert after.facts["rates"] == before.facts["rates"]
        assert after.name == "verify-better-1"
        assert [size.record_bytes for size in after.sizes] == ["100", "1000"]
        assert {trial.load_s for size in after.sizes for trial in size.trials if trial.kind is TrialKind.CONFIRM} == {
            2.0
        }

    @pytest.mark.campaign
    def test_the_studys_constraints_must_be_kept(self, tmp_path: Path, worse: Path) -> None:
        study = STUDY.replace("study: small", "study: bounded").replace("[1000]", "[100]")
        file = written(tmp_path / "bounded.yaml", f'{study}constraints: ["latency_p99_ms <= 1.5 x baseline"]\n')
        assert tuner("run", str(file), "--no-mlflow", "-q", "--trials", "1").code == 0
        words = ("--study", "bounded", "--rounds", "2", "--max-rounds", "2", "--tolerance-ratio", "0.99", "--json")
        done = tuner("verify", str(worse), *words)
        assert done.code == 99, done.err
        assert "100 B: the study requires latency_p99_ms <= 1.5 x baseline, but the mean is" in done.err
        (size,) = json.loads(done.out)["sizes"]
        assert size["misses"] == size["broken"]

    @pytest.mark.campaign
    def test_the_studys_durability_decides_which_guarantee_is_enough(self, tmp_path: Path) -> None:
        study = STUDY.replace("study: small", "study: leader\ndurability: leader")
        file = written(tmp_path / "leader.yaml", study)
        assert tuner("run", str(file), "--no-mlflow", "-q", "--trials", "1").code == 0
        weaker = written(tmp_path / "weaker.properties", "linger.ms=0.5\ncompression.type=lz4\nacks=1\n")
        words = ("--rounds", "2", "--max-rounds", "2", "--record-bytes", "1000", "--tolerance-ratio", "0.9")
        done = tuner("verify", str(weaker), "--study", "leader", *words)
        assert done.code == 0, done.err
        assert "warning: the guarantee is weaker" in done.err
        assert tuner("verify", str(weaker), "--study", "small", *words).code == 99

    def test_some_of_the_studys_record_sizes_can_be_chosen(self, better: Path, studies: Path) -> None:
        words = ("--study", "small", "--record-bytes", "1000", "--rounds", "2", "--max-rounds", "2", "--json")
        done = tuner("verify", str(better), *words)
        assert [size["record_bytes"] for size in json.loads(done.out)["sizes"]] == ["1000"]
        assert list(load_results(studies / "verify-better-1").facts["rates"]) == ["1000"]

    def test_a_record_size_that_the_study_does_not_have_is_refused(self, better: Path) -> None:
        done = tuner("verify", str(better), "--study", "small", "--record-bytes", "10")
        assert done.code == 2
        assert "must name sizes of small (100, 1000), but got 10" in done.complaint

    def test_options_that_the_study_decides_are_refused(self, better: Path) -> None:
        done = tuner("verify", str(better), "--study", "small", "--seconds", "3", "--bootstrap", "b:9092")
        assert done.code == 2
        assert "leave these options out: --bootstrap, --seconds" in done.complaint


def test_a_file_is_read_as_one_for_the_client_that_the_user_names(tmp_path: Path) -> None:
    file = written(tmp_path / "plain.properties", "acks=all\n")
    refused = tuner("verify", str(file), *QUICK)
    assert refused.code == 2
    assert "must differ from the client's defaults" in refused.complaint
    rounds = ("--rounds", "2", "--max-rounds", "2")
    measured = tuner("verify", str(file), "--file-client", "java", *rounds, *QUICK, "--json")
    assert measured.json["guarantee"] == "acks=all, ordered, no duplicates"
    # For the Java client, this file says what the client does anyway.
    refused = tuner("verify", str(file), "--client", "java", *QUICK)
    assert "must differ from the client's defaults" in refused.complaint
    weaker = written(tmp_path / "weaker.properties", "acks=1\n")
    refused = tuner("verify", str(weaker), "--client", "java:3.9.1", *QUICK, "--json")
    assert refused.json["baseline_guarantee"] == "acks=all, ordered, no duplicates"
    assert refused.json["weaker"]


@pytest.mark.parametrize(("option", "value"), [("--record-bytes", "0"), ("--seconds", "-1")])
def test_a_wrong_value_is_refused_with_the_name_of_its_option_once(better: Path, option: str, value: str) -> None:
    refused = tuner("verify", str(better), option, value)
    assert refused.code == 2
    assert refused.complaint.count(f"{option}: must be") == 1


@pytest.mark.parametrize("server", [(), ("--server", "http://127.0.0.1:9")])
def test_a_maximum_of_rounds_below_their_minimum_is_refused(
    better: Path, studies: Path, server: tuple[str, ...]
) -> None:
    for words in (("verify", str(better)), ("confirm", "small")):
        refused = tuner(*server, *words, "--rounds", "5", "--max-rounds", "3")
        assert refused.code == 2, refused.err
        assert "--max-rounds must be at least --rounds (5), but got 3" in refused.complaint
    assert not studies.exists()


def test_a_low_maximum_lowers_the_default_rounds() -> None:
    assert fewest_and_most_rounds(None, None) == (8, 20)
    assert fewest_and_most_rounds(None, 3) == (3, 3)
    assert fewest_and_most_rounds(30, None) == (30, 30)
    assert fewest_and_most_rounds(5, 5) == (5, 5)


def test_a_note_about_a_file_names_an_option_of_the_command(tmp_path: Path) -> None:
    file = written(tmp_path / "mine.properties", "acks=all\nlinger.ms=1\n")
    verified = tuner("verify", str(file), *QUICK, "--rounds", "2", "--max-rounds", "2", "--tolerance-ratio", "0.9")
    assert "add its key.serializer line, or give --file-client java" in verified.complaint
    planned = tuner("plan", "--current", str(file), "--executor", "simulated")
    assert planned.code == 0, planned.err
    assert "add its key.serializer line, or give --current-client java" in " ".join(planned.out.split())
    against = tuner("verify", str(file), "--against", str(file), *QUICK)
    assert "baseline_client" not in verified.err + planned.out + against.err
    wrong = written(tmp_path / "wrong.properties", "linger.msec=1\n")
    refused = tuner("verify", str(file), "--against", str(wrong), *QUICK)
    assert refused.complaint.startswith(f"error: --against: {wrong}")
