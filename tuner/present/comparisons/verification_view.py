"""The judgement of a verified config as text, and the sentences that say why it did not pass."""

from collections.abc import Iterator, Mapping
from typing import Any

from runners.simulated import WARNING
from tuner.present.number_text import number, one_more_round, title
from tuner.results.comparisons.verification import Judgement


def verification_lines(judgement: Judgement) -> Iterator[str]:
    """Yield the lines that `tuner verify` prints: the guarantees, and each metric of each record size."""
    yield f"guarantee: {judgement.guarantees}"
    for size in judgement.sizes:
        outcomes = judgement.outcomes[size.record_bytes]
        texts = {
            metric: f"{gain} times as good: {outcomes[metric]}; one more round would show {one_more_round(gain)}"
            for metric, gain in size.gains.items()
        }
        texts |= {metric: f"could not be compared: {why}" for metric, why in size.not_compared.items()}
        for metric, outcome in texts.items():
            sides = f"{number(size.baseline.get(metric))} -> {number(size.values.get(metric))}"
            yield f"{size.record_bytes:>6} B  {title(metric):<18} {sides:<18} {outcome}"
    if judgement.sizes:
        yield "all rounds ran one after another, so these results hold only for that time"


def verification_warnings(record: Mapping[str, Any]) -> list[str]:
    """Return what makes a judgement less reliable, from its JSON, without the warning that it is simulated."""
    of_sizes = (warning for size in record["sizes"] for warning in size["warnings"] if warning != WARNING)
    warnings = list(dict.fromkeys(of_sizes))
    if record["weaker"]:
        guarantee, baseline = record["guarantee"], record["baseline_guarantee"]
        warnings.append(f"the guarantee is weaker: {guarantee}; the baseline's is stronger: {baseline}")
    return warnings


def shortcomings(record: Mapping[str, Any]) -> list[str]:
    """Return why a config did not pass, in sentences, from the JSON of its judgement; empty if it passed."""
    of_sizes = [
        f"{size['record_bytes']} B: {each}"
        for why in ("misses", "undecided")
        for size in record["sizes"]
        for each in size[why]
    ]
    return [*record["misses"], *of_sizes]
