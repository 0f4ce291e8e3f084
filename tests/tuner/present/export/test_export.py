"""Each format of a recommendation is read by the program that it is for."""

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import Producer

from runners.clusters.cluster import RunningCluster
from runners.kafka_tools.performance_tools import producer_performance, write_lines
from search_spaces import DURABILITY, KnobChange, SearchSpace
from search_spaces.client import java, librdkafka
from search_spaces.configs.producer_config import ProducerConfig, same_effect
from search_spaces.files.java_file import read_java
from search_spaces.files.properties_file import parse_properties, read_properties
from search_spaces.translation.to_java import translate_to_java
from tests.conftest import TopicMaker
from tests.helpers.choosers import Random
from tests.helpers.real_librdkafka import values_in_force
from tests.helpers.stored_studies import WINNER, study
from tuner.model.errors import ResultsDamaged
from tuner.model.goals import Goal
from tuner.model.trial import Trial
from tuner.present.changed_properties import Change, changed_values
from tuner.present.export import (
    Format,
    export,
    export_all,
    offered,
    pasted_values,
    recommendation_json,
    recommendation_of,
)
from tuner.present.number_text import shown_metrics
from tuner.present.recommendations.recommendation_words import KEEP, NO_GAIN
from tuner.results.recommendations.recommend import recommend
from tuner.results.recommendations.recommendation import Recommendation, SideEffect


@pytest.fixture(scope="module")
def confirmed(tmp_path_factory: pytest.TempPathFactory) -> Recommendation:
    """Return a winner that was measured again, alternating with the baseline."""
    return recommend(study(tmp_path_factory.mktemp("confirmed")), "1000", Goal.BALANCED)


@pytest.fixture(scope="module")
def unconfirmed(tmp_path_factory: pytest.TempPathFactory) -> Recommendation:
    """Return the best config on the front, measured in one trial."""
    return recommend(study(tmp_path_factory.mktemp("unconfirmed"), rounds=0), "1000", Goal.THROUGHPUT)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Recommendation:
    """Return the recommendation of a study that found nothing better than the baseline."""
    found = recommend(study(tmp_path_factory.mktemp("kept"), trials=1, rounds=0), "1000", Goal.BALANCED)
    assert found.is_baseline
    return found


def in_words(found: Recommendation, form: Format = Format.PROPERTIES) -> str:
    return " ".join(export(found, form).split())


def test_properties_are_read_back_and_taken_by_the_real_client(confirmed: Recommendation, tmp_path: Path) -> None:
    file = tmp_path / "producer.properties"
    file.write_text(export(confirmed, Format.PROPERTIES), encoding="utf-8")
    read = read_properties(file)
    assert read == WINNER
    assert ProducerConfig.parse(read).fingerprint == confirmed.trial.fingerprint
    assert values_in_force(read, WINNER)["compression.type"] == "lz4"


def test_exports_leave_out_what_the_client_does_anyway(confirmed: Recommendation) -> None:
    usual = {"acks": "all", "enable.idempotence": "false", "max.in.flight.requests.per.connection": "1000000"}
    config = ProducerConfig.parse({**WINNER, **usual})
    wordy = replace(confirmed, trial=replace(confirmed.trial, values=config.values, fingerprint=config.fingerprint))
    for form in (Format.PROPERTIES, Format.TABLE, Format.ENV, Format.LIBRDKAFKA):
        assert "max.in.flight" not in export(wordy, form).replace("_", ".").lower()
    assert parse_properties(export(wordy, Format.PROPERTIES)) == WINNER
    assert json.loads(export(wordy, Format.LIBRDKAFKA, everything=True)) == {**WINNER, **usual}
    assert json.loads(export(wordy, Format.JSON))["config"]["values"] == dict(config.values)
    assert "acks=all\n" in export_all([wordy, wordy], Format.PROPERTIES, everything=True)


def test_exports_keep_what_a_property_makes_necessary(confirmed: Recommendation) -> None:
    # With idempotence, the client's default for requests in flight is 5.
    values = {**WINNER, "enable.idempotence": "true", "max.in.flight.requests.per.connection": "5", "acks": "all"}
    config = ProducerConfig.parse(values)
    safe = replace(confirmed, trial=replace(confirmed.trial, values=config.values, fingerprint=config.fingerprint))
    pasted = parse_properties(export(safe, Format.PROPERTIES))
    assert pasted == {**WINNER, "enable.idempotence": "true"}
    assert values_in_force(pasted, config.values)["max.in.flight.requests.per.connection"] == "5"


def test_exports_keep_a_default_where_the_baseline_sets_another_value(confirmed: Recommendation) -> None:
    config = ProducerConfig.parse({**WINNER, "acks": "all"})
    found = replace(
        confirmed,
        trial=replace(confirmed.trial, values=config.values, fingerprint=config.fingerprint),
        baseline=replace(confirmed.baseline, values={"acks": "1"}),
    )
    assert parse_properties(export(found, Format.PROPERTIES)) == {**WINNER, "acks": "all"}
    (row,) = (line.split() for line in export(found, Format.TABLE).splitlines() if line.startswith("acks "))
    assert row == ["acks", "all", "1", "all"]


@pytest.mark.parametrize(
    ("before", "durability", "acks", "reached"),
    [
        ({"acks": "1"}, "all", None, {"acks": "-1"}),
        ({"enable.idempotence": "true"}, "leader", "1", {"acks": "1", "enable.idempotence": "false"}),
        ({"compression.type": "gzip", "compression.level": "9"}, "baseline", None, {"acks": "-1"}),
    ],
)
def test_a_config_pasted_into_the_baselines_file_is_the_measured_one(
    confirmed: Recommendation, before: dict[str, str], durability: str, acks: str | None, reached: dict[str, str]
) -> None:
    baseline = ProducerConfig.parse(before)
    changes = {"acks": KnobChange(value=acks)} if acks else {}
    changes["compression.type"] = KnobChange(value="snappy")
    config = SearchSpace.of(1000, baseline, changes=changes, floor=DURABILITY[durability]).draw(Random(4))
    found = replace(
        confirmed,
        trial=replace(confirmed.trial, values=config.values, fingerprint=config.fingerprint),
        baseline=replace(confirmed.baseline, values=baseline.values),
    )
    record = json.loads(export(found, Format.JSON))
    pasted = (
        parse_properties(export(found, Format.PROPERTIES)),
        json.loads(export(found, Format.LIBRDKAFKA)),
        json.loads(export(found, Format.LIBRDKAFKA, everything=True)),
        record["to_paste"],
    )
    for each in pasted:
        merged = ProducerConfig.parse({**before, **each})
        assert same_effect(merged.effective_values, config.effective_values)
        assert {name: merged.effective(name) for name in reached} == reached
    assert record["config"]["values"] == config.values
    java_values = parse_properties(export(found, Format.JAVA))
    before_in_java = translate_to_java(baseline).properties
    wanted = ProducerConfig.parse(translate_to_java(config).properties, java())
    assert same_effect(read_java({**before_in_java, **java_values}).config.effective_values, wanted.effective_values)


def test_properties_say_where_they_come_from(confirmed: Recommendation) -> None:
    text = in_words(confirmed)
    for words in (
        "study overnight, trial 7",
        "records: 1000 B",
        "goal: balanced",
        "throughput, MB/s: 1.",
        "% interval from 3 rounds, alternating with the baseline)",
        "3 rounds, alternating with the baseline",
        "guarantee: acks=all",
    ):
        assert words in text


def test_librdkafka_json_is_accepted_by_a_confluent_client(confirmed: Recommendation) -> None:
    config = json.loads(export(confirmed, Format.LIBRDKAFKA))
    assert config == WINNER
    Producer({**config, "bootstrap.servers": "127.0.0.1:1", "log_level": 0})


@pytest.mark.parametrize("shell", ["sh"])
def test_a_shell_reads_the_env_format(confirmed: Recommendation, tmp_path: Path, shell: str) -> None:
    file = tmp_path / "producer.env"
    file.write_text(export(confirmed, Format.ENV), encoding="utf-8")
    script = f"set -a; . {file}; env"
    ran = subprocess.run([shell, "-euc", script], capture_output=True, text=True, check=True, env={"PATH": os.defpath})
    seen = dict(line.split("=", 1) for line in ran.stdout.splitlines() if line.startswith("KAFKA_"))
    assert seen == {"KAFKA_" + name.replace(".", "_").upper(): value for name, value in WINNER.items()}


def test_java_and_spring_have_the_translation_and_say_it_is_not_measured(confirmed: Recommendation) -> None:
    translation = translate_to_java(confirmed.config)
    java, spring = export(confirmed, Format.JAVA), export(confirmed, Format.SPRING)
    # The baseline's file may have a level that takes effect with the recommended codec, so the default is written, too.
    pasted = {**translation.properties, "compression.lz4.level": "9"}
    assert parse_properties(java) == pasted == spring_properties(spring)
    for text in (java, spring):
        assert text.startswith("# translated, not measured")
        assert "left out (Kafka's Java producer has no such property): none" in text


def test_properties_that_java_does_not_have_are_named(confirmed: Recommendation) -> None:
    odd = replace(confirmed.trial, values={**WINNER, "batch.num.messages": "5000"})
    text = export(replace(confirmed, trial=odd), Format.SPRING)
    assert "has no such property): batch.num.messages=5000" in text
    assert "[batch.num.messages]" not in spring_properties(text)


@pytest.mark.broker
def test_kafkas_java_producer_accepts_the_translation(
    confirmed: Recommendation, broker: RunningCluster, new_topic: TopicMaker, tmp_path: Path
) -> None:
    report = producer_performance(
        broker.bootstrap,
        new_topic(1).name,
        records=1000,
        payload_file=write_lines(tmp_path / "lines.txt", 100, seed=1),
        properties=spring_properties(export(confirmed, Format.SPRING)),
        timeout_s=60.0,
    )
    assert report.whole.records == 1000
    assert report.complaints == ()


def spring_properties(text: str) -> dict[str, str]:
    """Return the properties as Spring binds them: a key in brackets is one key, with its dots."""
    bound = yaml.safe_load(text)["spring"]["kafka"]["producer"]["properties"]
    assert all(isinstance(value, str) for value in bound.values())
    return {name.removeprefix("[").removesuffix("]"): value for name, value in bound.items()}


def test_json_has_everything_and_reads_back(confirmed: Recommendation) -> None:
    record = json.loads(export(confirmed, Format.JSON))
    assert (record["schema_version"], record["kind"]) == (2, "recommendation")
    assert record["config"]["values"] == WINNER
    assert record["gains"]["mb_per_s"]["low"] > 1.0
    assert record["gains"]["mb_per_s"]["rounds"] == 3
    assert record["baseline"]["guarantee"] == record["guarantee"] == confirmed.trial.guarantee
    assert record["java"]["label"] == "translated, not measured"
    back = recommendation_of(record)
    for form in offered(confirmed.config.client):
        assert export(back, form) == export(confirmed, form)


@pytest.mark.parametrize(
    "broken", [{}, {"kind": "measurement"}, {"schema_version": 3}, {"config": {}}, {"gains": None}, {"goal": "best"}]
)
def test_json_that_is_no_recommendation_is_refused(confirmed: Recommendation, broken: dict[str, Any]) -> None:
    record = {**recommendation_json(confirmed), **broken} if broken else {}
    with pytest.raises(
        ResultsDamaged,
        match=r"a recommendation must have kind|a field of the stored recommendation is missing or has a wrong value",
    ):
        recommendation_of(record)


def test_without_confirmation_no_format_claims_a_gain(unconfirmed: Recommendation) -> None:
    for form in (Format.TABLE, Format.PROPERTIES, Format.ENV, Format.JAVA, Format.SPRING):
        assert NO_GAIN in in_words(unconfirmed, form)
        assert "times better" not in in_words(unconfirmed, form)
    assert json.loads(export(unconfirmed, Format.JSON))["gains"] == {}


def test_an_unconfirmed_config_is_not_for_pasting(unconfirmed: Recommendation, confirmed: Recommendation) -> None:
    again = "measure it again before you use it: tuner confirm overnight --goal throughput --rounds 8"
    for form in (Format.TABLE, Format.PROPERTIES, Format.ENV, Format.JAVA, Format.SPRING):
        assert again in in_words(unconfirmed, form)
        assert again not in in_words(confirmed, form)
    assert "to paste" not in export(unconfirmed, Format.TABLE)


def test_the_baseline_is_recommended_if_nothing_is_better(kept: Recommendation) -> None:
    assert KEEP in in_words(kept)
    assert KEEP in in_words(kept, Format.TABLE)
    assert "(no properties: the client's defaults)" in export(kept, Format.TABLE)
    assert json.loads(export(kept, Format.LIBRDKAFKA)) == {}
    assert json.loads(export(kept, Format.JSON))["is_baseline"] is True
    for form in (Format.PROPERTIES, Format.JAVA):
        assert f", the baseline, trial {kept.trial.number}, for " in export(kept, form)


def test_there_is_something_to_paste_unless_a_bare_baseline_is_kept(
    kept: Recommendation, confirmed: Recommendation
) -> None:
    assert pasted_values(kept) == {}
    assert pasted_values(confirmed)
    sets = replace(kept.trial, values={"linger.ms": "20"})
    assert pasted_values(replace(kept, trial=sets, baseline=sets)) == {"linger.ms": "20"}


def test_the_table_shows_the_objectives_although_there_is_no_gain(tmp_path: Path) -> None:
    def with_p95(trial: Trial) -> Trial:
        p95_ms = trial.metrics["latency_p99_ms"] * 0.9
        metrics = {**trial.metrics, "latency_p95_ms": p95_ms}
        return replace(trial, metrics=metrics, objectives=(metrics["mb_per_s"], p95_ms), violations={})

    for trials in (1, 30):
        facts = {"objectives": ["mb_per_s", "latency_p95_ms"]}
        results = study(tmp_path / str(trials), trials=trials, rounds=0, facts=facts, change=with_p95)
        found = recommend(results, "1000", Goal.THROUGHPUT)
        assert not found.gains
        for each in (found, recommendation_of(json.loads(export(found, Format.JSON)))):
            assert "latency p95, ms" in export(each, Format.TABLE)


def test_the_table_shows_the_config_beside_the_baseline(confirmed: Recommendation) -> None:
    text = export(confirmed, Format.TABLE)
    assert "  linger.ms=2\n" in text
    words = " ".join(text.split())
    assert "baseline recommended gain (interval; its level) one more round (95 %)" in words
    assert "guarantee: acks=all, may reorder on retry (the same as the baseline's)" in words
    assert "changed property recommended baseline client's default" in words
    assert "linger.ms 2 5 5" in words


def test_a_guarantee_that_differs_from_the_baselines_is_named(confirmed: Recommendation) -> None:
    weaker = replace(confirmed, trial=replace(confirmed.trial, guarantee="acks=1, ordered"))
    for form in (Format.TABLE, Format.PROPERTIES):
        assert "the baseline's is different: acks=all" in in_words(weaker, form)


def test_a_baseline_that_breaks_a_newer_rule_can_still_be_exported(confirmed: Recommendation) -> None:
    refused = {"compression.type": "snappy", "compression.level": "9"}
    old = replace(confirmed, baseline=replace(confirmed.baseline, values=refused))
    assert parse_properties(export(old, Format.PROPERTIES))["compression.level"] == "-1"
    assert json.loads(export(old, Format.JSON))["to_paste"]["compression.level"] == "-1"
    assert "linger.ms" in parse_properties(export(old, Format.JAVA))


def test_a_gain_that_one_round_may_not_show_has_a_warning(confirmed: Recommendation) -> None:
    ratio = replace(confirmed.gains["mb_per_s"], value=1.4, low=1.1, high=1.7)
    clear, unsure = replace(ratio, repeat_low=1.01), replace(ratio, repeat_low=0.7)
    told = in_words(replace(confirmed, gains={"mb_per_s": clear, "latency_p99_ms": unsure}), Format.TABLE)
    assert "note: the gain in latency p99 is proven, but a single round may show none" in told
    assert "a few stalls decide a p99" in told
    throughput = in_words(replace(confirmed, gains={"mb_per_s": unsure, "latency_p99_ms": clear}), Format.TABLE)
    assert "the gain in throughput is proven" in throughput
    assert "a few stalls" not in throughput
    assert "single round" not in in_words(replace(confirmed, gains={"mb_per_s": clear}), Format.TABLE)
    twice = {"mb_per_s": unsure, "latency_p99_ms": unsure, "records_per_s": unsure}
    both = in_words(replace(confirmed, gains=twice), Format.TABLE)
    assert "the gain in throughput and latency p99 is proven, but" in both
    three = in_words(replace(confirmed, gains={**twice, "latency_p95_ms": unsure}), Format.TABLE)
    assert "the gain in throughput, latency p99 and latency p95 is proven, but" in three


def test_the_ratio_that_is_shown_decides_whether_a_gain_is_called_proven(confirmed: Recommendation) -> None:
    ratio = replace(confirmed.gains["mb_per_s"], value=1.1, low=1.01, high=1.2, repeat_low=0.8)
    wider = SideEffect.of(replace(ratio, low=0.99, high=1.22, level=0.975), 0.1)
    latency = replace(ratio, value=5.5, low=5.1, high=5.9, repeat_low=4.0)
    found = replace(confirmed, goal=Goal.LATENCY, gains={"mb_per_s": ratio, "latency_p99_ms": latency})
    beside = replace(found, side_effects={"mb_per_s": wider})
    assert "throughput is not worse (0.99 to 1.22)" in in_words(beside, Format.TABLE)
    assert "is proven, but" not in in_words(beside, Format.TABLE)
    told = "the gain in throughput is proven, but a single round may show none"
    for each, is_told in ((found, True), (beside, False)):
        assert (told in in_words(each, Format.TABLE)) is is_told
        assert (told in json.loads(export(each, Format.JSON))["in_words"]) is is_told


def test_a_side_effect_that_one_more_stall_would_undo_is_not_called_better(confirmed: Recommendation) -> None:
    ratio = replace(confirmed.gains["mb_per_s"], value=1.8, low=1.07, high=3.1, rounds=6, repeat_low=0.6)
    sure = replace(ratio, low=1.5)
    for tail, better in ((ratio, False), (sure, True)):
        found = replace(
            confirmed,
            goal=Goal.THROUGHPUT,
            gains={"mb_per_s": sure},
            side_effects={"latency_p99_ms": SideEffect.of(tail, 0.1)},
        )
        told = in_words(found, Format.TABLE)
        assert ("latency p99 improves" in told) is better
        assert ("latency p99 is not worse (1.07 to 3.10)" in told) is not better
        assert ("throughput and latency p99 is proven, but" in told) is better


def test_a_metric_that_got_worse_is_not_reported_as_a_gain(confirmed: Recommendation) -> None:
    ratio = confirmed.gains["mb_per_s"]
    worse = replace(ratio, value=0.5, low=0.4, high=0.8)
    same = replace(ratio, value=1.01, low=0.9, high=1.1)
    text = in_words(replace(confirmed, gains={"mb_per_s": worse, "latency_p99_ms": same}))
    assert "throughput, MB/s: 0.50 (0.40 to 0.80): at most 60 % worse (" in text
    assert "latency p99, ms: 1.01 (0.90 to 1.10): not worse (" in text


def test_a_loss_is_stated_by_the_worse_end_of_its_interval(confirmed: Recommendation) -> None:
    gain = replace(confirmed.gains["latency_p99_ms"], value=5.5, low=5.1, high=5.9, level=0.975)
    loss = replace(gain, value=0.86, low=0.834, high=0.89)
    traded = replace(confirmed, goal=Goal.LATENCY, gains={"mb_per_s": loss, "latency_p99_ms": gain})
    for price, words in (
        (loss, "at least 5.10 times better latency p99, throughput at most 17 % lower (gain 0.83 to 0.89)"),
        (replace(loss, high=1.02), "throughput may be up to 17 % lower (gain 0.83 to 1.02)"),
        (replace(loss, low=0.8955, high=1.02), "throughput may be up to 10 % lower (gain 0.90 to 1.02)"),
        (
            replace(loss, low=0.95, high=1.02),
            "times better latency p99, throughput is not worse (0.95 to 1.02)",
        ),
        (replace(loss, low=0.2, high=3.0), "latency p99, throughput inconclusive (0.20 to 3.00)"),
    ):
        told = replace(traded, side_effects={"mb_per_s": SideEffect.of(price, 0.1)})
        for form in (Format.TABLE, Format.PROPERTIES):
            assert words in in_words(told, form)
        assert export(recommendation_of(recommendation_json(told)), Format.TABLE) == export(told, Format.TABLE)
    slower = replace(traded, goal=Goal.THROUGHPUT, gains={"mb_per_s": gain, "latency_p99_ms": loss})
    words = "at least 5.10 times better throughput, latency p99 at most 1.20 times as high (gain 0.83 to 0.89)"
    assert words in in_words(replace(slower, side_effects={"latency_p99_ms": SideEffect.of(loss, 0.1)}))


def test_a_goal_without_a_winner_names_that_of_another_goal(kept: Recommendation, confirmed: Recommendation) -> None:
    other = replace(confirmed, goal=Goal.LATENCY)
    found = replace(kept, goal=Goal.THROUGHPUT, alternatives={Goal.LATENCY: other})
    for form in (Format.TABLE, Format.PROPERTIES):
        told = in_words(found, form)
        assert "keep the baseline for the goal throughput: no config is proven better for it" in told
        assert "tuner recommend overnight --record-bytes 1000 --goal latency" in told
        assert "keep what you have" not in told
    assert export(recommendation_of(recommendation_json(found)), Format.TABLE) == export(found, Format.TABLE)


def test_without_a_goal_the_output_says_what_is_not_proven_and_what_else_is(confirmed: Recommendation) -> None:
    other = replace(confirmed, goal=Goal.LATENCY)
    found = replace(confirmed, goal=Goal.THROUGHPUT, unproven=(Goal.BALANCED,), alternatives={Goal.LATENCY: other})
    for form in (Format.TABLE, Format.PROPERTIES):
        told = in_words(found, form)
        assert "balanced: no config is proven better" in told
        assert "gain: balanced" not in told
        limited = in_words(replace(found, asked=("--max-p99-ms", "30")), form)
        assert "balanced: no config that meets the constraints is proven better" in limited
        assert "--goal latency --max-p99-ms 30" in limited
        assert "tuner recommend overnight --record-bytes 1000 --goal latency" in told
    assert export(recommendation_of(recommendation_json(found)), Format.TABLE) == export(found, Format.TABLE)


def test_a_wide_interval_is_inconclusive_and_says_what_decides(confirmed: Recommendation) -> None:
    wide = replace(confirmed.gains["mb_per_s"], value=3.2221, low=0.00017, high=60_712.57)
    for form in (Format.TABLE, Format.PROPERTIES):
        told = in_words(replace(confirmed, gains={**confirmed.gains, "mb_per_s": wide}), form)
        level = f"; {100 * wide.level:.3g} %" if form is Format.TABLE else ""
        assert f"3.2 (under 0.01 to over 1000{level}): inconclusive" in told
        assert "throughput: the interval is wider than a factor of 2 and says nothing; more rounds" in told
        assert "60712" not in told
        assert "inconclusive" not in in_words(confirmed, form)


def test_a_line_feed_in_a_name_does_not_start_a_property(confirmed: Recommendation) -> None:
    nasty = replace(confirmed, study="a\nacks=0", warnings=("b\r\nlinger.ms=9999",))
    assert parse_properties(export(nasty, Format.PROPERTIES)) == WINNER
    assert "\nacks=0" not in export(nasty, Format.SPRING)
    assert "\nlinger.ms=9999" not in export(nasty, Format.ENV)


def test_several_record_sizes_are_written_as_one_text(confirmed: Recommendation) -> None:
    both = [confirmed, replace(confirmed, record_bytes="100")]
    assert json.loads(export_all(both, Format.LIBRDKAFKA)) == {"1000": WINNER, "100": WINNER}
    record = json.loads(export_all(both, Format.JSON))
    assert [each["record_bytes"] for each in record["recommendations"]] == ["1000", "100"]
    assert len(list(yaml.safe_load_all(export_all(both, Format.SPRING)))) == 2
    assert "records: 100 B" in export_all(both, Format.PROPERTIES)


def test_changes_compare_the_values_in_force() -> None:
    assert changed_values(librdkafka(), {"linger.ms": "5"}, {}) == ()
    assert changed_values(librdkafka(), {}, {"acks": "1"}) == (Change("acks", "-1", "1", "-1"),)


def test_the_table_has_the_latency_that_the_study_optimises(confirmed: Recommendation) -> None:
    gains = {"mb_per_s": confirmed.gains["mb_per_s"], "latency_p95_ms": confirmed.gains["latency_p99_ms"]}
    numbers = {"latency_p95_ms": 4.0}
    by_p95 = replace(
        confirmed,
        gains=gains,
        metrics={**confirmed.metrics, **numbers},
        baseline_metrics={**confirmed.baseline_metrics, **numbers},
    )
    lines = export(by_p95, Format.TABLE).splitlines()
    (row,) = [line for line in lines if line.startswith("latency p95, ms")]
    assert str(gains["latency_p95_ms"]).removesuffix(")") in row
    assert lines.index(row) + 1 == next(place for place, line in enumerate(lines) if line.startswith("latency p99, ms"))
    assert not any(line.startswith("latency p95") for line in export(confirmed, Format.TABLE).splitlines())


def test_metrics_are_always_shown_in_the_same_order() -> None:
    names = ("latency_p999_ms", "latency_p99_ms", "latency_p95_ms", "mb_per_s", "broker_cpu_ms_per_mb")
    known = dict.fromkeys(names, 1.0)
    usual = ["mb_per_s", "latency_p99_ms", "latency_p999_ms", "broker_cpu_ms_per_mb"]
    assert shown_metrics(known) == usual
    assert shown_metrics(known, first=["latency_p999_ms"]) == ["latency_p999_ms", *usual[:2], usual[3]]
    assert shown_metrics(known, also=["latency_p95_ms"]) == [usual[0], "latency_p95_ms", *usual[1:]]
    assert shown_metrics({"mb_per_s": 1.0}, also=["latency_p95_ms"]) == ["mb_per_s"]
