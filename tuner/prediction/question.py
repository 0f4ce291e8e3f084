"""What users ask of a prediction: a config under a load, the values of a setting, disks and retention."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from runners.errors import WorkloadRefused
from runners.number_range import NumberRange
from runners.workload import MOST_COMPRESSIBLE, MOST_RATE_RECORDS_PER_S, RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig, check_record
from search_spaces.errors import UnknownProperty
from tuner.model.errors import RequestRefused
from tuner.prediction.calibration import Calibration
from tuner.prediction.changed_settings import LOAD_SETTINGS, ChangedSettings, canonical_setting
from tuner.prediction.predicting import Prediction, predict_all, reasons_not_covered
from tuner.prediction.prediction_source import PredictionSource
from tuner.prediction.retention import Retention

MOST_POINTS: Final = 1_000
"""How many values a sweep may have."""
_MOST_CHARACTERS: Final = 200
"""The longest text of a value of a sweep. Python refuses to convert whole numbers with thousands of digits."""
CHANGED: Final = "changed"
"""The heading of the prediction for the changed settings."""


@dataclass(frozen=True, slots=True)
class Question:
    """A config under a load.

    Attributes:
        config: The config.
        workload: The load. If it has a rate, latencies are predicted at that rate.
        producers: Number of producers that share the load.
    """

    config: ProducerConfig
    workload: Workload
    producers: int

    @classmethod
    def of(cls, source: PredictionSource) -> Self:
        """Return the question about the config and the load of a study or experiment."""
        return cls(source.config, source.workload, source.producers)

    def changed(self, changes: ChangedSettings) -> "Question":
        """Return the question with some settings changed.

        Raises:
            ConfigError: The client refuses or ignores a property, or refuses a record of this size.
            WorkloadRefused: The load is not possible.
        """
        producers = self.producers if changes.producers is None else changes.producers
        if producers < 1:
            raise WorkloadRefused(f"the number of producers must be at least 1, but got {producers}")
        for name, value, allowed in (
            ("rate", changes.rate, NumberRange(1, MOST_RATE_RECORDS_PER_S)),
            ("compressibility", changes.compressibility, NumberRange(0, MOST_COMPRESSIBLE)),
        ):
            if value is not None and value not in allowed:
                raise WorkloadRefused(f"{name} {allowed.broken_by(value)}")
        wanted: dict[str, Any] = {
            "record_sizes": None if changes.record_bytes is None else RecordSizes.parse(changes.record_bytes),
            "rate_records_per_s": changes.rate,
            "partitions": changes.partitions,
            "replication": changes.replication,
            "compressibility_ratio": changes.compressibility,
        }
        workload = replace(self.workload, **{name: value for name, value in wanted.items() if value is not None})
        config = self.config.updated(changes.properties) if changes.properties else self.config
        check_record(config, workload.record_sizes.largest_bytes, workload.key_bytes or None)
        return Question(config, workload, producers)


@dataclass(frozen=True, slots=True)
class Sweep:
    """The same question for several values of one setting.

    Attributes:
        setting: The setting that varies: one of `LOAD_SETTINGS`, or a producer property.
        questions: The question for each value, by the value's text.
    """

    setting: str
    questions: Mapping[str, Question]

    @classmethod
    def of(cls, question: Question, text: str, changes: ChangedSettings) -> "Sweep":
        """Return a sweep from its text, such as `linger.ms=0,5,20` or `partitions=1..24`.

        Args:
            question: The question whose setting varies.
            text: The setting, and its values: separated by commas, or the first and the last whole number.
            changes: What the user has changed in the question. The setting that varies must not be among it.

        Raises:
            ValueError: The text has another form, the setting is changed already, or a value is not possible for it.
        """
        setting, _, listed = text.partition("=")
        if not setting or not listed:
            raise ValueError(f"a sweep must be SETTING=VALUES, such as linger.ms=0,5,20, but got {text!r}")
        client = question.config.client
        setting = canonical_setting(setting, client)
        given = [name for name in LOAD_SETTINGS if getattr(changes, name) is not None]
        if setting in {*given, *(canonical_setting(name, client) for name in changes.properties)}:
            raise ValueError(f"a sweep varies {setting}, so {setting} can't also have one value; leave one of them out")
        if setting == "record_bytes" and ":" in listed:
            raise ValueError(f"a sweep takes single record sizes and no mix, but got {listed!r}")
        values = _values(listed)
        try:
            questions = {value: question.changed(ChangedSettings.of({setting: value})) for value in values}
        except WorkloadRefused as error:
            raise ValueError(str(error)) from None
        except UnknownProperty as error:
            known = ", ".join(LOAD_SETTINGS)
            raise ValueError(f"{error}; a sweep takes a producer property or one of {known}") from None
        if len(set(questions.values())) < len(values):  # the same text twice, or such as 5 and 5.0, or all and -1
            raise ValueError(f"a sweep takes each value once, but got {listed!r}")
        return cls(setting, questions)


def _values(listed: str) -> list[str]:
    longest = max(len(each) for each in listed.replace("..", ",").split(","))
    if longest > _MOST_CHARACTERS:
        raise ValueError(f"a value of a sweep must have at most {_MOST_CHARACTERS} characters, but one has {longest:,}")
    values = [each.strip() for each in listed.split(",")]
    low, dots, high = listed.partition("..")
    if dots:
        if not (low.isdecimal() and high.isdecimal()):
            raise ValueError(f"a range of a sweep must be two whole numbers, such as 1..24, but got {listed!r}")
        if int(low) > int(high):
            raise ValueError(f"the first number of a sweep must not exceed the last, but got {listed!r}")
        values = [str(number) for number in range(int(low), min(int(high), int(low) + MOST_POINTS) + 1)]
    if not all(values):
        raise ValueError(f"a value of a sweep must not be empty, but got {listed!r}")
    if len(values) > MOST_POINTS:
        raise ValueError(f"a sweep takes 1 to {MOST_POINTS} values, but got {listed!r}")
    return values


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
    sweep: Sweep | None
    retention: Retention | None

    @classmethod
    def of(
        cls,
        source: PredictionSource,
        changes: ChangedSettings,
        begin: ProducerConfig,
        sweep: str | None = None,
        retention: Retention | None = None,
    ) -> Self:
        """Return the request.

        Args:
            source: The study or experiment.
            changes: The changed settings of the config and the load.
            begin: The config to which `changes` apply.
            sweep: A setting and its values, as for `Sweep.of`; None for a single prediction.
            retention: The retention limits and the disks; None to compute nothing about stored records.

        Raises:
            ConfigError: The client refuses or ignores a property, or refuses a record of this size.
            WorkloadRefused: The load is not possible.
            RequestRefused: The sweep has another form or a value that is not possible, or retention can't be computed
                for the load.
        """
        question = replace(Question.of(source), config=begin).changed(changes)
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
        loads = {name: (each.config, each.workload, each.producers) for name, each in self._questions().items()}
        reasons = {
            heading: "; ".join(reasons_not_covered(self.source.observations, *load)) for heading, load in loads.items()
        }
        covered = {heading: load for heading, load in loads.items() if not reasons[heading]}
        predictions = predict_all(calibration, [*covered.values()])
        return {**reasons, **dict(zip(covered, predictions, strict=True))}

    def _questions(self) -> Mapping[str, Question]:
        if self.sweep is not None:
            return self.sweep.questions
        beginning, name = Question.of(self.source), self.source.config_name
        # Users choose the names of rows, so one may be called like the heading of the other column.
        questions = {f"{name} (row)" if name == CHANGED else name: beginning}
        if self.question != beginning:
            questions[CHANGED] = self.question
        return questions
