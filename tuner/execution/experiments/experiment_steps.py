"""The measurements of an experiment, in the order in which they are made."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tuner.model.experiment import ExperimentSpec
from tuner.model.row import Row
from tuner.model.trial import Trial, TrialKind


@dataclass(frozen=True, slots=True)
class ExperimentStep:
    """One measurement of an experiment.

    Attributes:
        row: The row that is measured; in the burn-in, the result of `Row.for_burn_in`.
        round: The number of the round, from 0; None for the burn-in.
        number: Number of this measurement, from 1; 0 for the burn-in.
        total: Number of measurements in all rounds.
    """

    row: Row
    round: int | None
    number: int
    total: int


def rows_of_round(spec: ExperimentSpec, number: int) -> list[Row]:
    """Return the rows of a round in the order in which they are measured: the control first, the others at random.

    After every `control_every` other rows the control is measured again.
    """
    control = spec.row(spec.control)
    others = [row for row in spec.rows if row.name != spec.control]
    random.Random(f"{spec.seed}/{number}").shuffle(others)
    order = [control]
    for count, row in enumerate(others, 1):
        order.append(row)
        if count % spec.control_every == 0:
            order.append(control)
    return order


def steps_left(spec: ExperimentSpec, stored: Sequence[tuple[int, Trial]]) -> list[ExperimentStep]:
    """Return the measurements that are still to be made, in order. A measurement that failed is not repeated."""
    steps: list[ExperimentStep] = []
    done = Counter((trial.round, trial.row) for _, trial in stored if trial.kind is TrialKind.MEASUREMENT)
    planned = [(turn, row) for turn in range(spec.rounds) for row in rows_of_round(spec, turn)]
    for number, (turn, row) in enumerate(planned, 1):
        if done[turn, row.name]:
            done[turn, row.name] -= 1
        else:
            steps.append(ExperimentStep(row, turn, number, len(planned)))
    return steps


def with_stored_rounds(spec: ExperimentSpec, stored: Sequence[tuple[int, Trial]]) -> ExperimentSpec:
    """Return the experiment with more rounds if the stored measurements have more rounds than the experiment's file."""
    stored_rounds = [trial.round + 1 for _, trial in stored if trial.round is not None]
    return replace(spec, rounds=max(spec.rounds, *stored_rounds, 0))


def burn_ins_before(spec: ExperimentSpec, left: Sequence[ExperimentStep]) -> tuple[Row, ...]:
    """Return the burn-in rows to run before the measurements that are left, first of all that of the control."""
    names = {spec.control, *(step.row.name for step in left)}
    return replace(spec, rows=tuple(row for row in spec.rows if row.name in names)).burn_ins
