"""Prepares `tuner verify`: makes a study file like that of an existing study, and judges the config in advance."""

from collections.abc import Mapping
from typing import Any, Final

from search_spaces.configs.producer_config import same_effect
from tuner.model.errors import RequestRefused
from tuner.model.facts import RATES, RECORD_SIZES
from tuner.model.spec import StudySpec
from tuner.results.comparisons.verification import Judgement, VerificationTerms
from tuner.study_file import same_measurement, sizes_in
from tuner.study_file.fields import record_sizes

_SIZE: Final = record_sizes()


def measuring_like(
    text: str, name: str, study: str, facts: Mapping[str, Any], record_bytes: str | None, setting: str
) -> tuple[str, dict[str, float]]:
    """Return the study file of a new study that measures in the same way as an existing study.

    Args:
        text: The text of the existing study's file, which must be valid.
        name: The name of the new study.
        study: The name of the existing study, for messages.
        facts: The facts of the existing study, from its results store.
        record_bytes: The record sizes of the existing study that are measured again; None for all of them.
        setting: What the user calls `record_bytes`, such as `--record-bytes`.

    Returns:
        The text of the study file, and the fixed rate of each record size in records per second.

    Raises:
        RequestRefused: The existing study did not measure one of the record sizes, `record_bytes` names a size twice,
            or it is not a valid list of record sizes.
    """
    study_sizes = list(facts.get(RECORD_SIZES, []))
    try:
        # A size can be written in several ways, such as 64KiB, and a mix with any weights of the same ratios.
        sizes = study_sizes if record_bytes is None else sizes_in(record_bytes)
        wanted = [str(_SIZE.read(size)) for size in sizes]
    except ValueError as error:
        raise RequestRefused(f"{setting}: {error}, but got {record_bytes}", "record_bytes") from None
    if unknown := [str(each) for each, size in zip(sizes, wanted, strict=True) if size not in study_sizes]:
        raise RequestRefused(
            f"{setting} must name sizes of {study} ({', '.join(study_sizes)}), but got {', '.join(unknown)}",
            "record_bytes",
        )
    if again := [each for each in dict.fromkeys(wanted) if wanted.count(each) > 1]:
        raise RequestRefused(f"{setting} must name each size once, but got {', '.join(again)} twice", "record_bytes")
    rates = {size: rate for size, rate in facts.get(RATES, {}).items() if size in wanted}
    return same_measurement(text, name, wanted), rates


def judgement_before(spec: StudySpec, terms: VerificationTerms, file: str, baseline: str) -> Judgement:
    """Return the judgement of a config before any measurement. It may already reject the config.

    Args:
        spec: The study whose target, workload and baseline are used.
        terms: What the config must show.
        file: The file that the config was read from, as the user named it.
        baseline: What the user calls the baseline, for messages.

    Raises:
        RequestRefused: The config does the same as the baseline.
    """
    if same_effect(terms.config.effective_values, spec.baseline.effective_values):
        raise RequestRefused(
            f"{file} must differ from {baseline} to be compared, but both configure the producer in the same way",
            "config",
        )
    return Judgement.before(terms.study(spec), terms, file)
