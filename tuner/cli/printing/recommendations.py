"""How recommendations are printed by the commands that end with them, with and without a service."""

from pathlib import Path

from runners.reporting import in_bytes
from search_spaces.translation.to_java import LABEL, for_java
from tuner.cli.output import check_output, file_or_none, is_stream, print_result, print_text, write_output
from tuner.present.console import OUT, say, warn, warn_of_each
from tuner.present.export import Format, export, export_all, is_translated, study_json
from tuner.present.recommendations.recommendation_words import (
    NO_GAIN,
    advice_to_keep,
    chance_of_wrong_claim,
    inconclusive_gains,
    not_advice,
    proven_for_other_goals,
)
from tuner.results.recommendations.recommendation import Recommendation
from tuner.storage.folder_files import size_name


def print_recommendations(
    study: str, folder: str | None, recommendations: list[Recommendation], *, as_json: bool
) -> None:
    """Print the recommendations of a study, and warnings to read before using a config, without repeated warnings.

    Args:
        study: The study's name.
        folder: The study's folder; None if it is on another host.
        recommendations: The recommendations.
        as_json: Whether to print JSON.
    """
    print_result(
        study_json(study, folder, recommendations),
        lambda: OUT.show(export_all(recommendations, Format.TABLE), end=""),
        as_json=as_json,
    )
    warn_of_each(warning for each in recommendations for warning in each.warnings)


def write_recommendations(
    recommendations: list[Recommendation], form: Format, output: Path | None, *, force: bool, everything: bool
) -> None:
    """Print recommendations or write them to a file, and print the warnings to read before using a config."""
    output = file_or_none(output)
    if output is None:
        print_text(export_all(recommendations, form, everything=everything))
    else:
        _write(recommendations, form, output, force=force, everything=everything)
    warn_of_each(warning for each in recommendations for warning in each.warnings)
    for each in recommendations:
        _warn_before_use(each, form)
    if any(each.proven for each in recommendations) and (chance := chance_of_wrong_claim(len(recommendations))):
        say(chance)
    if len(recommendations) > 1 and (output is None or is_stream(output)) and form not in (Format.TABLE, Format.JSON):
        warn(
            f"the output holds {len(recommendations)} configs, one per record size; use one of them, or choose a size "
            "with --record-bytes"
        )


def _write(recommendations: list[Recommendation], form: Format, output: Path, *, force: bool, everything: bool) -> None:
    """Write all recommendations to one file or, if the format holds only one config, to one file per record size.

    A device or a pipe gets all of them.
    """
    if len(recommendations) == 1 or form in (Format.TABLE, Format.JSON) or is_stream(output):
        files = {output: export_all(recommendations, form, everything=everything)}
    else:
        files = {
            output.with_name(f"{output.stem}-{size_name(each.record_bytes)}{output.suffix}"): export(
                each, form, everything=everything
            )
            for each in recommendations
        }
    for path in files:
        check_output(path, force=force)
    for path, text in files.items():
        write_output(path, text, force=force)
        say(f"written to {path}")


def _warn_before_use(recommendation: Recommendation, form: Format) -> None:
    """Print what a user should read before using a config in this format, except what the table format shows."""
    if is_translated(form, recommendation.config.client):
        warn(f"{LABEL}: the config was found and measured with {recommendation.config.client.identity}")
        without_twin = for_java(recommendation.config).without_twin
        if without_twin:
            warn(f"not in the output, as the Java client has no such property: {', '.join(without_twin)}")
    if form is Format.TABLE:
        return
    if recommendation.is_baseline:
        advice = (advice_to_keep(recommendation), *proven_for_other_goals(recommendation))
        say(f"{in_bytes(recommendation.record_bytes)}: {'; '.join(advice)}")
    elif not recommendation.confirmed:
        warn(f"{in_bytes(recommendation.record_bytes)}: {NO_GAIN}: {not_advice(recommendation)}")
    elif others := proven_for_other_goals(recommendation):
        say(f"{in_bytes(recommendation.record_bytes)}, for {recommendation.goal}; {'; '.join(others)}")
    if open_question := inconclusive_gains(recommendation):
        warn(f"{in_bytes(recommendation.record_bytes)}: inconclusive: {open_question}")
    if recommendation.trial.guarantee != recommendation.baseline.guarantee:
        guarantee = recommendation.baseline.guarantee
        warn(f"the config guarantees {recommendation.trial.guarantee}; the baseline guarantees {guarantee}")
