"""A row of an experiment: which config is measured, and under which load."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Self

from runners.workload import Workload
from search_spaces.configs.producer_config import ProducerConfig
from tuner.model.goals import Goal
from tuner.model.measurement_setup import ONE_PRODUCER, Setup
from tuner.model.study_time import OVERHEAD_S

FILLED_BYTES_PER_S: Final = 100e6
"""Approximate rate at which a topic is filled before a measurement, for records of 100 B and brokers on two cores."""
BROKERS_ANEW_S: Final = 8.0
"""Approximate seconds to start three new brokers after a measurement that has killed a broker."""
BROKERS_TO_LOSE_ONE: Final = 3
"""The smallest cluster that survives the loss of a broker: brokers vote on metadata, and a majority must be left."""
RowValue = str | int | float


def setting_text(value: RowValue) -> str:
    """Return a setting as Kafka writes it: `true` or `false` for a truth value."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def settings_text(settings: Mapping[str, RowValue]) -> str:
    """Return settings as text, such as `linger.ms=5 producers=3`; of the setting `row`, only the row's name."""
    return " ".join(
        setting_text(value) if name == "row" else f"{name}={setting_text(value)}" for name, value in settings.items()
    )


@dataclass(frozen=True, slots=True)
class BestOf:
    """The search whose recommendation is the config of a row, for the record size of the row.

    Attributes:
        search: The name of the search in the experiment's file.
        goal: The goal for which the config is recommended.
    """

    search: str
    goal: Goal


@dataclass(frozen=True, slots=True)
class Row:
    """A config with a load, which an experiment measures once in each round.

    Attributes:
        name: The name of the row, unique within its experiment.
        varied: The settings that distinguish this row from others, by name, such as `record_bytes` or `linger.ms`.
        config: The producers' config.
        workload: The load, and the topic's shape.
        setup: The conditions of the measurement besides the load, such as the number of producers.
        best_of: The search that finds the config; None if the file has the config. Until the search has ended, `config`
            is the baseline of the search.
    """

    name: str
    varied: Mapping[str, RowValue]
    config: ProducerConfig
    workload: Workload
    setup: Setup = ONE_PRODUCER
    best_of: BestOf | None = None

    @property
    def load_s(self) -> float:
        """Seconds of load in one measurement of the row."""
        return self.workload.warmup_s + self.workload.measured_s

    @property
    def planned_s(self) -> float:
        """The approximate number of seconds that one measurement of the row takes."""
        brokers_s = 0.0 if self.setup.broker_killed_s is None else BROKERS_ANEW_S
        return self.load_s + self.setup.stored_bytes / FILLED_BYTES_PER_S + OVERHEAD_S + brokers_s

    def for_burn_in(self, measured_s: float) -> Self:
        """Return a copy of the row for the burn-in before the first round, whose values are not used.

        The copy is measured at full speed, without a warm-up. Its topic is empty, unless the consumers read stored
        records.

        Args:
            measured_s: Seconds that the copy is measured.
        """
        load = replace(self.workload, rate_records_per_s=None, peak_ratio=1.0, warmup_s=0.0, measured_s=measured_s)
        stored_bytes = 0 if self.setup.producers else self.setup.stored_bytes
        setup = replace(self.setup, stored_bytes=stored_bytes, min_insync_replicas=None, broker_killed_s=None)
        return replace(self, workload=load, setup=setup)

    def number(self, setting: str) -> float | None:
        """Return the value of a setting that distinguishes the row; None if it is not a number, or is not set.

        Sizes are in bytes.
        """
        if setting not in self.varied:
            return None
        sizes = {"stored_bytes": self.setup.stored_bytes, "record_bytes": self.workload.record_sizes.mean_bytes}
        value = sizes.get(setting, self.varied[setting])
        try:
            return None if isinstance(value, bool) else float(value)
        except ValueError:
            return None

    def matches(self, selected: Mapping[str, RowValue]) -> bool:
        """Return whether the row has all these settings. The setting `row` is the row's name."""
        mine = {"row": self.name, **self.varied}
        return all(name in mine and setting_text(mine[name]) == setting_text(value) for name, value in selected.items())
