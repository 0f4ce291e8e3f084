"""Undoing the changes of a config: each change is undone alone, or with the changes that depend on it."""

import pytest

from runners.workload import RecordSizes
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.space.search_space import SearchSpace
from tuner.confirmation.undone_changes import MOST_VARIANTS, UndoneChange, changed_knobs, undone_changes, variants_of
from tuner.model.spec import Method, SearchSpec, StudySpec, WorkloadSpec
from tuner.search.samplers import strategy_of

BASELINES: list[dict[str, str]] = [
    {},
    {"acks": "1", "linger.ms": "20"},
    {"enable.idempotence": "true", "compression.type": "zstd", "compression.level": "5"},
    {"batch.size": "16384", "message.max.bytes": "20000", "queue.buffering.max.messages": "50000"},
]


def parse(values: dict[str, str]) -> ProducerConfig:
    return ProducerConfig.parse(values)


def undoing_of(knob: str, config: dict[str, str], baseline: dict[str, str]) -> UndoneChange:
    return next(each for each in undone_changes(parse(config), parse(baseline)) if each.knobs[0] == knob)


@pytest.mark.parametrize("record_bytes", [10, 10_000])
@pytest.mark.parametrize("values", BASELINES)
def test_every_change_of_every_config_can_be_undone(values: dict[str, str], record_bytes: int) -> None:
    baseline = parse(values)
    size = RecordSizes.fixed(record_bytes)
    spec = StudySpec("drawn", WorkloadSpec((size,)), baseline=baseline, search=SearchSpec(method=Method.RANDOM))
    strategy = strategy_of(spec, SearchSpace.of(record_bytes, baseline), seed=1)
    for index in range(25):
        proposal = strategy.ask(index)
        assert proposal is not None
        config = proposal.config
        found = undone_changes(config, baseline)
        assert {knob for each in found for knob in each.knobs} == set(changed_knobs(config, baseline))
        assert len({frozenset(each.knobs) for each in found}) == len(found)
        variants = variants_of(config, baseline)
        assert 0 < len(variants) <= MOST_VARIANTS
        assert len({variant.fingerprint for variant in variants.values()}) == len(variants)
        for each in found:
            assert each.variant is not None
            assert changed_knobs(each.variant, baseline)
            for knob in each.knobs:
                assert each.variant.values.get(knob) == baseline.values.get(knob)
            kept = {name: value for name, value in config.values.items() if name not in each.knobs}
            assert kept.items() <= each.variant.values.items()


def test_knobs_tied_by_a_rule_are_undone_together_for_that_reason() -> None:
    config = {"acks": "all", "enable.idempotence": "true", "linger.ms": "1"}
    both = undoing_of("acks", config, {"acks": "1"})
    assert both.knobs == ("acks", "enable.idempotence")
    assert both.because == "an idempotent producer needs acks=all"
    assert both.variant == parse({"acks": "1", "linger.ms": "1"})
    assert undoing_of("enable.idempotence", config, {"acks": "1"}).variant == parse({"acks": "all", "linger.ms": "1"})


def test_a_limit_raised_for_another_knob_is_undone_with_it() -> None:
    config = {"batch.size": "2000000", "message.max.bytes": "2000000", "linger.ms": "1"}
    assert set(variants_of(parse(config), parse({}))) == {"batch.size", "linger.ms"}
    assert undoing_of("batch.size", config, {}).variant == parse({"linger.ms": "1"})
    alone = {"message.max.bytes": "2000000", "linger.ms": "1"}
    assert undoing_of("message.max.bytes", alone, {}).variant == parse({"linger.ms": "1"})


def test_the_only_change_of_a_config_is_not_measured_again() -> None:
    (only,) = undone_changes(parse({"linger.ms": "1", "acks": "all"}), parse({"acks": "-1"}))
    assert only == UndoneChange(("linger.ms",), None, "without this change, the config is the baseline")
    assert undone_changes(parse({"acks": "all"}), parse({})) == ()


def test_of_many_changes_the_less_important_are_undone_together() -> None:
    likely = {"linger.ms": "1", "batch.size": "50000", "compression.type": "lz4", "acks": "1"}
    many = {
        **likely,
        "batch.num.messages": "500",
        "queue.buffering.max.messages": "200000",
        "queue.buffering.max.kbytes": "200000",
        "max.in.flight": "3",
        "socket.nagle.disable": "false",
        "sticky.partitioning.linger.ms": "40",
    }
    found = undone_changes(parse(many), parse({}))
    together = found[-1]
    assert len(found) == MOST_VARIANTS
    assert set(together.knobs) == {
        "max.in.flight.requests.per.connection",
        "socket.nagle.disable",
        "sticky.partitioning.linger.ms",
    }
    assert together.because == "the config has 10 changes: 7 are undone alone, the others together"
    assert together.variant is not None
    assert likely.items() <= together.variant.values.items()
    assert all(len(each.knobs) == 1 for each in found[:-1])
