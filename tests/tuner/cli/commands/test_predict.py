"""`tuner predict` on a simulated study, whose truth is known, and `tuner cost`."""

import re
import shlex
from pathlib import Path

import pytest

from runners.performance_model.constants import EMBEDDED
from runners.performance_model.performance import performance
from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig
from tests.helpers.command import tuner
from tests.helpers.invented_studies import baseline, confirming, study, trial
from tuner.results.study_results import SIMULATED

pytestmark = pytest.mark.campaign


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one simulated study, `small`."""
    folder = tmp_path_factory.mktemp("studies")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KAFKA_TUNER_STUDIES", str(folder))
        words = ("--name", "small", "--record-bytes", "1000", "--trials", "14", "--executor", "simulated")
        ran = tuner("run", *words, "--no-mlflow", "--quiet")
    assert ran.code == 0, ran.err
    return folder


@pytest.fixture(autouse=True)
def here(studies: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_TUNER_STUDIES", str(studies))


def test_a_study_is_calibrated_by_its_own_trials() -> None:
    ran = tuner("predict", "small", "-X", "linger.ms=20", "-X", "batch.size=200000", "--json")
    assert ran.code == 0, ran.err
    asked = ran.json["predictions"]["changed"]
    assert asked["config"]["linger.ms"] == "20"
    load = Workload(
        RecordSizes.fixed(1000),
        compressibility_ratio=asked["compressibility_ratio"],
        partitions=asked["partitions"],
    )
    truth = performance(EMBEDDED, ProducerConfig.parse(asked["config"]), load)
    told = asked["metrics"]["records_per_s"]
    assert told["low"] < truth.records_per_s < told["high"]
    assert told["value"] == pytest.approx(truth.records_per_s, rel=0.15)
    assert asked["metrics"]["latency_p50_ms"]["value"] > 0
    assert len(ran.json["predictions"]) == 2


def test_what_if_is_the_long_name_of_x() -> None:
    short, long = (
        tuner("predict", "small", option, "linger.ms=20", option, "batch.size=200000", "--json")
        for option in ("-X", "--what-if")
    )
    assert long.code == 0, long.err
    assert long.json == short.json


def test_the_table_says_that_it_is_an_estimate_and_what_binds() -> None:
    ran = tuner("predict", "small")
    assert ran.code == 0, ran.err
    assert "these numbers are estimated by a model, and were not measured" in ran.out
    assert "bound by (model)" in ran.out
    assert "of the model's 29 constants" in ran.out
    assert "stored by all replicas, GB per day, at the fixed rate" in ran.out
    assert ran.out.startswith(SIMULATED)
    assert "measured combinations of a config and a load of" in ran.out
    assert SIMULATED in tuner("predict", "small", "--json").err


def test_the_command_that_measures_a_prediction_names_its_config_and_load() -> None:
    words = ("predict", "small", "-X", "linger.ms=20", "--rate", "20000", "--partitions", "2")
    told = tuner(*words, "--json").json["predictions"]["changed"]
    said = shlex.split(told["command"])
    assert said[:2] == ["tuner", "bench"]
    load = ["--record-bytes", "1000", "--compressibility", "0.5", "--partitions", "2", "--replication", "1"]
    assert said[2:14] == ["--client", "librdkafka", *load, "--rate", "20000"]
    assert said[14:] == [word for name, value in told["config"].items() for word in ("-X", f"{name}={value}")]
    assert tuner(*words).out.endswith(f"\nMeasure it: {told['command']}\n")
    assert tuner(*words, "--producers", "2", "--json").json["predictions"]["changed"]["command"] is None


def test_cpu_time_is_reported_as_it_was_measured() -> None:
    told = tuner("predict", "small", "--json").json["predictions"]
    metrics = next(iter(told.values()))["metrics"]
    trials = [each for each in tuner("trials", "small", "--json").json["trials"] if each["kind"] == "search"]
    for name in ("client_cpu_ms_per_mb", "broker_cpu_ms_per_mb"):
        measured = [each[name] for each in trials if each.get(name)]
        assert min(measured) / 2 < metrics[name]["value"] < max(measured) * 2


def test_a_disk_is_full_after_some_days() -> None:
    words = ("predict", "small", "--rate", "10000", "--disk", "1TB", "--brokers", "3")
    told = tuner(*words, "--json").json["predictions"]
    for each in told.values():
        assert each["disk_full_after_days"] == pytest.approx(3_000 / each["stored_gb_per_day"])
        stored, full = (each["intervals"][name] for name in ("stored_gb_per_day", "disk_full_after_days"))
        assert stored["low"] < each["stored_gb_per_day"] < stored["high"]
        assert (full["low"], full["high"]) == pytest.approx((3_000 / stored["high"], 3_000 / stored["low"]))
    plain = 10_000 * 1_000 * 86_400 / 1e9
    assert 0.4 * plain < told["changed"]["stored_gb_per_day"] < 1.1 * plain
    assert "disks full after, days" in tuner(*words).out


def test_a_broker_holds_whole_replicas() -> None:
    words = ("predict", "small", "--rate", "10000", "--disk", "1TB", "--brokers", "2", "--json")
    three = tuner(*words, "--partitions", "3").json["predictions"]["changed"]
    four = tuner(*words, "--partitions", "4").json["predictions"]["changed"]
    # Of three replicas, one broker has two. Of four, each broker has two, and each replica gets fewer records.
    assert three["disk_full_after_days"] == pytest.approx(1_000 / three["stored_gb_per_day"] * 3 / 2)
    assert four["disk_full_after_days"] == pytest.approx(1_000 / four["stored_gb_per_day"] * 4 / 2)


def test_latencies_that_can_not_be_predicted_have_a_reason() -> None:
    fast = tuner("predict", "small", "--rate", "50000000", "--json").json["predictions"]["changed"]
    assert (fast["falls_behind"], fast["no_latency"]) == (True, "falls behind the rate")
    assert not {"latency_p50_ms", "latency_p99_ms"} & {*fast["metrics"]}
    assert "falls behind the rate" in tuner("predict", "small", "--rate", "50000000").out


def test_stored_bytes_above_the_throughput_are_those_at_full_speed() -> None:
    ran = tuner("predict", "small", "--rate", "50000000")
    assert "stored by all replicas, GB per day, at the fixed rate, or at full speed where that is lower" in ran.out
    stored = [
        tuner("predict", "small", "--rate", rate, "--json").json["predictions"]["changed"]["stored_gb_per_day"]
        for rate in ("50000000", "100000000")
    ]
    assert stored[0] == pytest.approx(stored[1])


def test_a_retention_limit_may_come_before_the_disk_is_full() -> None:
    words = ("predict", "small", "--rate", "10000", "--partitions", "4", "--brokers", "2", "--retention", "6h")
    asked = tuner(*words, "--json").json["predictions"]["changed"]
    assert asked["kept_days"] == 0.25
    a_segment_each = 4 * (1 << 30) / 1e9 / 2
    late_days = (5 + 1) / (24 * 60)  # log.retention.check.interval.ms and file.delete.delay.ms
    assert asked["kept_gb_per_broker"] == pytest.approx(
        asked["stored_gb_per_day"] * (1 / 8 + late_days / 2) + a_segment_each
    )
    assert "disk_full_after_days" not in asked
    by_bytes = tuner(*words, "--retention-bytes", "1GB", "--disk", "1TB", "--json").json["predictions"]["changed"]
    assert by_bytes["kept_days"] == pytest.approx(4 / asked["stored_gb_per_day"]), "four partitions with 1 GB each"
    assert by_bytes["kept_gb_per_broker"] == pytest.approx(
        2.0 + asked["stored_gb_per_day"] * late_days / 2 + a_segment_each
    )
    assert by_bytes["disk_full_after_days"] is None
    text = tuner(*words, "--retention-bytes", "1GB", "--disk", "1TB").out
    assert re.search(r"disks full after, days +never +never", text)
    assert "kept on each broker, at most, GB" in text
    too_small = tuner(*words, "--retention-bytes", "1GB", "--disk", "4GB", "--json").json["predictions"]["changed"]
    assert too_small["disk_full_after_days"] == pytest.approx(8 / asked["stored_gb_per_day"])
    small_disk = tuner(*words, "--disk", "10GB", "--json").json["predictions"]["changed"]
    assert 0 < small_disk["disk_full_after_days"] < small_disk["kept_days"]


def test_several_producers_share_the_load() -> None:
    told = tuner("predict", "small", "--producers", "3", "--rate", "20000", "--json").json["predictions"]
    (_, one), (_, three) = told.items()
    assert (one["producers"], three["producers"]) == (1, 3)
    at_rate = ("latency_p50_ms", "latency_p99_ms")
    assert {*at_rate} <= {*three["metrics"]}
    assert three["metrics"]["records_per_s"]["value"] >= one["metrics"]["records_per_s"]["value"]
    assert "3 producers" in tuner("predict", "small", "--producers", "3").out


def test_a_study_with_several_producers_tells_what_one_would_do(tmp_path: Path) -> None:
    file = tmp_path / "pair.yaml"
    file.write_text(
        "study: pair\ntarget: {brokers: 1}\nworkload: {record_bytes: [1000], producers: 2}\n"
        "search: {trials: 6}\nconfirm: {rounds: 0}\nexecutor: {kind: simulated}\n"
    )
    ran = tuner("run", str(file), "--no-mlflow", "--quiet")
    assert ran.code == 0, ran.err
    measured = [each for each in tuner("trials", "pair", "--json").json["trials"] if each["kind"] == "baseline"]
    told = tuner("predict", "pair", "-X", "linger.ms=5", "--producers", "1", "--json").json["predictions"]
    first = next(iter(told.values()))
    assert first["producers"] == 2
    assert first["metrics"]["mb_per_s"]["value"] > 0.7 * min(each["mb_per_s"] for each in measured)
    assert told["changed"]["producers"] == 1


def test_a_sweep_has_a_row_for_each_value() -> None:
    told = tuner("predict", "small", "--sweep", "partitions=1..6", "--json").json["predictions"]
    assert list(told) == ["1", "2", "3", "4", "5", "6"]
    lines = tuner("predict", "small", "--sweep", "linger.ms=0,5,20").out.splitlines()
    assert "linger.ms=0: records of 1000 B" in lines[2]
    assert lines[3] == "throughput and batches are at full speed, latencies at the fixed rate"
    assert [line.split()[0] for line in lines[4:]] == ["linger.ms", "0", "5", "20"]


@pytest.mark.parametrize("sweep", ["linger.ms=0,5,20,100", "compression.type=none,lz4,gzip", "partitions=1..4"])
def test_a_sweep_is_drawn(tmp_path: Path, sweep: str) -> None:
    picture = tmp_path / "sweep.png"
    ran = tuner("predict", "small", "--sweep", sweep, "--rate", "20000", "--png", str(picture))
    assert ran.code == 0, ran.err
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert f"picture written to {picture}" in ran.err
    assert tuner("predict", "small", "--sweep", sweep, "--png", str(tmp_path / "sweep.svg")).code == 0
    assert f"<!-- {SIMULATED} -->" in (tmp_path / "sweep.svg").read_text(), "the heading"
    picture.write_text("somebody else's")
    assert tuner("predict", "small", "--sweep", sweep, "--png", str(picture)).code == 2


def test_the_order_of_a_sweep_does_not_change_its_picture(tmp_path: Path) -> None:
    drawn = []
    for name, values in (("up", "0,5,20"), ("mixed", "20,0,5")):
        picture = tmp_path / f"{name}.png"
        assert tuner("predict", "small", "--sweep", f"linger.ms={values}", "--png", str(picture)).code == 0
        drawn.append(picture.read_bytes())
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--record-bytes", "900,1100"), "must have the form SIZE or SIZE:WEIGHT,"),
        (("--replication", "3"), "the replication factor is 3, but only 1 was measured"),
        (("--record-bytes", "10"), "the record size is 10 B"),
        (("--sweep", "replication=2,3"), "the replication factor is 3, but only 1 was measured"),
        (("--rate", "9000", "--disk", "1TB", "--partitions", "3", "--brokers", "0"), "--brokers"),
        (("--producers", "4"), "the number of producers is 4, more than 3 times the largest that was measured, 1"),
        (("--sweep", "producers=0"), "the number of producers must be at least 1"),
        (("--retention", "0s"), "for --retention: the retention time must be at least 1 s, but got 0 s"),
        (("--retention-bytes", "0"), "for --retention-bytes: the retention limit in bytes must be at least 1 B"),
        (("--disk", "0", "--rate", "9000"), "for --disk: the size of a disk must be at least 1 B, but got 0 B"),
        (
            ("--sweep", "linger.ms=0,5", "-X", "linger.ms=2"),
            "a sweep varies linger.ms, so linger.ms can't also have one",
        ),
        (
            ("--sweep", "queue.buffering.max.ms=0,5", "-X", "linger.ms=2"),
            "a sweep varies linger.ms, so linger.ms can't",
        ),
        (("--sweep", "rate=1,5", "--rate", "9"), "a sweep varies rate, so rate can't also have one value"),
        (
            ("--sweep", f"partitions=1..{'9' * 5000}"),
            "a value of a sweep must have at most 200 characters, but one has",
        ),
        (("--sweep", f"rate=5,{'9' * 5000}"), "for --sweep: a value of a sweep must have at most 200 characters"),
        (("--sweep", "linger.ms=5,5"), "a sweep takes each value once, but got '5,5'"),
        (("--sweep", "linger.ms=5,20,5.0"), "a sweep takes each value once, but got '5,20,5.0'"),
        (("--sweep", "acks=all,-1"), "a sweep takes each value once, but got 'all,-1'"),
        (("--retention", "604800000"), "a retention time must read like 7d, 12h or 604800s, with its unit"),
        (("--retention", "-1d"), "a retention time must read like 7d, 12h or 604800s, with its unit, but got '-1d'"),
        (("--sweep", "linger.ms=0,5", "--sweep", "acks=1"), "--sweep takes one setting, but got linger.ms=0,5 and"),
        (("--rate", "9", "--disk", "1TB", "--brokers", "1", "--replication", "3"), "for --brokers: each replica of a"),
        (("--brokers", "3"), "for --brokers: the number of brokers needs the size of a disk or a retention limit"),
        (
            ("--retention", "7d", "--sweep", "linger.ms=0,5"),
            "for --sweep: a disk or a retention limit and a sweep exclude each other",
        ),
        (("--disk", "much"), "--disk"),
        (("--png", "sweep.png"), "--png draws a sweep"),
        (("--png", "sweep.gif", "--sweep", "linger.ms=0,5"), "must end in .png, .svg or .pdf"),
        (("--sweep", "record_bytes=100:70,1000:30"), "a sweep takes single record sizes and no mix"),
        (("--sweep", "brokers=1,2"), "a sweep takes a producer property or one of record_bytes, rate, partitions"),
        (("--sweep", "rate=0"), "for --sweep: rate must be a number from 1 to 100,000,000, but got 0"),
        (("--sweep", "compressibility=0.995"), "compressibility must be a number from 0 to 0.99, but got 0.995"),
        (("--rate", "1e9"), "'--rate'"),
        (("--sweep", "linger.ms"), "a sweep must be SETTING=VALUES"),
        (("--sweep", "=3"), "a sweep must be SETTING=VALUES, such as linger.ms=0,5,20, but got '=3'"),
        (
            ("--sweep", "linger.ms=0..1.5"),
            "a range of a sweep must be two whole numbers, such as 1..24, but got '0..1.5'",
        ),
        (
            ("--sweep", "partitions=1..3,6"),
            "a range of a sweep must be two whole numbers, such as 1..24, but got '1..3,6'",
        ),
        (("--sweep", "partitions=1,x"), "partitions must be a whole number"),
        (("--sweep", "linger.ms=1,,2"), "a value of a sweep must not be empty, but got '1,,2'"),
        (("--sweep", "linger.ms=5..0"), "the first number of a sweep must not exceed the last, but got '5..0'"),
        (("--record-bytes", "2500000"), "message.max.bytes"),
        (("-X", "rate=5"), "for -X: rate is no property, but a setting of the load; use --rate"),
        (("-X", "record_bytes=500"), "use --record-bytes"),
        (("-X", "linger.mss=1"), "-X: librdkafka has no property 'linger.mss'"),
    ],
)
def test_what_can_not_be_predicted_is_refused(words: tuple[str, ...], said: str) -> None:
    ran = tuner("predict", "small", *words)
    assert ran.code == 2
    assert said in ran.complaint


def test_another_codec_does_not_keep_the_level_of_the_first_one(tmp_path: Path) -> None:
    file = tmp_path / "zstd.properties"
    file.write_text("compression.type=zstd\ncompression.level=7\n")
    ran = tuner("predict", "small", "--config", str(file), "-X", "compression.type=none", "--json")
    assert ran.code == 0, ran.err
    assert "compression.level" not in ran.json["predictions"]["changed"]["config"]


def test_the_cost_of_what_was_not_measured_is_left_out(studies: Path, tmp_path: Path) -> None:
    best = trial(1, 20.0, 10.0)
    study(studies / "bare", baseline(), best, *confirming(best, 2)).close()
    file = tmp_path / "prices.yaml"
    file.write_text("core_hour: 0.04")
    said = tuner("cost", "bare", str(file)).out
    assert "not measured, so not counted: brokers' CPU\n" in said
    assert "no price given, so not counted: network, disk\n" in said
    assert re.search(r"together +- +-\n", said)
    (size,) = tuner("cost", "bare", str(file), "--json").json["sizes"]
    assert [each["total"] for each in size["per_tb"].values()] == [None, None]


def test_a_terabyte_costs_what_the_study_measured(tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text("{network_gb: 0.01, core_hour: 0.04, currency: EUR}")
    found = tuner("cost", "small", str(file), "--json").json["sizes"][0]["per_tb"]["baseline"]
    wire = next(each for each in tuner("trials", "small", "--json").json["trials"] if each["kind"] == "baseline")
    assert found["network"] == pytest.approx(10 * wire["wire_bytes_per_value_byte"], rel=0.05)
    assert found["disk"] is None
    ran = tuner("cost", "small", str(file))
    assert "1000 B, for 1 TB of values (EUR)" in ran.out
    assert "no price given, so not counted: disk\n" in ran.out
    assert "not measured" not in ran.out
    for asked, said in (("1000", False), ("500", True)):
        ran = tuner("cost", "small", str(file), "--record-bytes", asked)
        assert ("records of 500 B were not measured" in ran.err) is said
        (told,) = tuner("cost", "small", str(file), "--record-bytes", asked, "--json").json["sizes"]
        assert any("records of 500 B were not measured" in each for each in told["warnings"]) is said
    file.write_text("core_hour: -1")
    assert "must be a number from 0 to 1,000,000,000, but got -1" in tuner("cost", "small", str(file)).complaint
    file.write_text("core_hours: 1")
    assert "core_hour" in tuner("cost", "small", str(file)).complaint
