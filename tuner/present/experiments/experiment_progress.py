"""What `tuner experiment run` prints: a line per measurement and, on a terminal, a live line about the running one."""

from typing_extensions import override

from runners.measurements.measurement import Window
from tuner.execution.experiments.experiment_reporter import ExperimentReporter
from tuner.execution.experiments.experiment_steps import ExperimentStep
from tuner.model.trial import State, Trial
from tuner.present.console import ERR
from tuner.present.number_text import number
from tuner.present.studies.study_view import LiveLine


class ExperimentProgress(LiveLine, ExperimentReporter):
    """An `ExperimentReporter` that prints to standard error."""

    @override
    def window(self, step: ExperimentStep, window: Window) -> None:
        if self._live.is_started:
            self._show(
                f"{_where(step)} {step.row.name} {window.number + 1}/{window.total_windows}: {window.mb_per_s:.1f} MB/s"
            )

    @override
    def measured(self, step: ExperimentStep, trial: Trial) -> None:
        if self._quiet:
            return
        if trial.state is State.FAILED:
            result = f"no measurement: {trial.error}"
        else:
            shown = {"MB/s": "mb_per_s", "p50 ms": "latency_p50_ms", "p99 ms": "latency_p99_ms"}
            result = "  ".join(
                f"{unit} {number(trial.metrics[name])}" for unit, name in shown.items() if name in trial.metrics
            )
        style = "red" if trial.state is State.FAILED else "dim" if step.round is None else ""
        ERR.show(f"{_where(step)}  {step.row.name}: {result}", style=style)


def _where(step: ExperimentStep) -> str:
    if step.round is None:
        return f"{'burn-in':<19}"
    return f"round {step.round + 1}, {step.number:>3}/{step.total:<3}"
