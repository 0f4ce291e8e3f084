"""The study files in `good` load, and those in `bad` give the problems that their first lines state."""

import re
from pathlib import Path

import pytest

from runners.pools.placement import Placement
from runners.pools.ray_cluster import Code
from search_spaces.configs.guarantee import DURABILITY
from search_spaces.space.parameters import KnobChange
from tests.tuner.study_file.corpus import ENVIRON, EXAMPLES, GOOD, load
from tuner.model.errors import ExitCode, exit_code_of
from tuner.model.spec import Executor, Method, PhaseSpec, RaySpec
from tuner.model.study_time import trial_s
from tuner.study_file import StudyFileError, read_study_file

BAD = sorted((Path(__file__).parent / "bad").glob("*.yaml"))
_EXPECTED = re.compile(r"^# expect: line (\d+): (.*)$", re.MULTILINE)


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_good_files_load(path: Path) -> None:
    spec, text = read_study_file(path, ENVIRON)
    assert spec.name == (path.stem if "study:" not in text or path.stem == "empty_sections" else spec.name)
    assert text == path.read_text()
    assert spec.workload.record_sizes


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_each_bad_file_gives_the_expected_problems(path: Path) -> None:
    expected = _EXPECTED.findall(path.read_text())
    assert expected, "a bad file must state the expected problems in its first lines"
    with pytest.raises(StudyFileError) as caught:
        read_study_file(path, {})
    found = [(problem.line, str(problem)) for problem in caught.value.problems]
    for line, fragment in expected:
        assert any(number == int(line) and fragment in said for number, said in found), str(caught.value)
    lines = [line for line, _ in found]
    assert lines == sorted(lines)
    assert str(path) in str(caught.value)
    assert exit_code_of(caught.value) is ExitCode.USAGE
    assert "pydantic" not in str(caught.value)
    assert "hunter2" not in str(caught.value), "a secret that is written out is not repeated"
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_load(path: Path) -> None:
    spec, _ = read_study_file(path, {"KAFKA_BOOTSTRAP": "kafka1:9092", "KAFKA_PASSWORD": "hunter2"})
    assert spec.name.startswith(("quickstart", "orders", "three-sizes", "small-records", "java"))


def test_the_quickstart_is_short() -> None:
    spec, _ = read_study_file(next(path for path in EXAMPLES if path.stem == "quickstart"), {})
    assert [str(sizes) for sizes in spec.workload.record_sizes] == ["1000", "100"]
    assert trial_s(spec) == pytest.approx(5.0)
    assert spec.search.trials == 10
    assert spec.search.trials * 2 * trial_s(spec) < 180


def test_the_settings_of_an_overnight_study_are_read() -> None:
    spec = load("overnight")
    assert spec.search.method is Method.QUASI_RANDOM
    assert (spec.search.trials, spec.search.hours, spec.search.until) == (None, 8.5, "07:00")
    assert spec.search.max_bytes == 1_500_000_000_000
    assert spec.search.transfer is False
    assert spec.search.racing is False
    assert spec.workload.saturate == PhaseSpec(0.5, 60.0)
    assert spec.workload.paced == PhaseSpec(0.0, 30.0)
    assert spec.workload.rate_records_per_s == 5000
    assert spec.safety.broker_wait_s == 7200
    assert spec.safety.min_free_disk_bytes == 0
    assert spec.tracking.enabled is False
    assert (spec.executor, spec.ray) == (Executor.RAY, RaySpec("head:6379", Code.INSTALLED, 300))
    assert (spec.workload.consumers, spec.placement) == (2, Placement(("a",), "b"))


def test_properties_become_the_clients_own_values() -> None:
    values = load("properties").baseline.values
    assert values["acks"] == "-1"
    assert values["enable.idempotence"] == "true"
    assert values["linger.ms"] == "0.5"
    assert values["batch.size"] == "1000000"


def test_each_way_to_change_a_knob_is_read() -> None:
    space = load("space").space
    assert space["linger.ms"] == KnobChange(low=0.1, high=50, log=True, steps=5)
    assert space["acks"] == KnobChange(choices=("1", "all"))
    assert space["batch.size"] == KnobChange(off=True)
    assert space["socket.nagle.disable"] == KnobChange()
    assert space["enable.idempotence"] == KnobChange(value="false")
    assert space["compression.level.zstd"] == KnobChange(low=1, high=3)
    assert load("space").floor == DURABILITY["leader"]


def test_other_names_of_the_client_become_its_own() -> None:
    spec = load("other_names")
    assert spec.baseline.values == {"linger.ms": "5", "retries": "3"}
    assert spec.space == {"max.in.flight.requests.per.connection": KnobChange(value="5")}


def test_a_preset_brings_its_constraints() -> None:
    spec = load("judging")
    assert [objective.metric for objective in spec.objectives] == ["latency_p99_ms"]
    assert [str(constraint) for constraint in spec.constraints] == [
        "mb_per_s >= 0.9 x baseline",
        "latency_p99_ms <= 10",
        "mb_per_s >= 0.5 x baseline",
        "wire_bytes_per_value_byte <= 1",
    ]


def test_files_are_found_beside_the_study_file() -> None:
    spec = load("command_config")
    assert spec.targets[0].connection["security.protocol"] == "sasl_plaintext"
    assert "bootstrap.servers" not in spec.targets[0].connection
    assert spec.baseline.values == {"acks": "-1", "linger.ms": "20"}
    assert "only-in-the-file" not in repr(spec)


def test_each_of_several_targets_is_read() -> None:
    assert [target.bootstrap for target in load("several_targets").targets] == ["one:9092", "two:9092,three:9092"]


def test_an_empty_section_has_its_defaults() -> None:
    empty, least = load("empty_sections"), load("three_lines")
    assert (empty.search, empty.confirm, empty.targets) == (least.search, least.confirm, least.targets)


def test_consumers_and_a_link_to_another_zone_are_read() -> None:
    spec = load("zones_and_consumers")
    assert spec.workload.consumers == 2
    assert spec.workload.saturating(spec.workload.record_sizes[0]).consumers == 2
    (target,) = spec.targets
    assert target.link is not None
    assert str(target.link) == "2 ms and 50 MB/s each way"
