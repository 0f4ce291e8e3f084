"""Computes the content of an experiment's MLflow runs: one run for the experiment, and one for each measurement."""

from tuner.model.facts import STUDY_ID
from tuner.model.study_files import STUDY_FILE
from tuner.model.trial import State, Trial, TrialKind
from tuner.present.experiments.experiment_view import experiment_markdown, experiments_csv
from tuner.results.experiments.experiment_results import ExperimentResults
from tuner.results.experiments.row_results import RowResults
from tuner.tracking import tags
from tuner.tracking.run_content import (
    FAILED,
    FINISHED,
    RUNNING,
    TRIAL_NUMBER,
    MetricPoint,
    RunContent,
    cut,
    end_ms,
    params_of,
    shared_tags,
    start_ms,
)
from tuner.tracking.views import RUN_NAME, SavedView, metric_column, of_study, tag_column, tag_condition


def experiment_key(results: ExperimentResults) -> str:
    """Return the permanent identity of the experiment's run in MLflow."""
    return f"{results.facts[STUDY_ID]}/{tags.EXPERIMENT_KIND}"


def measurement_key(results: ExperimentResults, trial: Trial) -> str:
    """Return the permanent identity of a measurement's run in MLflow."""
    return f"{results.facts[STUDY_ID]}/{trial.record_bytes}/{trial.number}"


def experiment_run(results: ExperimentResults, status: str) -> RunContent:
    """Return the content of the experiment's run: its settings and its report."""
    spec, trials = results.spec, [trial for row in results.rows for trial in row.trials] or list(results.burn_in)
    at_ms = max(map(end_ms, trials))
    return RunContent(
        key=experiment_key(results),
        name=spec.name,
        status=status,
        start_ms=min(map(start_ms, trials)),
        end_ms=None if status == RUNNING else at_ms,
        tags={
            **shared_tags(results.facts, results.spec.name),
            tags.KEY: experiment_key(results),
            tags.KIND: tags.EXPERIMENT_KIND,
            tags.NOTE: cut(experiment_markdown(results)),
            # A tag and no param, because more rounds may be measured later.
            tags.ROUNDS: str(spec.rounds),
        },
        params={
            "rows": str(len(spec.rows)),
            "control": cut(spec.control),
            "client": spec.client.identity,
        },
        points=(),
    )


def measurement_run(results: ExperimentResults, row: RowResults, trial: Trial, parent_run: str) -> RunContent:
    """Return the content of the run of one measurement."""
    at_ms = end_ms(trial)
    key = measurement_key(results, trial)
    round_ = f" round {trial.round + 1}" if trial.round is not None else ""
    return RunContent(
        key=key,
        name=f"{results.spec.name} {row.row.name}{round_}",
        status=FAILED if trial.state is State.FAILED else FINISHED,
        start_ms=start_ms(trial),
        end_ms=at_ms,
        tags={
            **shared_tags(results.facts, results.spec.name),
            tags.KEY: key,
            tags.PARENT: parent_run,
            tags.KIND: str(trial.kind),
            tags.ROW: cut(row.row.name),
            tags.RECORD_BYTES: trial.record_bytes,
            tags.CLIENT: trial.client,
            tags.VERDICT: cut(trial.verdict),
            tags.ERROR: cut(trial.error),
            **({tags.ROUND: str(trial.round + 1)} if trial.round is not None else {}),
        },
        params={**params_of(trial), **{f"set.{name}": str(value) for name, value in row.row.varied.items()}},
        points=(
            *(MetricPoint(name, value, 0, at_ms) for name, value in trial.metrics.items()),
            MetricPoint(TRIAL_NUMBER, trial.number, 0, at_ms),
        ),
    )


def experiment_files(results: ExperimentResults, text: str) -> dict[str, str]:
    """Return the files to store with the experiment's run, as a mapping from path to text."""
    return {
        "report.md": experiment_markdown(results),
        "measurements.csv": experiments_csv([results]),
        STUDY_FILE: text,
    }


def experiment_table(results: ExperimentResults) -> SavedView:
    """Return the prepared view of an experiment: a table of its measurements."""
    spec, study_id = results.spec, str(results.facts[STUDY_ID])
    return SavedView(
        f"tuner-{study_id}-measurements",
        f"{spec.name}: measurements",
        f"{of_study(study_id)} and {tag_condition(tags.KIND)} = '{TrialKind.MEASUREMENT}'",
        order_by=TRIAL_NUMBER,
        ascending=True,
        columns=(RUN_NAME, tag_column(tags.ROW), tag_column(tags.ROUND), *map(metric_column, spec.metrics)),
    )
