"""The options that describe a study: the same for `tuner run` and `tuner plan`, with and without a study file."""

import datetime
import json
import math
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from runners.reporting import duration
from search_spaces.client import java, librdkafka
from search_spaces.space.parameters import KnobChange
from tests.docs.program import options_of
from tests.helpers.command import tuner
from tests.helpers.repository import ROOT
from tuner.cli.options import common_options
from tuner.cli.options.study_from_options import StudyFromOptions
from tuner.execution.budgets import estimate
from tuner.model.goals import Goal
from tuner.model.spec import ConfirmSpec, Executor, Method, NewBroker, PhaseSpec, SearchSpec, StudySpec
from tuner.model.study_files import STUDY_FILE
from tuner.model.study_time import trial_s
from tuner.storage.locations import ROOT_VARIABLE, study_folder
from tuner.study_file import read_study_file

_FILE = """\
study: orders
workload: {record_bytes: 700, paced: {rate_records_per_s: 5000}}
baseline: producer.properties
objectives: [mb_per_s, latency_p99_ms]
search: {hours: 8, trials: 500}
confirm: {rounds: 12, spread_over: 6h}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "producer.properties").write_text("linger.ms=20\n")
    path = tmp_path / "orders.yaml"
    path.write_text(_FILE)
    return path


@pytest.mark.parametrize(
    ("text", "name", "lines"),
    [
        ("workload: {record_bytes: 100}\n", "orders", 1),
        ("# mine\nworkload:\n  record_bytes: 100", "orders", 3),
        ("study: null\nworkload: {record_bytes: 100}\n", "orders", 0),
        ('{"workload": {"record_bytes": 100}}', "orders", 0),
        ("study: {name: mine}\nworkload: {record_bytes: 100}\n", "mine", 2),
        ("study: mine\nworkload: {record_bytes: 100}\n", "mine", 2),
    ],
)
def test_a_service_is_told_the_name_of_the_file_if_the_study_has_none(
    tmp_path: Path, text: str, name: str, lines: int
) -> None:
    file = tmp_path / "orders.yaml"
    file.write_text(text)
    sent = StudyFromOptions(study_file=file).text_for_service(None)
    study = yaml.safe_load(sent)["study"]
    assert (study if isinstance(study, str) else study["name"]) == name
    assert sent.splitlines()[:lines] == text.splitlines()[:lines], "the service names the lines of the user's file"


@pytest.mark.parametrize(
    ("given", "name"), [({"quick": True}, "orders-quick"), ({"client": "java"}, "orders-java"), ({}, "orders")]
)
@pytest.mark.parametrize("study", ["orders", "{name: orders}"])
def test_a_study_has_the_same_name_at_a_service(tmp_path: Path, given: dict[str, Any], name: str, study: str) -> None:
    file = tmp_path / "overnight.yaml"
    file.write_text(f"study: {study}\nworkload: {{record_bytes: 100}}\n")
    sent = yaml.safe_load(StudyFromOptions(study_file=file, **given).text_for_service(None))["study"]
    assert (sent if isinstance(sent, str) else sent["name"]) == described(study_file=file, **given).name == name


@pytest.mark.parametrize("text", ["", "- a\n", "study: 5\n"])
def test_a_file_that_is_no_study_is_left_to_the_service(tmp_path: Path, text: str) -> None:
    file = tmp_path / "overnight.yaml"
    file.write_text(text)
    assert StudyFromOptions(study_file=file, quick=True).text_for_service(None) == text


def described(**given: object) -> StudySpec:
    """Return the study that options describe, by their names in Python."""
    return StudyFromOptions(**given).study()[0]  # type: ignore[arg-type]


def test_run_and_plan_have_every_option_of_a_study() -> None:
    shared = {f"--{field.name.replace('_', '-')}" for field in fields(StudyFromOptions)} - {"--study-file", "--goals"}
    assert shared | {"--goal"} <= options_of(["run"]) & options_of(["plan"])


def test_a_quick_study_is_the_one_of_the_quick_start() -> None:
    quick, (example, _) = described(quick=True), read_study_file(ROOT / "examples" / "quickstart.yaml")
    assert quick.name == "embedded-100-1000-quick"
    # The quick start shows the larger size first, because its recommendation is proven soonest.
    assert sorted(quick.workload.record_sizes, key=str) == sorted(example.workload.record_sizes, key=str)
    assert quick == replace(example, name=quick.name, workload=quick.workload)
    assert replace(quick.workload, record_sizes=example.workload.record_sizes) == example.workload


@pytest.mark.parametrize(
    ("goal", "metrics", "constraints"),
    [
        (Goal.LATENCY, ["latency_p95_ms"], ["mb_per_s >= 0.9 x baseline"]),
        (Goal.THROUGHPUT, ["mb_per_s"], []),
        (Goal.BALANCED, ["mb_per_s", "latency_p95_ms"], []),
    ],
)
def test_a_quick_study_judges_the_p95(goal: Goal, metrics: list[str], constraints: list[str], tmp_path: Path) -> None:
    path = tmp_path / "orders.yaml"
    path.write_text(f"workload: {{record_bytes: 700}}\nobjectives: {goal}\n")
    for spec in (described(quick=True, objectives=goal), described(quick=True, study_file=path)):
        assert [each.metric for each in spec.objectives] == metrics
        assert [*map(str, spec.constraints)] == constraints


def test_options_win_over_the_settings_of_a_quick_study() -> None:
    spec = described(quick=True, trials=4, rounds=3, goals=[Goal.LATENCY], constraint=["mb_per_s >= 10"])
    assert (spec.search.trials, spec.search.startup_trials) == (4, 5)
    assert (spec.confirm.rounds, spec.confirm.goals, spec.confirm.nominees) == (3, (Goal.LATENCY,), 2)
    assert [*map(str, spec.constraints)] == ["mb_per_s >= 10"]


def test_a_quick_study_of_a_file_has_another_name_and_the_same_load(file: Path) -> None:
    (slow, _), (quick, text) = read_study_file(file), StudyFromOptions(study_file=file, quick=True).study()
    assert quick.name == yaml.safe_load(text)["study"]["name"] == "orders-quick"
    assert (quick.baseline, quick.objectives) == (slow.baseline, slow.objectives)
    assert (quick.workload.record_sizes, quick.workload.rate_records_per_s) == (slow.workload.record_sizes, 5000)
    assert trial_s(quick) == trial_s(described(quick=True)) < trial_s(slow)
    assert (quick.search.trials, quick.confirm.rounds, quick.confirm.spread_over_s) == (10, 6, 0)


def test_options_replace_limits_and_confirmation_of_a_file(file: Path) -> None:
    spec = described(
        study_file=file,
        until="07:00",
        max_bytes=10**9,
        rounds=4,
        goals=[Goal.LATENCY],
        spread_over=60.0,
        allow_loss=0.2,
    )
    slow, text = read_study_file(file)
    assert spec.search == replace(slow.search, hours=None, trials=None, until="07:00", max_bytes=10**9)
    assert spec.confirm == replace(slow.confirm, rounds=4, goals=(Goal.LATENCY,), spread_over_s=60.0, allow_loss=0.2)
    fewer, changed = StudyFromOptions(study_file=file, trials=9).study()
    assert fewer == replace(slow, search=replace(slow.search, trials=9))
    assert yaml.safe_load(changed) == {**(kept := yaml.safe_load(text)), "search": {**kept["search"], "trials": 9}}
    assert StudyFromOptions(study_file=file).study() == (slow, text)
    quick = described(study_file=file, quick=True, hours=0.5)
    assert (quick.search.hours, quick.search.trials) == (0.5, 10)


def test_every_setting_without_a_file_has_an_option(tmp_path: Path) -> None:
    asked = StudyFromOptions(
        record_bytes="500", bootstrap="a:1", partitions=6, replication=3, compressibility=0.7,
        key_bytes=8, rate=2000.0, hours=8.0, max_bytes=10**12, rounds=4, max_rounds=9, undo_rounds=0,
        spread_over=7200.0, seconds=4.0, warmup=1.0, new_broker=NewBroker.NEVER, executor=Executor.LOCAL,
    )  # fmt: skip
    spec, text = asked.study()
    assert spec.executor is Executor.LOCAL
    assert described(bootstrap="a:1", like="orders").targets[0].like == "orders"
    load = spec.workload
    assert (load.partitions, load.replication, load.compressibility_ratio, load.key_bytes) == (6, 3, 0.7, 8)
    assert load.rate_records_per_s == 2000
    assert load.saturate == load.paced == PhaseSpec(1.0, 4.0)
    assert spec.search == SearchSpec(trials=None, hours=8.0, max_bytes=10**12)
    assert spec.confirm == ConfirmSpec(4, 9, undo_rounds=0, spread_over_s=7200.0, new_broker=NewBroker.NEVER)
    written = tmp_path / "written.yaml"
    written.write_text(text)
    assert read_study_file(written)[0] == spec


def test_a_maximum_below_the_usual_rounds_lowers_the_minimum() -> None:
    assert described(max_rounds=3).confirm == ConfirmSpec(3, 3)
    assert described(max_rounds=3, quick=True).confirm.rounds == 3
    with pytest.raises(typer.BadParameter, match=r"--max-rounds must be at least --rounds \(5\), but got 3"):
        described(rounds=5, max_rounds=3)


@pytest.mark.parametrize("change", [{"max_rounds": 3}, {"rounds": 12}])
def test_an_option_for_rounds_wins_over_the_other_number_of_a_file(file: Path, change: dict[str, int]) -> None:
    file.write_text("workload: {record_bytes: 100}\nconfirm: {rounds: 5, max_rounds: 9}\n")
    (asked,) = change.values()
    assert described(study_file=file, **change).confirm == ConfirmSpec(asked, asked)
    assert described(study_file=file, rounds=6).confirm == ConfirmSpec(6, 9)
    assert described(quick=True, rounds=12).confirm.max_rounds == 12


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"partitions": 0}, "--partitions: must be a whole number from 1 to 10,000, but got 0"),
        ({"record_bytes": "0"}, "--record-bytes: must be a whole number from 1 to 67,108,864 bytes, but got 0"),
        ({"constraint": ["fast"]}, "--constraint: a constraint must read like"),
        ({"name": "../x"}, "--name: a name must consist of"),
        ({"seconds": 0.0}, "--seconds: "),
        ({"repeats": 2}, "--repeats: only method grid repeats its configs"),
        ({"brokers": 3, "bootstrap": "a:1"}, "--brokers: brokers is for brokers that the tuner starts"),
        (
            {"topic": "a", "bootstrap": "a:1", "partitions": 3, "replication": 1},
            "--topic can't be given with --partitions and --replication: ",
        ),
        ({"like": "a", "bootstrap": "a:1", "partitions": 6}, "--like can't be given with --partitions: "),
        ({"knob": ["linger.ms=0..x"]}, "--knob linger.ms: must be a decimal number"),
        ({"knob": ["linger.ms=x..20"]}, "--knob linger.ms: must be a decimal number from 0 to 900,000, but got 'x'"),
        ({"knob": ["linger.ms=a,b"]}, "--knob linger.ms: must be a decimal number from 0 to 900,000, but got 'a'"),
        ({"knob": ["linger.ms=5..1"]}, "--knob linger.ms=5..1: the range must begin with the smaller number"),
        (
            {"knob": ["batch.size=1048576..16384,log"]},
            "--knob batch.size=1048576..16384,log: the range must begin with the smaller number: "
            "batch.size=16384..1048576,log",
        ),
        ({"knob": ["lingerms=5"]}, "--knob lingerms: librdkafka has no property 'lingerms'"),
        (
            {"knob": ["compression.type=lz4,brotli"]},
            "--knob compression.type: must be",
        ),
        ({"knob": ["linger.ms"]}, "--knob must read NAME=VALUES, such as linger.ms=0..20, but got 'linger.ms'"),
        ({"knob": ["acks=1", "acks=all"]}, "--knob must name each property once, but acks was given twice"),
        ({"method": Method.GRID}, "--method grid measures all combinations of the values of some properties"),
    ],
)
def test_a_wrong_value_names_its_option(given: dict[str, Any], told: str) -> None:
    with pytest.raises(typer.BadParameter) as refused:
        described(**given)
    said = str(refused.value)
    assert said.startswith(told)
    assert "line " not in said


def test_an_error_about_an_option_names_the_option_and_no_line_of_the_file(file: Path) -> None:
    with pytest.raises(typer.BadParameter, match=r"^--repeats: only method grid repeats"):
        described(study_file=file, repeats=2)
    for given in ({"seed": 7}, {"knob": ["linger.ms=5"]}, {"method": Method.TPE}):
        option = next(iter(given))
        with pytest.raises(typer.BadParameter, match=f"--{option} and a study file exclude each other"):
            described(study_file=file, **given)


def test_with_another_client_than_the_file_s_the_study_has_another_name(file: Path) -> None:
    asked = described(study_file=file)
    spec = described(study_file=file, client="java:3.9.1")
    assert (spec.client, spec.name) == (java("3.9.1"), f"{asked.name}-java")
    assert described(study_file=file, client="java:3.9.1", quick=True).name == f"{asked.name}-java-quick"


def test_the_settings_that_users_vary_have_options(file: Path) -> None:
    confirming: dict[str, Any] = {"width_ratio": 0.05, "nominees": 5, "nominee_repeats": 3}
    knobs = ["linger.ms=0..20", "batch.size=1000..9000,log,steps=3", "compression.type=lz4,zstd", "acks=off"]
    spec = described(seed=7, racing=False, knob=knobs, **confirming)
    assert (spec.search.seed, spec.search.racing) == (7, False)
    assert spec.confirm == replace(ConfirmSpec(), **confirming)
    assert spec.space == {
        "linger.ms": KnobChange(low=0, high=20),
        "batch.size": KnobChange(low=1000, high=9000, log=True, steps=3),
        "compression.type": KnobChange(choices=("lz4", "zstd")),
        "acks": KnobChange(off=True),
    }
    slow = read_study_file(file)[0]
    assert described(study_file=file, racing=True, **confirming) == replace(
        slow, search=replace(slow.search, racing=True), confirm=replace(slow.confirm, **confirming)
    )


@pytest.mark.parametrize("rounds", [(), ("--rounds", "0")], ids=["confirmed", "not confirmed"])
def test_the_shortest_search_of_a_small_grid_is_the_whole_grid(rounds: tuple[str, ...]) -> None:
    ran = [
        tuner("plan", "--method", "grid", "--knob", f"linger.ms={each}", *rounds, "--json")
        for each in ("0,5", "0,5,20")
    ]
    assert all("too little" not in each.err for each in ran)
    small, larger = (each.json for each in ran)
    assert all(plan["seconds_at_least"] <= plan["seconds"] for plan in (small, larger))
    assert small["seconds_at_least"] < larger["seconds_at_least"]
    # The least time that `tuner plan` names is enough, and less is refused.
    given = "plan", "--method", "grid", "--knob", "linger.ms=0,5", *rounds, "--hours"
    assert tuner(*given, f"{small['seconds_at_least'] / 3600 + 0.01:.3f}").code == 0
    assert "give at least --hours" in tuner(*given, f"{small['seconds_at_least'] / 3600 - 0.01:.3f}").complaint


def test_a_grid_without_a_file_measures_the_named_knobs_alone() -> None:
    plan = tuner(
        "plan", "--method", "grid", "--knob", "linger.ms=0,5,20", "--knob", "compression.type=none,lz4", "--repeats",
        "3", "--rounds", "0", "--record-bytes", "1000", "--json",
    )  # fmt: skip
    (size,) = plan.json["sizes"]
    assert [each["name"] for each in size["parameters"]] == ["linger.ms", "compression.type"]
    assert size["grid_combinations"] == 6
    assert size["trials"] >= 17


@pytest.mark.campaign
def test_a_generated_name_is_never_that_of_a_study_with_other_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_TUNER_STUDIES", str(tmp_path))
    words = ("run", "--record-bytes", "500", "--executor", "simulated", "--no-mlflow", "--trials", "2", "--rounds", "0")
    assert tuner(*words).code == 0
    other = tuner(*words, "--partitions", "6")
    assert other.code == 0, other.err
    assert (
        "the study embedded-500 has other settings (workload.partitions), so this study is embedded-500-2" in other.err
    )
    assert yaml.safe_load((tmp_path / "embedded-500-2" / "study.yaml").read_text())["study"] == {
        "name": "embedded-500-2"
    }
    for same, name in ((words, "embedded-500"), ((*words, "--partitions", "6"), "embedded-500-2")):
        again = tuner(*same)
        assert f"{name} is finished" in again.err
    assert "embedded-500-3" in tuner(*words, "--partitions", "7").err
    assert sorted(each.name for each in tmp_path.iterdir() if each.name.startswith("embedded")) == [
        "embedded-500", "embedded-500-2", "embedded-500-3",
    ]  # fmt: skip
    refused = tuner(*words, "--partitions", "6", "--name", "embedded-500")
    assert refused.code == 2, "a name that the user gave is never changed"


def test_a_plan_needs_no_study_file(tmp_path: Path) -> None:
    (tmp_path / "producer.properties").write_text("linger.ms=20\n")
    words = ("--record-bytes", "500", "--trials", "7", "--rounds", "3", "--max-rounds", "3", "--goal", "latency")
    plan = tuner("plan", *words, "--current", str(tmp_path / "producer.properties"), "--spread-over", "2h", "--json")
    assert plan.code == 0, plan.err
    planned = json.loads(plan.out)
    assert [(size["record_bytes"], size["trials"]) for size in planned["sizes"]] == [("500", 7)]
    assert planned["baseline"] == {"linger.ms": "20"}
    assert "up to 3 rounds are spread over at most 2 h 00 min" in planned["sessions"]
    refused = tuner("plan", "--spread-over", "long")
    assert refused.code == 2
    assert (
        "a duration must read like 2.5, 30s, 5m, 2h or 7d; a number without a unit is in seconds, but got 'long'"
        in (refused.complaint)
    )


@pytest.mark.parametrize("given", ["overnight", "studies/overnight"])
def test_a_study_in_place_of_its_file_is_refused_with_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.delenv(ROOT_VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    begun = study_folder("overnight") / STUDY_FILE
    begun.parent.mkdir(parents=True)
    begun.write_text("study: overnight\nworkload: {record_bytes: 100}\n")
    with pytest.raises(typer.BadParameter, match=f"but {given} is a study; .* or: tuner run {re.escape(str(begun))}$"):
        described(study_file=Path(given))
    assert described(study_file=begun).name == "overnight"


def test_a_service_s_command_names_the_file_that_is_not_there(tmp_path: Path) -> None:
    missing = tmp_path / "overnight.yaml"
    with pytest.raises(typer.BadParameter, match=f"{re.escape(str(missing))} is not: No such file or directory$"):
        StudyFromOptions(study_file=missing).text_for_service(None)


def test_a_file_without_a_java_name_can_be_read_as_one_for_the_java_producer(tmp_path: Path) -> None:
    (tmp_path / "producer.properties").write_text("acks=all\n")
    words = ("plan", "--current", str(tmp_path / "producer.properties"), "--json")
    assert json.loads(tuner(*words).out)["baseline"] == {"acks": "-1"}
    of_java = json.loads(tuner(*words, "--current-client", "java").out)["baseline"]
    assert of_java["enable.idempotence"] == "true", "acks=all is idempotent in the Java producer"


def test_a_quick_study_says_that_it_proves_only_large_gains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_TUNER_STUDIES", str(tmp_path))
    words = ("run", "--quick", "--record-bytes", "500", "--executor", "simulated", "--no-mlflow")
    ran = tuner(*words, "--trials", "4", "--rounds", "3", "--max-rounds", "3")
    assert ran.code == 0, ran.err
    assert "this quick study can prove only large gains: its 4 trials per record size were short" in ran.err
    assert "its confirmation had 3 rounds" in ran.err
    kept = yaml.safe_load((tmp_path / "embedded-500-quick" / "study.yaml").read_text())
    assert (kept["search"]["trials"], kept["confirm"]["rounds"], kept["executor"]) == (4, 3, {"kind": "simulated"})
    unconfirmed = tuner(*words, "--trials", "4", "--rounds", "0", "--name", "unconfirmed")
    assert "its 4 trials per record size were short. The same command" in unconfirmed.err


def test_a_plan_names_the_client() -> None:
    words = ("plan", "--record-bytes", "500")
    assert f"client    {librdkafka().label}\n" in tuner(*words).out
    named = tuner(*words, "--client", "java:3.9.1")
    assert "client    Java 3.9.1 (its jars are fetched when it is first used)\n" in named.out
    assert tuner(*words, "--client", "java:3.9.1", "--json").json["client"] == {"kind": "java", "version": "3.9.1"}


def test_a_plan_without_a_confirmation_does_not_mention_one() -> None:
    plan = tuner("plan", "--record-bytes", "500", "--rounds", "0", "--max-bytes", "1GB")
    assert plan.code == 0, plan.err
    told = plan.out + plan.complaint
    assert "too little for a search of a few trials, which takes" in told
    assert not any(word in told for word in ("to confirm", "confirmation", "rounds are needed"))


def time_of(seconds: float) -> str:
    """Return a duration as messages show it."""
    return str(datetime.timedelta(seconds=math.ceil(seconds)))


@pytest.mark.parametrize(
    "given",
    [{}, {"trials": 2}, {"rounds": 2, "goals": [Goal.LATENCY]}, {"quick": True}],
    ids=lambda given: " and ".join(given) or "default",
)
def test_too_short_a_time_is_refused_with_the_least(given: dict[str, Any]) -> None:
    asked = StudyFromOptions(record_bytes="500", hours=0.03, **given)
    least_s = estimate.least_s(asked.study()[0])
    with pytest.raises(typer.BadParameter) as refused:
        asked.check_limits(asked.study()[0])
    said = str(refused.value)
    assert f"at least {time_of(least_s)}, but may take only 0:01:48 (0.03 h); give at least --hours " in said
    quick_s = estimate.least_s(described(**{**given, "record_bytes": "500", "quick": True}))
    assert (f"With --quick, the study takes at least {time_of(quick_s)}. Fewer rounds" in said) is not asked.quick
    hours = float(said.partition("give at least --hours ")[2].partition(". ")[0])
    enough = replace(asked, hours=hours)
    enough.check_limits(enough.study()[0])


def test_too_few_bytes_are_refused_with_the_least() -> None:
    asked = StudyFromOptions(record_bytes="500", max_bytes=10**9)
    with pytest.raises(
        typer.BadParameter, match=r"may send 1 GB; give at least --max-bytes [12]\.[0-9]+GB\. "
    ) as refused:
        asked.check_limits(asked.study()[0])
    enough = replace(
        asked, max_bytes=common_options.parse_size(str(refused.value).partition("--max-bytes ")[2].split(". ")[0])
    )
    enough.check_limits(enough.study()[0])


def test_a_limit_that_is_too_low_in_a_file_is_named_with_file_and_key(tmp_path: Path, studies: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text("workload: {record_bytes: 500}\nsearch: {max_bytes: 1KB}\n")
    refused = tuner("plan", str(file)).complaint
    assert f"{file}, search.max_bytes: a study must be able to search" in refused
    assert "but may send 1 kB; give at least " in refused
    assert "--quick" not in refused, "its time says nothing about bytes"
    by_option = tuner("plan", str(file), "--max-bytes", "2KB").complaint
    assert str(file) not in by_option
    assert "give at least --max-bytes " in by_option


def test_plan_refuses_an_end_that_has_passed_as_run_does(studies: Path) -> None:
    words = ("--record-bytes", "500", "--executor", "local", "--until", "2020-01-01 07:00")
    for command in ("plan", "run"):
        refused = tuner(command, *words)
        assert refused.code == 1
        assert "no trial may start after 2020-01-01 07:00" in refused.err


def test_an_end_that_is_too_early_is_refused_with_the_earliest(studies: Path) -> None:
    soon, early = (
        f"{datetime.datetime.now() + datetime.timedelta(minutes=minutes):%Y-%m-%d %H:%M}" for minutes in (9, 90)
    )
    words = ("--record-bytes", "500", "--executor", "local", "--until", soon)
    assert tuner("plan", *words).code == 2
    refused = tuner("run", *words)
    assert refused.code == 2, refused.err
    assert f"but should end at {soon}, which is in 0:0" in refused.complaint
    least = refused.complaint.partition("give at least --until '")[2][: len(soon)]
    assert soon < least < early
    assert not studies.exists()
    StudyFromOptions(record_bytes="500", until=least).check_limits(described(record_bytes="500", until=least))


def test_limits_that_are_enough_and_simulated_studies_are_accepted() -> None:
    for given in ({"hours": 2.0}, {"max_bytes": 10**11}, {"hours": 0.01, "executor": Executor.SIMULATED}, {}):
        asked = StudyFromOptions(record_bytes="500", **given)
        asked.check_limits(asked.study()[0])


def test_a_plan_says_its_limits_and_constraints_in_sentences() -> None:
    words = (
        "--trials",
        "9",
        "--until",
        "06:30",
        "--constraint",
        "latency_p99_ms <= 25",
        "--constraint",
        "mb_per_s >= 1",
    )
    plan = tuner("plan", "--executor", "simulated", *words)
    assert "limits    latency_p99_ms <= 25 and mb_per_s >= 1, for a recommended config\n" in plan.out
    assert (
        "; trials that can no longer win are stopped early, so it may take less; no trial of the search starts after"
        in plan.out
    )


def test_a_plan_shows_the_least_time_and_warns_of_few_bytes() -> None:
    plan = tuner("plan", "--quick", "--record-bytes", "500", "--max-bytes", "10GB")
    least = duration(60 * math.ceil(estimate.least_s(described(quick=True, record_bytes="500")) / 60))
    assert f"shortest  {least} is possible, with a search of a few trials and the shortest confirmation\n" in plan.out
    assert "at 200 MB/s, 10 GB is too little" in plan.complaint
    planned = tuner("plan", "--quick", "--record-bytes", "500", "--max-bytes", "10GB", "--mb-per-s", "80", "--json")
    assert planned.json["seconds_at_least"] < planned.json["seconds"]
    assert not planned.err


@pytest.mark.usefixtures("studies")
def test_a_study_that_searched_nothing_blames_its_limits() -> None:
    words = ("--quick", "--record-bytes", "500", "--executor", "simulated", "--no-mlflow", "--max-bytes", "1MB")
    ran = tuner("run", *words)
    assert ran.code == 1, ran.err
    assert "embedded-500-quick measured nothing: its limits left too little time or too few bytes" in ran.complaint
    assert "higher limits in time and bytes, or none" in ran.complaint
    assert "tuner front" not in ran.err, "the front is empty"
    assert "nothing was measured: the limits left too little time" in tuner("status", "embedded-500-quick").out


def test_a_quick_study_keeps_the_name_of_the_longer_one_free() -> None:
    assert described(quick=True, name="mine").name == "mine-quick"
    assert described(name="mine").name == "mine"


def test_brokers_are_started_only_without_a_cluster() -> None:
    assert described(brokers=3, replication=3).targets[0].brokers == 3
