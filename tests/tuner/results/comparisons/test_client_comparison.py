"""The comparison of librdkafka with the Java client, by studies of runners whose clients differ by known factors."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from runners.errors import GeneratorError
from runners.measurements.measurement import Measurement
from runners.runner import Watch, go_on
from runners.workload import Workload
from search_spaces import ClientKind, ProducerConfig, java
from tests.helpers.studies import Steady, Told, of_kind, on_record, simulated_study
from tuner.execution.studies.run import measure_study
from tuner.model.errors import StudyError
from tuner.model.trial import TrialKind
from tuner.present.comparisons.client_comparison_view import client_comparison_lines, comparison_warnings
from tuner.results.comparisons.client_comparison import ClientComparison, ClientsToCompare, Side, comparison_of

ROUNDS = 3
TUNED = Side(ProducerConfig.parse({"linger.ms": 20, "compression.type": "lz4"}, java()), "tuned.properties")
UNANSWERED = Side(ProducerConfig.parse({"acks": 0}), "unanswered.properties")


@dataclass(frozen=True, slots=True)
class Slower:
    """A runner on which the Java client delivers a share of what it would deliver otherwise.

    Attributes:
        share: The share; with 0 the Java client fails.
    """

    share: float

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """Simulate."""
        seen = Steady().run(config, workload, watch)
        if config.client.kind is ClientKind.LIBRDKAFKA or workload.rate_records_per_s is not None:
            return seen
        if not self.share:
            raise GeneratorError("no Java today")
        return replace(seen, records=round(seen.records * self.share), value_bytes=seen.value_bytes * self.share)


def compared(folder: Path, clients: ClientsToCompare, share: float = 0.5) -> ClientComparison:
    study = simulated_study((1000,), trials=1, burn_in_max=0)
    spec = clients.study(replace(study, workload=replace(study.workload, rate_records_per_s=1_000.0)))
    return comparison_of(measure_study(spec, "", folder, Told(), simulated=Slower(share)), clients)


def test_each_ratio_is_that_of_the_means_and_says_which_client_is_better(tmp_path: Path) -> None:
    found = compared(tmp_path, ClientsToCompare(rounds=ROUNDS))
    (pair,) = found.pairs
    ours, theirs = (
        next(each.metrics for each in found.sides if each.side.kind is kind)
        for kind in (ClientKind.JAVA, ClientKind.LIBRDKAFKA)
    )
    assert set(pair.ratios) == {"mb_per_s", "latency_p99_ms", "client_cpu_ms_per_mb"}
    for metric, ratio in pair.ratios.items():
        assert ratio.value == pytest.approx(ours[metric] / theirs[metric]), metric
        assert ratio.low <= ratio.value <= ratio.high
        assert ratio.rounds == ROUNDS
    assert pair.ratios["mb_per_s"].high < 1 < pair.ratios["client_cpu_ms_per_mb"].low
    assert pair.better("mb_per_s") is pair.better("client_cpu_ms_per_mb") is ClientKind.LIBRDKAFKA
    assert not pair.not_compared
    said = "\n".join(client_comparison_lines(found))
    assert f"java {java().version} at their defaults:" in said
    assert "librdkafka's in these rounds: librdkafka is faster" in said
    assert "the guarantees differ" in said, "only the Java client is idempotent by default"


def test_the_faster_client_is_named_whichever_it_is(tmp_path: Path) -> None:
    (pair,) = compared(tmp_path, ClientsToCompare(rounds=ROUNDS), share=20.0).pairs
    assert pair.better("mb_per_s") is pair.better("client_cpu_ms_per_mb") is ClientKind.JAVA


def test_a_given_config_is_measured_in_the_same_rounds_and_compared_with_the_other_clients_defaults(
    tmp_path: Path,
) -> None:
    found = compared(tmp_path, ClientsToCompare(given={ClientKind.JAVA: TUNED}, rounds=ROUNDS))
    rounds = of_kind(on_record(tmp_path), TrialKind.CONFIRM)
    configs = {each.side.config.fingerprint for each in found.sides}
    assert len(configs) == 3
    in_rounds = {number: {trial.fingerprint for trial in rounds if trial.round == number} for number in range(ROUNDS)}
    assert in_rounds == dict.fromkeys(range(ROUNDS), configs)
    assert len(rounds) == 3 * ROUNDS
    assert {trial.client for trial in rounds} == {"librdkafka", java().identity}
    defaults, given = found.pairs
    assert [side.source for side in defaults.sides.values()] == ["", ""]
    assert given.sides[ClientKind.JAVA] == TUNED
    assert given.sides[ClientKind.LIBRDKAFKA] == defaults.sides[ClientKind.LIBRDKAFKA]
    assert given.ratios["mb_per_s"].level > 0.98, "six ratios share the error rate"
    record = found.as_json()
    assert [each["name"] for each in record["sides"]] == ["librdkafka", "java", "java with tuned.properties"]
    assert record["pairs"][1]["java_to_librdkafka"]["mb_per_s"]["value"] == given.ratios["mb_per_s"].value
    assert "java with tuned.properties and librdkafka at its defaults:" in client_comparison_lines(found)


def test_a_config_without_acknowledgements_has_no_latency_to_compare(tmp_path: Path) -> None:
    found = compared(tmp_path, ClientsToCompare(given={ClientKind.LIBRDKAFKA: UNANSWERED}, rounds=2))
    _, pair = found.pairs
    assert set(pair.ratios) == {"mb_per_s", "client_cpu_ms_per_mb"}
    assert pair.not_compared["latency_p99_ms"] == (
        "with acks=0 brokers do not answer, so librdkafka with unanswered.properties has no latency"
    )
    names = ("librdkafka", java().identity)
    assert set(comparison_warnings(found)) == {f"{name}: simulated, not measured" for name in names}


def test_the_latency_of_a_client_that_falls_behind_is_not_compared(tmp_path: Path) -> None:
    """Its queue grows until the end, so that a longer load would give another ratio."""
    clients = ClientsToCompare(rounds=ROUNDS)
    study = simulated_study((1000,), trials=1, burn_in_max=0)
    fast = replace(study.workload, rate_records_per_s=400_000.0)  # more than the Java client's defaults reach
    spec = clients.study(replace(study, workload=fast))
    found = comparison_of(measure_study(spec, "", tmp_path, Told(), simulated=Steady()), clients)
    (pair,) = found.pairs
    assert set(pair.ratios) == {"mb_per_s", "client_cpu_ms_per_mb"}
    assert pair.not_compared["latency_p99_ms"] == (
        "the fixed rate was not held (java in 3 of 3 rounds), so the latency shows how far the client fell behind"
    )


def test_neither_is_the_latency_compared_by_the_few_rounds_in_which_librdkafka_held_the_rate(tmp_path: Path) -> None:
    clients = ClientsToCompare(rounds=5)
    study = simulated_study((1000,), trials=1, burn_in_max=0)
    spec = clients.study(replace(study, workload=replace(study.workload, rate_records_per_s=1_000.0)))
    results = measure_study(spec, "", tmp_path, Told(), simulated=Steady())
    (size,) = results.sizes
    trials = [
        replace(trial, metrics={**trial.metrics, "held_rate_ratio": 0.5})
        if trial.client == "librdkafka" and trial.round in (0, 1, 2)
        else trial
        for trial in size.trials
    ]
    (pair,) = comparison_of(replace(results, sizes=(replace(size, trials=tuple(trials)),)), clients).pairs
    assert set(pair.ratios) == {"mb_per_s", "client_cpu_ms_per_mb"}
    assert pair.not_compared["latency_p99_ms"].startswith("the fixed rate was not held (librdkafka in 3 of 5 rounds)")


def test_a_mix_of_sizes_is_named_in_percent(tmp_path: Path) -> None:
    found = compared(tmp_path, ClientsToCompare(rounds=2))
    mixed = replace(found, record_bytes="100:0.666666666667,1000:0.333333333333")
    assert next(client_comparison_lines(mixed)).startswith("records of 100 B (66.7 %) and 1000 B (33.3 %), each config")


def test_a_client_that_cannot_be_measured_is_an_error_with_its_cause(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"at least two rounds that measured both clients.*no Java today"):
        compared(tmp_path, ClientsToCompare(rounds=2), share=0.0)
