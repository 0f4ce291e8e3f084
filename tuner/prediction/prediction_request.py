"""A request for a prediction: for one load or for each value of a setting, and optionally for disks and retention."""

from dataclasses import dataclass, replace
from typing import Self

from search_spaces.configs.producer_config import ProducerConfig
from tuner.model.errors import RequestRefused
from tuner.prediction.calibration import Calibration
from tuner.prediction.changed_settings import ChangedSettings
from tuner.prediction.predicting import Prediction
from tuner.prediction.prediction_source import PredictionSource
from tuner.prediction.question import Question, Sweep, side_by_side
from tuner.prediction.retention import Retention


@dataclass(frozen=True, slots=True)
class PredictionRequest:
    """A request for predictions from the measurements of a study or an experiment.

    Attributes:
        source: The study or experiment.
        question: The config and the load to predict.
        sweep: The question for several values of one setting; None for a single prediction.
        retention: The retention limits and the disks; None to compute nothing about stored records.
    """

    source: PredictionSource
    question: Question
    sweep: Sweep | None = None
    retention: Retention | None = None

    @classmethod
    def of(
        cls,
        source: PredictionSource,
        changes: ChangedSettings,
        begin: ProducerConfig | None = None,
        sweep: str | None = None,
        retention: Retention | None = None,
    ) -> Self:
        """Return what is asked of a study or an experiment.

        Args:
            source: The study or experiment.
            changes: The changed settings of the config and the load.
            begin: The config to which `changes` apply; None for that of the source.
            sweep: A setting and its values, as for `Sweep.of`; None for a single prediction.
            retention: The retention limits and the disks; None to compute nothing about stored records.

        Raises:
            ConfigError: The client refuses or ignores a property, or refuses a record of this size.
            WorkloadRefused: The load is not possible.
            RequestRefused: The sweep has another form or a value that is not possible, or retention can't be computed
                for the load.
        """
        question = Question.of(source)
        question = (question if begin is None else replace(question, config=begin)).changed(changes)
        try:
            swept = None if sweep is None else Sweep.of(question, sweep, changes)
        except ValueError as error:
            raise RequestRefused(str(error), "sweep") from None
        if retention is not None:
            retention.check(question.workload)
        return cls(source, question, swept, retention)

    @property
    def setting(self) -> str | None:
        """The setting that varies; None for a single prediction."""
        return None if self.sweep is None else self.sweep.setting

    def predictions(self, calibration: Calibration) -> dict[str, Prediction | str]:
        """Return the predictions by heading, or the reason why there is none.

        A sweep has a prediction for each value. Without a sweep, the source's own config and the changed one have one
        each.

        Args:
            calibration: The model, fitted to the measurements of the source.
        """
        if self.sweep is None:
            return side_by_side(self.source, self.question, calibration)
        return self.sweep.answers(self.source, calibration)
