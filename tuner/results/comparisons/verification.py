"""Decides whether a config passes `tuner verify` for all its record sizes, and the exit code of the command."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from math import inf
from typing import Any, Final, Self

from search_spaces.client import client_of
from search_spaces.configs.producer_config import ProducerConfig
from tuner.model.document import document
from tuner.model.errors import ExitCode, RequestRefused
from tuner.model.goals import OF_ONE_METRIC
from tuner.model.spec import ConfirmSpec, StudySpec, check_rounds
from tuner.results.comparisons.size_verification import (
    Guarantees,
    SizeVerification,
    VerificationOutcome,
    decides_at,
    guarantees_of,
    missing_latency,
    verification_of,
)
from tuner.results.study_results import StudyResults

FEWEST_ROUNDS: Final = 8
MOST_ROUNDS: Final = 20


def verification_rounds(
    rounds: int | None, max_rounds: int | None, names: tuple[str, str] = ("rounds", "max_rounds")
) -> tuple[int, int]:
    """Return the minimum and the maximum number of rounds of a verification.

    Args:
        rounds: The minimum that the user gave; None for the default.
        max_rounds: The maximum that the user gave; None for the default.
        names: The names of the two settings in the error message.

    Raises:
        RequestRefused: The maximum is below the minimum.
    """
    check_rounds(rounds, max_rounds, names)
    most = max(MOST_ROUNDS, rounds or 0) if max_rounds is None else max_rounds
    return min(FEWEST_ROUNDS, most) if rounds is None else rounds, most


def check_required_gain(
    min_gain: float | None, tolerance_ratio: float, names: tuple[str, str] = ("min_gain", "tolerance_ratio")
) -> None:
    """Check the numbers that say how much better a config must be, or how much worse it may be.

    Args:
        min_gain: The least gain in every metric; None requires only that no metric is worse.
        tolerance_ratio: How much worse than the baseline a metric may be, as a share of the baseline.
        names: The names of the two settings in the error message.

    Raises:
        RequestRefused: A number is out of its range, or both were given.
    """
    if not 0 <= tolerance_ratio < 1:
        raise RequestRefused(
            f"{names[1]} must be at least 0 and below 1, but got {tolerance_ratio:g}", "tolerance_ratio"
        )
    if min_gain is None:
        return
    if not 0 < min_gain < inf:
        raise RequestRefused(f"{names[0]} must be a finite number above 0, but got {min_gain:g}", "min_gain")
    if tolerance_ratio:
        raise RequestRefused(
            f"{names[0]} and {names[1]} exclude each other: the first asks for a gain, the second allows a loss; leave "
            "one of them out",
            "min_gain",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationTerms:
    """The conditions under which a config passes, and how it is measured.

    Attributes:
        config: The config that is verified.
        rounds: Minimum number of rounds.
        max_rounds: Maximum number of rounds.
        width_ratio: The width of a gain's interval, relative to the gain, at which no more rounds are needed.
        min_gain: The least gain in every metric; None requires only that no metric is worse.
        tolerance_ratio: How much worse than the baseline a metric may be, as a share of the baseline.
        allow_weaker: Whether a weaker guarantee is accepted.
        keeps_floor: Whether the config must give the guarantee that the study requires, instead of the baseline's.
    """

    config: ProducerConfig
    rounds: int = FEWEST_ROUNDS
    max_rounds: int = MOST_ROUNDS
    width_ratio: float = 0.1
    min_gain: float | None = None
    tolerance_ratio: float = 0.0
    allow_weaker: bool = False
    keeps_floor: bool = False

    def __post_init__(self) -> None:
        """Check `min_gain` and `tolerance_ratio`.

        Raises:
            RequestRefused: As `check_required_gain` says.
        """
        check_required_gain(self.min_gain, self.tolerance_ratio)

    def as_json(self) -> dict[str, Any]:
        """Return the terms as JSON values."""
        terms = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "config"}
        return {**terms, "client": self.config.client.identity, "config": dict(self.config.values)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """Return the terms from what `as_json` returned.

        Raises:
            ConfigError: The client does not accept the config.
            RequestRefused: As `check_required_gain` says.
        """
        terms = {name: value for name, value in record.items() if name != "client"}
        return cls(**{**terms, "config": ProducerConfig.parse(record["config"], client_of(record["client"]))})

    def study(self, spec: StudySpec) -> StudySpec:
        """Return a study that measures the config alternating with the baseline.

        Args:
            spec: The study whose target, workload and baseline are used.
        """
        confirm = ConfirmSpec(
            self.rounds, self.max_rounds, self.width_ratio, OF_ONE_METRIC, 1, 0, undo_rounds=0, configs=(self.config,)
        )
        return replace(spec, confirm=replace(confirm, decides_at=decides_at(self.min_gain, self.tolerance_ratio)))


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a config passes.

    Attributes:
        study: The study with the measurements; empty if nothing was measured.
        file: The file that the config was read from, as the user named it.
        guarantees: The guarantees of the config and of the baseline.
        refused: Why the config is rejected without any measurement; empty if it is measured.
        sizes: The comparison of the config with the baseline for each record size.
        outcomes: How the config compares with the baseline, for each record size and metric.
        misses: Why the config is rejected, for each record size.
        undecided: What the rounds could not decide, for each record size.
    """

    study: str
    file: str
    guarantees: Guarantees
    refused: Sequence[str]
    sizes: Sequence[SizeVerification]
    outcomes: Mapping[str, Mapping[str, VerificationOutcome]]
    misses: Mapping[str, Sequence[str]]
    undecided: Mapping[str, Sequence[str]]

    @classmethod
    def before(cls, spec: StudySpec, terms: VerificationTerms, file: str) -> Self:
        """Return the judgement before any measurement. It may already reject the config.

        Args:
            spec: The study that `VerificationTerms.study` returned.
            terms: What the config must show.
            file: The file that the config was read from.
        """
        # Without a study whose settings are used, the file must give at least the baseline's guarantee.
        guarantees = guarantees_of(spec, spec.floor if terms.keeps_floor else None)
        allow = terms.allow_weaker
        refused = [*guarantees.misses(allow_weaker=allow), *missing_latency(spec, allow_weaker=allow)]
        return cls("", file, guarantees, refused, [], {}, {}, {})

    def after(self, results: StudyResults, spec: StudySpec, terms: VerificationTerms) -> "Judgement":
        """Return the judgement by the measurements."""
        sizes = [verification_of(size, spec) for size in results.sizes]
        gain, tolerance, allow = terms.min_gain, terms.tolerance_ratio, terms.allow_weaker
        return replace(
            self,
            study=spec.name,
            sizes=sizes,
            outcomes={each.record_bytes: each.outcomes(gain, tolerance) for each in sizes},
            misses={each.record_bytes: each.misses(gain, tolerance, allow_weaker=allow) for each in sizes},
            undecided={each.record_bytes: each.undecided(gain, tolerance) for each in sizes},
        )

    @property
    def unmeasured(self) -> str:
        """Why there is no judgement for a record size; empty if every record size was measured."""
        for size in self.sizes:
            if not size.measured:
                why = "; ".join(size.warnings) or "no round measured both sides"
                return (
                    "a comparison needs at least two rounds that measured both the file and the baseline, but "
                    f"there were fewer with records of {size.record_bytes} B: {why}"
                )
        return ""

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of `tuner verify`."""
        if self.unmeasured:
            return ExitCode.FAILED
        if [*self.refused, *chain(*self.misses.values())]:
            return ExitCode.THRESHOLD_MISSED
        return ExitCode.UNDECIDED if [*chain(*self.undecided.values())] else ExitCode.DONE

    def as_json(self) -> dict[str, Any]:
        """Return the judgement as JSON values, in the form of `tuner verify --json`."""
        return document(
            "verification",
            study=self.study or None,
            file=self.file,
            guarantee=str(self.guarantees.config),
            baseline_guarantee=str(self.guarantees.baseline),
            weaker=self.guarantees.weaker,
            misses=list(self.refused),
            passed=self.exit_code is ExitCode.DONE,
            exit_code=int(self.exit_code),
            sizes=[
                {
                    **asdict(each),
                    "outcomes": {metric: str(outcome) for metric, outcome in self.outcomes[each.record_bytes].items()},
                    "misses": list(self.misses[each.record_bytes]),
                    "undecided": list(self.undecided[each.record_bytes]),
                }
                for each in self.sizes
            ],
        )
