"""`tuner explain` shows why a config is recommended."""

from tuner.api import load_study
from tuner.cli.options import common_options
from tuner.cli.options.options_from_dataclass import with_options
from tuner.cli.options.recommend_options import ExplainOptions
from tuner.cli.output import print_result
from tuner.present.console import OUT, warn_of_each
from tuner.present.export.recommendation_json import explanations_json
from tuner.present.recommendations.explanation_words import print_explanations
from tuner.results.recommendations.explanation import explain as explanation
from tuner.results.recommendations.explanation import knob_importance
from tuner.results.recommendations.recommend import recommend_each


@with_options()
def explain(study: common_options.Study, options: ExplainOptions, as_json: common_options.Json = False) -> None:
    """Explain a recommendation: what each changed property brings, and which knobs mattered in the whole search.

    For each changed property, the study measured the config alternating with a copy in which only this property has the
    baseline's value.

    \b
    Examples:
        tuner explain overnight
        tuner explain overnight --record-bytes 1000 --goal latency --json
    """
    loaded = load_study(study)
    results = loaded.results
    recommended, missing = recommend_each(results, options.record_bytes, options.goal, options.conditions)
    explanations = [explanation(results, each, knob_importance(loaded.size(each.record_bytes))) for each in recommended]
    print_result(
        explanations_json(results.name, explanations), lambda: print_explanations(explanations, OUT), as_json=as_json
    )
    warn_of_each(warning for each in recommended for warning in each.warnings)
    if missing:
        raise missing
