"""`tuner compare-clients` as a user types it, on the simulated cluster."""

from pathlib import Path

import pytest
import typer

from search_spaces import ConfigError, java
from tests.helpers.command import tuner
from tuner.cli.commands.compare_clients import compare_clients
from tuner.model.errors import StudyNotFound
from tuner.results.study_results import load_results

pytestmark = pytest.mark.usefixtures("studies")

QUICK = ("compare-clients", "--executor", "simulated", "--warmup", "0", "--seconds", "1", "--rounds", "2")
JAVA_STUDY = """\
study: of-java
client: java:3.9.1
workload: {record_bytes: 1000, saturate: {warmup: 0s, measured: 1s}, paced: {warmup: 0s, measured: 1s}}
search: {trials: 6, startup_trials: 3, burn_in_max: 0}
confirm: {rounds: 3, max_rounds: 3, nominee_repeats: 1, undo_rounds: 0}
executor: {kind: simulated}
"""


def written(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def test_both_clients_are_compared_at_their_defaults(studies: Path) -> None:
    done = tuner(*QUICK, "--record-bytes", "100")
    assert done.code == 0, done.err
    for expected in (
        "records of 100 B, each config measured in 2 rounds, in turn",
        f"java {java().version} at their defaults:",
        "java's throughput is",
        "java's CPU time for each MB",
        "guarantee of librdkafka: acks=all",
        "guarantee of java: acks=all",
    ):
        assert expected in done.out
    assert f"java {java().version}, defaults" in done.err, "each line of the progress names the client"
    assert "nothing was measured on Kafka" in done.err
    (study,) = studies.iterdir()
    (size,) = load_results(study).sizes
    assert {trial.client for trial in size.trials} == {"librdkafka", java().identity}


def test_a_study_and_a_file_are_compared_beside_the_defaults(tmp_path: Path) -> None:
    assert tuner("run", written(tmp_path / "of-java.yaml", JAVA_STUDY), "--no-mlflow", "--quiet").code == 0
    file = written(tmp_path / "tuned.properties", "linger.ms=50\ncompression.type=lz4\n")
    done = tuner(*QUICK, "--java", "of-java", "--librdkafka", file, "--json")
    assert done.code == 0, done.err
    record = done.json
    assert (record["kind"], record["record_bytes"], record["simulated"]) == ("client-comparison", "1000", True)
    assert [(each["client"], each["source"]) for each in record["sides"]] == [
        ("librdkafka", None),
        ("java", None),
        ("librdkafka", "tuned.properties"),
        ("java", "of-java"),
    ]
    assert {each["client_version"] for each in record["sides"] if each["client"] == "java"} == {"3.9.1"}
    assert {each["rounds"] for each in record["sides"]} == {2}
    assert len(record["pairs"]) == 2
    with pytest.raises(
        typer.BadParameter, match=r"--client-version must be that of of-java, which measured java 3\.9\.1"
    ):
        compare_clients(for_java="of-java", client_version="4.3.1")
    with pytest.raises(typer.BadParameter, match="--librdkafka must name a study of librdkafka, but of-java measured"):
        compare_clients(for_librdkafka="of-java")


def test_what_cannot_be_compared_is_refused_before_anything_is_measured(tmp_path: Path, studies: Path) -> None:
    defaults = written(tmp_path / "defaults.properties", "acks=all\n")
    with pytest.raises(typer.BadParameter, match=r"defaults\.properties must differ from the defaults of java"):
        compare_clients(for_java=defaults)
    with pytest.raises(typer.BadParameter, match="clients are compared with one record size"):
        compare_clients(record_bytes="100,1000")
    with pytest.raises(StudyNotFound, match="nobody"):
        compare_clients(for_librdkafka="nobody")
    with pytest.raises(ConfigError, match=r"wrong\.properties: .*linger\.mss"):
        compare_clients(for_java=written(tmp_path / "wrong.properties", "linger.mss=3\n"))
    assert not studies.exists()
