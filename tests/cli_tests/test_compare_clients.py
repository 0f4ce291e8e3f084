"""`tuner compare-clients` as a user types it, on the simulated cluster."""

from pathlib import Path

import pytest

from search_spaces import java
from tests.cli_tests.command import tuner
from tuner.results.study_results import load_results

QUICK = ("compare-clients", "--executor", "simulated", "--warmup", "0", "--seconds", "1", "--rounds", "2")
JAVA_STUDY = """\
study: of-java
client: java:3.9.1
workload: {record_bytes: 1000, saturate: {warmup: 0s, measured: 1s}, paced: {warmup: 0s, measured: 1s}}
search: {trials: 6, startup_trials: 3, burn_in_max: 0}
confirm: {rounds: 3, max_rounds: 3, looks: 1, ablation_rounds: 0}
executor: {kind: simulated}
"""


@pytest.fixture(autouse=True)
def studies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "studies"
    monkeypatch.setenv("KAFKA_TUNER_STUDIES", str(root))
    return root


def written(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def test_both_clients_are_compared_at_their_defaults(studies: Path) -> None:
    done = tuner(*QUICK, "--record-bytes", "100")
    assert done.code == 0, done.err
    for expected in (
        "records of 100 B, each config measured in 2 rounds, in turn",
        f"java {java().version} at their defaults:",
        "librdkafka's throughput in those minutes",
        "librdkafka's CPU time for each MB",
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
    mixed = tuner(*QUICK, "--java", "of-java", "--client-version", "4.3.1")
    assert mixed.code == 2
    assert "--client-version must be that of of-java, which measured java 3.9.1, but got 4.3.1" in mixed.complaint
    other = tuner(*QUICK, "--librdkafka", "of-java")
    assert other.code == 2
    assert "--librdkafka must name a study of librdkafka, but of-java measured java 3.9.1" in other.complaint


def test_what_cannot_be_compared_is_refused_before_anything_is_measured(tmp_path: Path, studies: Path) -> None:
    defaults = written(tmp_path / "defaults.properties", "acks=all\n")
    for words, said in (
        (("--java", defaults), "defaults.properties must differ from the defaults of java to be compared"),
        (("--record-bytes", "100,1000"), "clients are compared with one record size"),
        (("--librdkafka", "nobody"), "nobody"),
        (("--client-version", "1.0.0"), "1.0.0"),
        (("--java", written(tmp_path / "wrong.properties", "linger.mss=3\n")), "wrong.properties"),
    ):
        refused = tuner(*QUICK, *words)
        assert refused.code == 2, refused.err
        assert said in refused.complaint
    assert not studies.exists()
