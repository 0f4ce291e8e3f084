"""Of two studies on one target, the second waits until the first has ended."""

import datetime
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runners.clusters.cluster import RunningCluster
from tests.campaign.child import running_study, told
from tests.helpers.studies import on_record, real_study


@pytest.mark.long
@pytest.mark.broker
def test_the_second_study_on_a_target_waits_for_the_first(tmp_path: Path, broker: RunningCluster) -> None:
    spec = real_study(broker.bootstrap, trials=2)
    first, second, gate = tmp_path / "first", tmp_path / "second", tmp_path / "second waits"
    with running_study(first, replace(spec, name="first"), gate=gate) as one:
        facts = told(one)
        next(fact for fact in facts if "trial" in fact)
        with running_study(second, replace(spec, name="second")) as two:
            told_second = []
            for fact in told(two):
                told_second.append(fact)
                if "in use" in fact.get("said", ""):
                    gate.touch()
            gate.touch()
            two.wait()
        rest = list(facts)
        one.wait()
    assert (one.returncode, two.returncode) == (0, 0)
    assert {"said": "end"} in rest
    waited = [fact["said"] for fact in before_first_trial(told_second) if "in use" in fact.get("said", "")]
    assert waited == [
        f"the target is in use by first (process {one.pid}); waiting until it is free, as two loads would "
        "disturb each other"
    ]
    assert (len(on_record(first)), len(on_record(second))) == (3, 3)
    last_began = max(datetime.datetime.fromisoformat(trial.started_at) for trial in on_record(first))
    load_ended = max(
        datetime.datetime.fromisoformat(trial.started_at) + datetime.timedelta(seconds=trial.load_s)
        for trial in on_record(first)
    )
    begun = min(datetime.datetime.fromisoformat(trial.started_at) for trial in on_record(second))
    assert last_began < load_ended <= begun


def before_first_trial(facts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return facts[: next(n for n, fact in enumerate(facts) if "trial" in fact)]
