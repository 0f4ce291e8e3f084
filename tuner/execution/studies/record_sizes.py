"""The order in which a study measures: burn-in runs, search and confirmation, for one record size after another."""

from collections.abc import Callable
from functools import partial

from tuner.confirmation.stored_plans import has_begun
from tuner.execution.studies.burn_in import BurnIn
from tuner.execution.studies.confirm import confirm
from tuner.execution.studies.search import MakeStrategy, search_size
from tuner.execution.studies.study_trials import StudyTrials
from tuner.execution.trial_keeper import utc_now
from tuner.model.facts import BASELINE_IN_GRID, FINISHED_AT, TOTALS
from tuner.results.study_results import StudyResults
from tuner.search.schedule import is_in_grid, trials_in_all


def measure_sizes(
    trials: StudyTrials,
    make_strategy: MakeStrategy,
    topic_max_message_bytes: int,
    confirmation_id: str,
    results: Callable[[], StudyResults],
    *,
    searching: bool,
) -> None:
    """Search and confirm every record size of a study, continuing after the trials that are already stored.

    Args:
        trials: Runs the trials of the study.
        make_strategy: Creates the strategy that proposes configs, for each record size.
        topic_max_message_bytes: The size of the largest message that topics of the cluster accept
            (`max.message.bytes`).
        confirmation_id: The identifier of the confirmation that follows the search; see `tuner.confirmation.plan`.
        results: Returns the results of the study so far.
        searching: Whether to search; if not, only the configs that earlier runs found are confirmed.

    Raises:
        RunnerError: The cluster can't be used, or we stopped to protect it.
        TooManyFailures: Too many trials in a row gave no measurement.
    """
    spec, store, outlook = trials.spec, trials.store, trials.outlook
    burn_in = BurnIn(trials)
    space_at = partial(spec.space_of, topic_max_message_bytes=topic_max_message_bytes)
    sizes = spec.workload.record_sizes
    if searching:
        outlook.totals = {size: trials_in_all(spec.search, space_at(size), spec.baseline) for size in sizes}
        known = store.facts().get(TOTALS, {})
        store.set_fact(TOTALS, {**known, **{str(size): total for size, total in outlook.totals.items()}})
        if spec.search.searches_grid:
            steps = spec.search.grid_steps
            in_grid = {str(size): is_in_grid(spec.baseline, space_at(size), steps) for size in sizes}
            store.set_fact(BASELINE_IN_GRID, in_grid)
    for index, size in enumerate(sizes):
        of_others = outlook.budget.share_of_others(len(sizes) - index)
        if searching and not has_begun(store, str(size), confirmation_id):
            search_size(trials, burn_in, make_strategy, size, space_at(size), of_others)
        confirm(trials, size, confirmation_id, burn_in, of_others)
        # After the last size, the caller shows the recommendations of all sizes.
        if size != sizes[-1] and has_begun(store, str(size), confirmation_id):
            trials.reporter.confirmed(results(), str(size))
    if searching:
        store.set_fact(FINISHED_AT, utc_now().isoformat(timespec="seconds"))
