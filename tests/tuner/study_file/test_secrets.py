"""The value of an environment variable is in no message, no repr and no stored text."""

import pickle
import traceback
from pathlib import Path

import pytest

from tests.tuner.study_file.corpus import ENVIRON, GOOD, LEAST, SECRET, load, parse
from tuner.study_file import StudyFileError, parse_stored_study, read_study_file

# All places where a text may stand. With the secret in it, each of these lines is wrong.
WRONG = [
    'study: "${S}"',
    'study: {name: "a ${S}"}',
    'target: {bootstrap: "a b ${S}"}',
    'target: {bootstrap: "a:1", brokers: "${S}"}',
    'target: {bootstrap: "a:1", properties: {security.protocol: "${S}"}}',
    'target: {bootstrap: "a:1", properties: {enable.ssl.certificate.verification: "${S}"}}',
    'target: {bootstrap: "a:1", properties: {sasl.pasword: "${S}"}}',
    'target: {bootstrap: "a:1", properties: "${S}"}',
    'target: {bootstrap: "a:1", command_config: "${S}"}',
    'targets: ["${S}"]',
    'targets: "${S}"',
    'baseline: "${S}"',
    'baseline: {acks: "${S}"}',
    'baseline: {acks: 1, enable.idempotence: true, client.id: "${S}"}',
    'space: {linger.ms: "${S}"}',
    'space: {linger.ms: {low: "${S}"}}',
    'space: {linger.ms: {low: 1, steps: "${S}"}}',
    'space: {compression.type: {choices: [none, "${S}"]}}',
    'space: "${S}"',
    'durability: "${S}"',
    'objectives: "${S}"',
    'objectives: ["${S}"]',
    'constraints: ["${S} <= 5"]',
    'constraints: "${S}"',
    'search: {trials: "${S}"}',
    'search: {until: "${S}"}',
    'search: {max_bytes: "${S}"}',
    'search: {method: "${S}"}',
    'search: "${S}"',
    'confirm: {goals: ["${S}"]}',
    'tracking: {enabled: "${S}"}',
    'safety: {broker_wait: "${S}"}',
    'executor: {kind: "${S}"}',
    'schema_version: "${S}"',
    'surprise: "${S}"',
]


@pytest.mark.parametrize("line", WRONG)
@pytest.mark.parametrize("secret", ["hunter2!", "10:1,10:2 hunter2", "5\nhunter2: x", "hunter2" * 100])
def test_an_error_shows_the_variables_name_and_not_its_value(line: str, secret: str) -> None:
    with pytest.raises(StudyFileError) as caught:
        parse(LEAST + line + "\n", S=secret)
    told = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + repr(caught.value.problems)
    assert "hunter2" not in told
    assert all(problem.line == 2 for problem in caught.value.problems)


@pytest.mark.parametrize("value", ["10:1,10:2 hunter2", "hunter2", "0"])
def test_wrong_record_sizes_from_variables_are_not_shown(value: str) -> None:
    with pytest.raises(StudyFileError) as caught:
        parse('workload: {record_bytes: ["${S}"]}\n', S=value)
    assert "hunter2" not in str(caught.value)
    assert "the value of ${S}" in str(caught.value)


def test_a_broken_rule_does_not_show_values_from_variables() -> None:
    with pytest.raises(StudyFileError, match="idempotence-needs-acks-all") as caught:
        parse(LEAST + 'baseline: {enable.idempotence: true, acks: "${S}"}\n', S="1")
    assert "acks=1" not in str(caught.value)


def test_acks_from_a_variable_are_not_shown() -> None:
    with pytest.raises(StudyFileError, match=r"baseline\.acks: the objective latency_p99_ms needs") as caught:
        parse(LEAST + 'baseline: {acks: "${S}"}\n', S="0")
    assert "but got the value of ${S}; set `objectives: throughput`" in str(caught.value)


def test_the_study_has_the_secret_and_its_repr_does_not() -> None:
    spec = load("existing_cluster")
    assert spec.targets[0].connection["sasl.password"] == SECRET
    assert SECRET not in repr(spec)


def test_the_stored_text_is_the_original() -> None:
    for path in GOOD:
        _, text = read_study_file(path, ENVIRON)
        assert SECRET not in text


def test_a_variables_value_is_not_read_as_yaml() -> None:
    spec = parse(LEAST + 'tracking: {experiment: "${S}"}\n', S="${S} {a: b} # no")
    assert spec.tracking.experiment == "${S} {a: b} # no"


def test_escapes_and_defaults_of_variables_are_read() -> None:
    assert load("escapes").tracking.experiment == "costs $5, ${HOME} and a:-b !"


def test_numbers_may_come_from_the_environment() -> None:
    spec = load("numbers_from_the_environment")
    assert str(spec.workload.record_sizes[0]) == "100:0.7,1000:0.3"
    assert (spec.workload.partitions, spec.search.trials, spec.search.transfer) == (6, 7, False)


@pytest.mark.parametrize(
    "line",
    [
        "baseline: /etc/hosts",
        'target: {bootstrap: "a:1", command_config: /etc/hosts}',
        'target: {bootstrap: "a:1", properties: {ssl.ca.location: /etc/hosts}}',
        'target: {bootstrap: "a:1", properties: {sasl.kerberos.kinit.cmd: "touch /tmp/x"}}',
        'target: {bootstrap: "a:1", properties: {ssl.engine.location: /tmp/x.so}}',
        'target: {bootstrap: "a:1", properties: {sasl.oauthbearer.assertion.private.key.file: "${S}"}}',
    ],
)
def test_without_a_folder_no_local_file_may_be_named(line: str) -> None:
    with pytest.raises(StudyFileError, match="local files can't be used for this study"):
        parse(f"{LEAST}{line}\n", S="/etc/hosts")


def test_errors_can_be_pickled() -> None:
    with pytest.raises(StudyFileError) as caught:
        parse(LEAST + "trails: 5\nseed: 5\n")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert str(copy) == str(caught.value)
    assert copy.problems == caught.value.problems


def test_properties_files_take_variables_and_name_those_that_are_not_set(tmp_path: Path) -> None:
    (tmp_path / "client.properties").write_text("sasl.mechanism=PLAIN\nsasl.password=${PW}\n")
    (tmp_path / "producer.properties").write_text("linger.ms=${LINGER}\nsasl.password=${ABSENT}\n")
    file = tmp_path / "night.yaml"
    file.write_text(
        "workload: {record_bytes: 100}\nbaseline: producer.properties\n"
        'target: {bootstrap: "a:1", command_config: client.properties}\n'
    )
    spec, text = read_study_file(file, {"PW": SECRET, "LINGER": "7"})
    assert spec.targets[0].connection["sasl.password"] == SECRET
    assert spec.baseline.values["linger.ms"] == "7"
    assert SECRET not in repr(spec) + text
    with pytest.raises(StudyFileError) as caught:
        read_study_file(file, {})
    said = [str(problem) for problem in caught.value.problems]
    rule = "is not set; export it, or write"
    assert said == [
        f"line 2, baseline: producer.properties, line 1: linger.ms: the environment variable LINGER {rule} "
        "${LINGER:-default}",
        "line 3, target.command_config: client.properties, line 2: sasl.password: the environment variable PW "
        f"{rule} ${{PW:-default}}",
    ]


def test_a_stored_study_is_read_without_the_variables_of_its_connection() -> None:
    text = f'{LEAST}target: {{bootstrap: "a:1", properties: {{sasl.password: "${{ABSENT_PASSWORD}}"}}}}\n'
    spec = parse_stored_study(text, name="night", origin="night")
    assert spec.targets[0].bootstrap == "a:1"
