"""`tuner init`, `plan`, `schema` and `run` as a user types them, without a broker."""

import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from search_spaces.librdkafka.knobs import KNOBS
from tests.helpers.command import tuner
from tuner.study_file import read_study_file

_STUDY = """\
study: small
workload:
  record_bytes: [100, 1000]
  saturate: {warmup: 1s, measured: 1s}
  paced: {warmup: 1s, measured: 1s}
search: {trials: 6, startup_trials: 3, burn_in_max: 1}
confirm: {rounds: 2, undo_rounds: 0}
executor: {kind: simulated}
"""


def test_init_writes_a_file_that_plan_reads_and_the_schema_accepts(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    assert tuner("init", str(path)).code == 0
    plan = tuner("plan", str(path), "--json")
    assert plan.code == 0, plan.err
    planned = json.loads(plan.out)
    assert planned["study"] == "mine"
    schema = json.loads(tuner("schema").out)
    jsonschema.validate(yaml.safe_load(path.read_text()), schema)


def test_init_prints_a_next_command_that_can_be_pasted(tmp_path: Path) -> None:
    path = tmp_path / "zwei worte.yaml"
    said = tuner("init", str(path)).err
    assert f"next: tuner plan '{path}'" in said
    assert 'a study can\'t have the name of this file, so the file says study: "zwei-worte"' in said
    assert "zwei-worte" in tuner("plan", str(path)).out


def test_the_plan_of_a_simulated_study_says_that_nothing_is_sent(tmp_path: Path) -> None:
    path = tmp_path / "night.yaml"
    path.write_text("target: {bootstrap: 'prod:9092'}\nworkload: {record_bytes: 100}\n")
    words = ("plan", str(path), "--executor", "simulated")
    plan = tuner(*words, "--max-bytes", "1000")
    assert "target    simulated\n" in plan.out
    assert "bytes     none; a real study would send at most 1 kB (the study's limit)\n" in plan.out
    assert "creates   nothing; a model computes the numbers, and nothing is sent\n" in plan.out
    assert "1 kB is too little for" in plan.complaint
    assert tuner(*words, "--json").json["targets"] == ["simulated"]
    assert "creates   one topic at a time on a broker" in tuner("plan", "--record-bytes", "100").out


def test_init_with_an_address_writes_a_file_for_that_cluster(tmp_path: Path) -> None:
    path = tmp_path / "overnight.yaml"
    assert tuner("init", str(path), "--bootstrap", "kafka1:9092,[::1]:9093").code == 0
    spec, text = read_study_file(path, {})
    assert [target.bootstrap for target in spec.targets] == ["kafka1:9092,[::1]:9093"]
    assert "# Other keys for your cluster" in text


def test_init_overwrites_nothing(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("precious")
    refused = tuner("init", str(path))
    assert refused.code == 2
    assert "is there already" in refused.complaint
    assert path.read_text() == "precious"


def test_plan_says_what_a_study_would_do_and_touches_nothing(tmp_path: Path, studies: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(_STUDY)
    plan = tuner("plan", str(path))
    assert plan.code == 0, plan.err
    for expected in ("100 B: 6", " min if all", "GB", "linger.ms", "combinations", "rule:", "nothing is sent"):
        assert expected in plan.out
    assert not studies.exists()


def test_plan_shows_the_baseline_beside_the_default(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(_STUDY + "baseline: {acks: 1, linger.ms: 20}\nspace: {acks: all}\n")
    plan = tuner("plan", str(path))
    assert plan.code == 0, plan.err
    assert "baseline  acks=1 linger.ms=20\n" in plan.out
    rows = [line.split() for line in plan.out.splitlines()]
    assert ["knob", "range", "unit", "client's", "default", "baseline"] in rows
    assert [row[-2:] for row in rows if row[:1] == ["linger.ms"]] == 2 * [["5", "20"]]
    assert [row[-2:] for row in rows if row[:1] == ["batch.size"]] == 2 * [["1000000", "1000000"]]
    assert "in every config: acks=all" in plan.out
    assert json.loads(tuner("plan", str(path), "--json").out)["baseline"] == {"acks": "1", "linger.ms": "20"}
    path.write_text(_STUDY)
    assert "baseline  the client's defaults\n" in tuner("plan", str(path)).out


def test_plan_says_what_new_brokers_and_pauses_cost(tmp_path: Path) -> None:
    path, confirm = tmp_path / "own.yaml", "confirm: {rounds: 4, max_rounds: 4, goals: [latency], new_broker: "

    def planned(extra: str) -> tuple[float, str]:
        path.write_text(f"workload: {{record_bytes: [100, 1000]}}\n{extra}")
        plan = json.loads(tuner("plan", str(path), "--json").out)
        return plan["seconds"], plan["sessions"]

    once_s, nothing = planned(confirm + "never}")
    assert nothing == ""
    anew_s, told = planned(confirm + "each round}")
    assert planned(confirm.replace(", new_broker: ", "}")) == (anew_s, told), "the default on brokers of our own"
    assert anew_s - once_s == pytest.approx(2 * 4 * (20 + 2 * 26))
    assert "each of up to 4 rounds is measured on newly started brokers, which adds up to 5 min" in told
    apart_s, told = planned(confirm + "never, spread_over: 2h}")
    # A round has the baseline, a winner and a burn-in run. After it, the study waits for the rest of half an hour.
    assert apart_s - once_s == pytest.approx(2 * (4 * 26 + 3 * (1800 - 3 * 26)))
    crowded_s, _ = planned(confirm + "never, spread_over: 2m}")
    assert crowded_s - once_s == pytest.approx(2 * 4 * 26), "the rounds take longer than their distance"
    assert "up to 4 rounds are spread over at most 2 h 00 min for a record size, 30 min apart" in told


def test_plan_says_how_much_of_the_time_the_rounds_on_a_users_cluster_get(tmp_path: Path) -> None:
    path = tmp_path / "night.yaml"

    def planned(hours: float, extra: str = "") -> tuple[float, str]:
        path.write_text(
            f"target: {{bootstrap: 'broker:9092'}}\nworkload: {{record_bytes: [100, 1000]}}\n"
            f"search: {{hours: {hours}, trials: 20}}\n{extra}"
        )
        plan = json.loads(tuner("plan", str(path), "--json").out)
        return plan["seconds"] / 3600, plan["sessions"]

    hours, told = planned(12)
    assert hours == 12, "the rounds are spread over all the time that the search leaves"
    assert told.startswith("6 h 00 min per record size, 2 h 00 min of them for at least 8 rounds")
    hours, told = planned(4)
    assert hours < 4, "a block of rounds ends sooner"
    assert told.startswith(
        "the rounds run one after another, so the gain holds only for that time: to spread them, a record"
    )
    assert planned(12, "confirm: {spread_over: 0s}")[1] == ""
    needed, _, has = told.partition(" needs ")[2].partition(", but has ")
    (least_h, least_min), _ = (re.findall(r"\d+", text) for text in (needed, has))
    _, told = planned(2 * (int(least_h) * 60 + int(least_min) - 0.4) / 60)
    assert needed not in told.partition(", but has ")[2], "what is needed is rounded up, and what there is down"


def test_plan_counts_trials_and_bytes(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(_STUDY)
    few = json.loads(tuner("plan", str(path), "--json").out)
    path.write_text(_STUDY.replace("trials: 6", "trials: 60"))
    many = json.loads(tuner("plan", str(path), "--json").out)
    assert [size["trials"] for size in few["sizes"]] == [6, 6]
    each_s = (many["seconds"] - few["seconds"]) / (2 * (60 - 6))
    assert 4.5 < each_s < 7, "each of the two sizes has 54 trials more"
    assert many["bytes_at_most"] / few["bytes_at_most"] == pytest.approx(many["seconds"] / few["seconds"], rel=0.01)
    path.write_text(_STUDY.replace("trials: 6", "max_bytes: 1GB, trials: 60"))
    assert json.loads(tuner("plan", str(path), "--json").out)["bytes_at_most"] == 10**9


@pytest.mark.parametrize(
    "words",
    [
        ("--method", "grid", "--knob", "linger.ms=0,5,20", "--repeats", "3", "--rounds", "0"),
        ("--method", "grid", "--knob", "linger.ms=0,5,20", "--trials", "60"),
        ("--trials", "40"),
        ("--hours", "12"),
    ],
    ids=["a grid", "a grid with fewer points than trials", "a number of trials", "rounds spread over hours"],
)
def test_run_says_the_time_that_plan_shows(studies: Path, words: tuple[str, ...]) -> None:
    given = (*words, "--bootstrap", "127.0.0.1:9", "--executor", "local")
    planned = re.search(r"^time +about (.+? (?:min|s)\b)", tuner("plan", *given).out, re.MULTILINE)
    assert planned is not None
    ran = tuner("run", *given, "--no-mlflow")
    assert ran.code == 3, "no broker listens there"
    less = "" if "--rounds" in words else ", and less if few rounds are needed"
    assert f"this study takes about {planned[1]}{less}; --quick takes less\n" in ran.err


def test_a_study_runs_to_recommendations_and_is_not_run_again(tmp_path: Path, studies: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(_STUDY)
    ran = tuner("run", str(path), "--no-mlflow", "--json")
    assert ran.code == 0, ran.err
    record = json.loads(ran.out)
    assert [each["record_bytes"] for each in record["recommendations"]] == ["100", "1000"]
    folder = studies / "small"
    assert (folder / "study.yaml").read_text() == _STUDY
    assert (folder / "report.html").stat().st_size > 100_000
    assert (folder / "recommended" / "1000" / "balanced.properties").is_file()
    shown = json.loads(tuner("recommend", "small", "--format", "json").out)["recommendations"]
    of_run = [(each["goal"], each["trial"]) for each in record["recommendations"]]
    assert [(each["goal"], each["trial"]) for each in shown] == of_run, "without --goal, both must choose the same goal"
    again = tuner("run", str(path), "--no-mlflow")
    assert again.code == 0, again.err
    assert "small is finished" in again.err
    assert again.err.count("simulated: a model made these numbers, nothing was measured on Kafka") == 1
    assert "simulated: a model made these numbers, nothing was measured on Kafka" in tuner("recommend", "small").err


def test_the_number_of_trials_of_a_grid_is_known_from_the_start(tmp_path: Path, studies: Path) -> None:
    path = tmp_path / "small.yaml"
    off = "".join(f"  {knob.name}: off\n" for knob in KNOBS if knob.name not in ("linger.ms", "acks"))
    grid = _STUDY.replace("trials: 6", "method: grid, trials: 60, baseline_every: 4").replace("rounds: 2", "rounds: 0")
    path.write_text(grid + "space:\n  linger.ms: {choices: [1, 2, 3, 4, 5]}\n  acks: {choices: [all]}\n" + off)
    planned = [size["trials"] for size in json.loads(tuner("plan", str(path), "--json").out)["sizes"]]
    # The grid has five points, and the baseline is one of them. With baseline_every: 4 the baseline is measured twice.
    assert planned == [6, 6]
    ran = tuner("run", str(path), "--no-mlflow")
    assert " baseline    1/6 " in ran.err
    assert " search      6/6 " in ran.err
    sizes = json.loads(tuner("status", "small", "--json").out)["sizes"]
    assert [(size["done"], size["total"]) for size in sizes] == [(6, 6), (6, 6)]


@pytest.mark.campaign
def test_without_a_recommendation_there_is_no_config_to_paste(tmp_path: Path, studies: Path) -> None:
    path = tmp_path / "small.yaml"
    words = ("run", str(path), "--no-mlflow")
    path.write_text(_STUDY)
    assert "config to paste: tuner recommend small --record-bytes 100 " in tuner(*words).err
    path.write_text(_STUDY.replace("study: small", "study: tight\nconstraints: [latency_p99_ms <= 0.01]"))
    ran = tuner(*words)
    assert ran.code == 5
    assert "config to paste" not in ran.err
    assert "`tuner front tight` shows how near the configs came" in ran.complaint
    assert tuner("front", "tight").out.count("latency_p99_ms <= 0.01: missed by 6 of 6 trials; best") == 2


@pytest.mark.campaign
def test_options_write_the_study_file_that_they_stand_for(tmp_path: Path, studies: Path) -> None:
    current = tmp_path / "producer.properties"
    current.write_text("linger.ms=20\nacks=1\n")
    ran = tuner(
        "run", "--record-bytes", "100,1000", "--current", str(current), "--name", "mine", "--trials", "3",
        "--executor", "simulated", "--no-mlflow", "--json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    written = yaml.safe_load((studies / "mine" / "study.yaml").read_text())
    assert written["workload"]["record_bytes"] == [100, 1000]
    assert written["baseline"] == str(current)
    baseline = json.loads(ran.out)["recommendations"][0]["baseline"]
    assert "acks=1" in baseline["guarantee"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["missing.yaml"], "missing.yaml"),
        (["--record-bytes", "none"], "record"),
        (["--bootstrap", "here:9092", "--container", "apache/kafka"], "container"),
        (["--record-bytes", "100", "--durability", "most"], "durability"),
        (["--record-bytes", "100", "--until", "25:00"], "until"),
    ],
)
def test_wrong_input_is_one_clear_error(words: list[str], expected: str, studies: Path) -> None:
    refused = tuner("run", *words)
    assert refused.code == 2, refused.err
    assert expected in refused.complaint
    assert "Traceback" not in refused.err
    assert not studies.exists()


@pytest.mark.parametrize("command", [["plan"], ["run", "--no-mlflow"]], ids=lambda words: words[0])
def test_a_study_with_nothing_to_search_is_refused_before_it_begins(
    tmp_path: Path, studies: Path, command: list[str]
) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(f"{_STUDY}space: {{{', '.join(f'{knob.name}: off' for knob in KNOBS)}}}\n")
    refused = tuner(*command, str(path))
    assert refused.code == 2, refused.err
    assert "small.yaml, line 9, space: nothing is left to search: every knob is fixed or off" in refused.complaint
    assert "tuner verify" in refused.complaint
    assert not refused.out
    assert not studies.exists()


def test_latency_is_no_objective_if_the_baseline_has_none(tmp_path: Path, studies: Path) -> None:
    current = tmp_path / "producer.properties"
    current.write_text("acks=0\n")
    words = ("run", "--record-bytes", "100", "--current", str(current), "--executor", "simulated", "--no-mlflow")
    refused = tuner(*words)
    assert refused.code == 2, refused.err
    assert f"needs a baseline that waits for acknowledgements, but {current} has acks=0" in refused.complaint
    assert "set `objectives: throughput`, or use a baseline with acks=1 or acks=all" in refused.complaint
    assert not studies.exists()
    ran = tuner(*words, "--objectives", "throughput", "--trials", "3", "--json")
    assert ran.code == 0, ran.err
    assert "acks=0" in json.loads(ran.out)["recommendations"][0]["baseline"]["guarantee"]


def test_a_wrong_properties_file_is_no_wrong_use_of_the_command(tmp_path: Path, studies: Path) -> None:
    current = tmp_path / "producer.properties"
    current.write_text("linger.ms=5\nfoo.bar=3\n")
    refused = tuner("plan", "--record-bytes", "100", "--current", str(current))
    assert refused.code == 2
    assert refused.err.startswith(f"error: --current: {current}: librdkafka has no property 'foo.bar'")
    assert "Usage:" not in refused.err


@pytest.mark.parametrize("client", ["java", "librdkafka"])
def test_a_transactional_producer_gets_no_lower_guarantee(tmp_path: Path, studies: Path, client: str) -> None:
    current = tmp_path / "producer.properties"
    current.write_text("transactional.id=x\nlinger.ms=20\n")
    words = ("plan", "--record-bytes", "100", "--current", str(current), "--current-client", client)
    for durability in ("leader", "ordered"):
        refused = tuner(*words, "--durability", durability)
        assert refused.code == 2, refused.err
        assert (
            f"{current}: durability takes baseline or idempotent, because transactional.id is set and such a producer "
            f"must be idempotent, not '{durability}'"
        ) in refused.complaint
    for durability in ("baseline", "idempotent"):
        assert tuner(*words, "--durability", durability).code == 0
    knob = tuner(*words, "--knob", "acks=1")
    assert knob.code == 2, knob.err
    assert "acks=all, ordered, no duplicates" in knob.complaint


def test_a_study_file_and_options_for_its_settings_exclude_each_other(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(_STUDY)
    refused = tuner("run", str(path), "--record-bytes", "100")
    assert refused.code == 2
    assert "--record-bytes and a study file exclude each other" in refused.complaint


def test_a_plan_shows_the_deadline_of_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(_STUDY)
    assert "time      no trial of the search starts after 06:30\n" in tuner("plan", str(path), "--until", "6:30").out
    refused = tuner("plan", str(path), "--until", "2026-02-30 06:30")
    assert refused.code == 2
    assert "a time must read like 07:00 or 2026-11-25 07:00" in refused.complaint
