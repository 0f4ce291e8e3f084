"""The sample in the README is worded and laid out as the program prints it."""

import re
from dataclasses import replace
from pathlib import Path

from objectives.metrics import OUTCOME_METRICS
from objectives.ratios import Ratio
from search_spaces.configs.producer_config import ProducerConfig
from tests.docs.pages import blocks
from tests.helpers.stored_studies import study
from tuner.model.goals import ALLOW_LOSS, Goal
from tuner.present.export import Format, export
from tuner.results.recommendations.recommend import recommend
from tuner.results.recommendations.recommendation import SideEffect

GAIN = re.compile(r"([\d.]+) \(([\d.]+) to ([\d.]+); ([\d.]+) %\) +([\d.]+) to ([\d.]+)$")
OBJECTIVES = ("mb_per_s", "latency_p95_ms")


def test_the_program_prints_the_sample_in_the_readme(tmp_path: Path) -> None:
    (sample,) = (each.text for each in blocks() if each.document == Path("README.md") and each.language == "text")
    baseline, recommended, gains = {}, {}, {}
    for name, title in ((name, metric.title) for name, metric in OUTCOME_METRICS.items()):
        row = re.search(rf"^{re.escape(title)} +([\d.]+) +([\d.]+)(.*)$", sample, re.MULTILINE)
        if row is not None:
            baseline[name], recommended[name] = float(row[1]), float(row[2])
            if found := GAIN.search(row[3]):
                value, low, high, level, again_low, again_high = map(float, found.groups())
                gains[name] = Ratio(value, low, high, 8, again_low, again_high, level / 100)
    config = ProducerConfig.parse(dict(re.findall(r"^  ([\w.]+)=(.*)$", sample, re.MULTILINE)))
    of_a_study = recommend(study(tmp_path), "1000", Goal.BALANCED)
    printed = export(
        replace(
            of_a_study,
            trial=replace(of_a_study.trial, values=config.values, fingerprint=config.fingerprint),
            gains={name: gain for name, gain in gains.items() if name in OBJECTIVES},
            side_effects={
                name: SideEffect.of(gain, ALLOW_LOSS) for name, gain in gains.items() if name not in OBJECTIVES
            },
            metrics=recommended,
            baseline_metrics=baseline,
            objectives=OBJECTIVES,
        ),
        Format.TABLE,
    )
    assert sample in printed, printed
