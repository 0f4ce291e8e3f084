"""A study that measures like another one has its rates, and a verification needs something to compare."""

import math
from pathlib import Path
from typing import Any

import pytest

from search_spaces.configs.producer_config import ProducerConfig
from tests.helpers.studies import simulated_study
from tuner.execution.studies.verifying import judgement_before, measuring_like
from tuner.model.errors import ExitCode, RequestRefused, exit_code_of
from tuner.model.facts import RATES, RECORD_SIZES
from tuner.results.comparisons.verification import VerificationTerms
from tuner.study_file import parse_study

_TEXT = "study: old\nworkload: {record_bytes: [100, '100:70,1000:30'], partitions: 5}\nsearch: {trials: 40}\n"
_RATES = {"100": 5000.0, "100:0.7,1000:0.3": 300.0}
_FACTS = {RECORD_SIZES: [*_RATES], RATES: _RATES}


@pytest.mark.parametrize("record_bytes", [None, "100"])
def test_a_study_measures_like_another_one(record_bytes: str | None) -> None:
    text, rates = measuring_like(_TEXT, "new", "old", _FACTS, record_bytes, "--record-bytes")
    spec = parse_study(text, name="new", folder=Path("/"), origin="a test", environ={}, searched=False)
    assert spec.name == "new"
    assert spec.workload.partitions == 5
    assert [str(size) for size in spec.workload.record_sizes] == list(rates)
    assert rates == {size: rate for size, rate in _RATES.items() if record_bytes in (None, size)}


@pytest.mark.parametrize("mix", ["100:70,1000:30", "1000:3, 100:7", "100:0.7,1000:0.3"])
def test_a_mix_may_be_written_with_any_weights(mix: str) -> None:
    text, rates = measuring_like(_TEXT, "new", "old", _FACTS, mix, "--record-bytes")
    spec = parse_study(text, name="new", folder=Path("/"), origin="a test", environ={}, searched=False)
    assert [str(size) for size in spec.workload.record_sizes] == list(rates) == ["100:0.7,1000:0.3"]


def test_a_size_may_have_a_unit() -> None:
    facts = {RECORD_SIZES: ["65536"], RATES: {"65536": 300.0}}
    _, rates = measuring_like(_TEXT, "new", "old", facts, "64KiB", "--record-bytes")
    assert rates == {"65536": 300.0}


@pytest.mark.parametrize("given", ["", "0", "100:70", "100:1,100:2", "big"])
def test_a_text_that_is_no_record_size_is_refused(given: str) -> None:
    with pytest.raises(RequestRefused, match=f"^sizes: .*, but got {given}$"):
        measuring_like(_TEXT, "new", "old", _FACTS, given, "sizes")


def test_only_measured_sizes_can_be_measured_again() -> None:
    with pytest.raises(RequestRefused, match=r"^sizes must name sizes of old \(100, .*\), but got 7, 8$") as refused:
        measuring_like(_TEXT, "new", "old", _FACTS, "7,100,8", "sizes")
    assert exit_code_of(refused.value) is ExitCode.USAGE


def test_a_size_that_is_named_twice_is_refused() -> None:
    with pytest.raises(RequestRefused, match=r"^--record-bytes must name each size once, but got 100 twice$"):
        measuring_like(_TEXT, "new", "old", _FACTS, "100,100", "--record-bytes")


def test_a_config_that_does_the_same_as_the_baseline_is_refused() -> None:
    spec = simulated_study()
    with pytest.raises(RequestRefused, match=r"^x.properties must differ from the old config to be compared"):
        judgement_before(spec, VerificationTerms(config=spec.baseline), "x.properties", "the old config")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"min_gain": 0.0}, "min_gain must be a finite number above 0, but got 0"),
        ({"min_gain": math.inf}, "min_gain must be a finite number above 0, but got inf"),
        ({"min_gain": math.nan}, "min_gain must be a finite number above 0, but got nan"),
        ({"min_gain": 1.1, "tolerance_ratio": 0.5}, "min_gain and tolerance_ratio exclude each other"),
        ({"tolerance_ratio": math.nan}, "tolerance_ratio must be at least 0 and below 1, but got nan"),
    ],
)
def test_one_number_says_how_much_better_or_worse_a_config_may_be(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(RequestRefused, match=said):
        VerificationTerms(config=simulated_study().baseline, **asked)


def test_a_weaker_config_is_rejected_before_any_measurement() -> None:
    spec = simulated_study()
    weaker = ProducerConfig.parse({**spec.baseline.values, "acks": "0", "enable.idempotence": "false"})
    assert judgement_before(spec, VerificationTerms(config=weaker), "x.properties", "the baseline").refused
