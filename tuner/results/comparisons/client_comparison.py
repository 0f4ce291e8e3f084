"""Compares two clients that were measured in turn: with their default configs, and with given configs."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from statistics import fmean
from typing import Any, Final

from objectives.metrics import OUTCOME_METRICS, Direction
from objectives.ratios import Ratio, claim_level
from runners.reporting import counted
from search_spaces.client import Client, ClientKind, java
from search_spaces.configs.guarantee import Guarantee
from search_spaces.configs.producer_config import ProducerConfig
from tuner.confirmation.plan import ConfirmationPlan, plans_in
from tuner.confirmation.rounds import HELD_ROUNDS_RATIO, Rounds, holds_rate, means_of, rounds_of
from tuner.model.document import document
from tuner.model.errors import StudyError
from tuner.model.goals import OF_ONE_METRIC
from tuner.model.spec import ConfirmSpec, StudySpec
from tuner.model.trial import CONFIRMING_KINDS, State, Trial, TrialKind
from tuner.results.study_results import SizeResults, StudyResults

COMPARED_METRICS: Final = ("mb_per_s", "latency_p99_ms", "client_cpu_ms_per_mb")
"""The metrics of which the ratio between the clients is stated, with an interval."""


@dataclass(frozen=True, slots=True)
class Side:
    """A config of one client.

    Attributes:
        config: The config.
        source: The study or the file that the config was read from; empty for the client's defaults.
    """

    config: ProducerConfig
    source: str = ""

    @property
    def kind(self) -> ClientKind:
        """The client."""
        return self.config.client.kind

    @property
    def name(self) -> str:
        """The client and the source of its config: `java`, `java with tuned.properties`."""
        return f"{self.kind} with {self.source}" if self.source else str(self.kind)


@dataclass(frozen=True, slots=True)
class ClientsToCompare:
    """What is compared: two clients at their defaults, and with the configs that were given for them.

    Attributes:
        java_client: The release of the Java client.
        given: The configs that were given, by client; there may be none.
        rounds: How often each config is measured.
    """

    java_client: Client = field(default_factory=java)
    given: Mapping[ClientKind, Side] = field(default_factory=dict)
    rounds: int = 8

    @property
    def defaults(self) -> dict[ClientKind, Side]:
        """The clients at their defaults."""
        return {
            ClientKind.LIBRDKAFKA: Side(ProducerConfig.parse({})),
            ClientKind.JAVA: Side(ProducerConfig.parse({}, self.java_client)),
        }

    @property
    def sides(self) -> tuple[Side, ...]:
        """All configs that are measured."""
        return (*self.defaults.values(), *self.given.values())

    @property
    def pairs(self) -> tuple[Mapping[ClientKind, Side], ...]:
        """The pairs of configs that are compared: first the defaults, and then the given configs.

        A client without a given config has its defaults in the second pair, too.
        """
        return (self.defaults, {**self.defaults, **self.given}) if self.given else (self.defaults,)

    def study(self, spec: StudySpec) -> StudySpec:
        """Return a study that measures all configs in turn.

        Args:
            spec: The study whose target and workload are used. Its baseline is librdkafka with its defaults. So the
                throughput of this config decides the fixed rate at which all latencies are measured.
        """
        confirm = ConfirmSpec(
            self.rounds,
            self.rounds,
            goals=OF_ONE_METRIC,
            nominees=1,
            nominee_repeats=0,
            undo_rounds=0,
            configs=(self.defaults[ClientKind.JAVA].config,),
            beside=tuple(side.config for side in self.given.values()),
        )
        return replace(spec, baseline=self.defaults[ClientKind.LIBRDKAFKA].config, confirm=confirm)


@dataclass(frozen=True, slots=True)
class MeasuredSide:
    """The measurements of one config.

    Attributes:
        side: The config.
        metrics: The means over all rounds, by metric.
        rounds: How many rounds gave a measurement.
        held_ratio: The share of these rounds in which the config held the fixed rate.
        lost: Whether the config lost records.
    """

    side: Side
    metrics: Mapping[str, float]
    rounds: int
    held_ratio: float
    lost: bool

    @property
    def guarantee(self) -> Guarantee:
        """What the config guarantees about lost, reordered and duplicate records."""
        return Guarantee.of(self.side.config)


@dataclass(frozen=True, slots=True)
class ComparedPair:
    """The comparison of two configs, one for the Java client and one for librdkafka.

    Attributes:
        sides: The two configs.
        ratios: By metric, the Java client's value divided by librdkafka's value.
        not_compared: Why there is no ratio, by metric.
    """

    sides: Mapping[ClientKind, Side]
    ratios: Mapping[str, Ratio]
    not_compared: Mapping[str, str]

    def better(self, metric: str) -> ClientKind | None:
        """Return the client that is certainly better in a metric; None if the interval of the ratio contains 1."""
        ratio, more_is_better = self.ratios[metric], OUTCOME_METRICS[metric].direction is Direction.MAXIMIZE
        if ratio.low <= 1.0 <= ratio.high:
            return None
        return ClientKind.JAVA if (ratio.low > 1.0) is more_is_better else ClientKind.LIBRDKAFKA


@dataclass(frozen=True, slots=True)
class ClientComparison:
    """The comparison of two clients with one workload.

    Attributes:
        study: The study with the measurements.
        record_bytes: The record size or mix.
        rate_records_per_s: The fixed rate at which the latencies were measured.
        sides: What was measured of each config.
        pairs: The comparisons.
        warnings: What makes the comparisons less reliable.
        simulated: Whether the measurements were computed by a model.
    """

    study: str
    record_bytes: str
    rate_records_per_s: float | None
    sides: tuple[MeasuredSide, ...]
    pairs: tuple[ComparedPair, ...]
    warnings: tuple[str, ...]
    simulated: bool

    def as_json(self) -> dict[str, Any]:
        """Return the comparison as JSON values, in the form of `tuner compare-clients --json`."""
        return document(
            "client-comparison",
            study=self.study,
            record_bytes=self.record_bytes,
            rate_records_per_s=self.rate_records_per_s,
            simulated=self.simulated,
            sides=[
                {
                    "name": each.side.name,
                    "client": str(each.side.kind),
                    "client_version": each.side.config.client.version,
                    "source": each.side.source or None,
                    "config": dict(each.side.config.values),
                    "guarantee": str(each.guarantee),
                    "metrics": dict(each.metrics),
                    "rounds": each.rounds,
                    "held_ratio": each.held_ratio,
                    "lost": each.lost,
                }
                for each in self.sides
            ],
            pairs=[
                {
                    **{str(kind): side.name for kind, side in pair.sides.items()},
                    "java_to_librdkafka": {
                        metric: {**asdict(ratio), "better": better and str(better)}
                        for metric, ratio in pair.ratios.items()
                        for better in [pair.better(metric)]
                    },
                    "not_compared": dict(pair.not_compared),
                }
                for pair in self.pairs
            ],
            warnings=list(self.warnings),
        )


def comparison_of(results: StudyResults, clients: ClientsToCompare) -> ClientComparison:
    """Return the comparison of two clients from the measurements of their study.

    Args:
        results: The results of the study that `ClientsToCompare.study` returned, which has one record size.
        clients: What is compared.

    Raises:
        StudyError: A pair has fewer than two rounds that measured both clients.
    """
    (size,) = results.sizes
    plans = plans_in(results.facts, size.record_bytes)
    confirming = [trial for trial in size.trials if trial.kind in CONFIRMING_KINDS]
    warnings = (
        *(f"{trial.client}: a measurement failed: {trial.error}" for trial in confirming if trial.error),
        *(f"{trial.client}: {warning}" for trial in confirming for warning in trial.warnings),
    )
    # Each ratio gives two claims: that it is above 1, and that it is below 1.
    level = claim_level(2 * len(clients.pairs) * len(COMPARED_METRICS))
    found = [_pair(plans[-1], size, sides, level) for sides in clients.pairs] if plans else []
    pairs = tuple(each for each in found if each is not None)
    if len(pairs) < len(clients.pairs):
        why = "; ".join(dict.fromkeys(warnings)) or "no round measured both clients"
        raise StudyError(
            f"a comparison needs at least two rounds that measured both clients, but there were fewer: {why}"
        )
    return ClientComparison(
        study=results.name,
        record_bytes=size.record_bytes,
        rate_records_per_s=size.rate_records_per_s,
        sides=tuple(_measured(side, size) for side in clients.sides),
        pairs=pairs,
        warnings=tuple(dict.fromkeys(warnings)),
        simulated=results.simulated,
    )


def _measured(side: Side, size: SizeResults) -> MeasuredSide:
    trials = [each for each in size.trials if each.kind is TrialKind.CONFIRM and each.state is State.COMPLETE]
    own: list[Trial] = [each for each in trials if each.fingerprint == side.config.fingerprint]
    held = fmean(map(holds_rate, own)) if own else 0.0
    return MeasuredSide(side, means_of(own), len(own), held, size.lost_records(side.config.fingerprint))


def _pair(
    plan: ConfirmationPlan, size: SizeResults, sides: Mapping[ClientKind, Side], level: float
) -> ComparedPair | None:
    """Return the comparison of two configs; None if fewer than two rounds measured both."""
    theirs = replace(plan, baseline=sides[ClientKind.LIBRDKAFKA].config.fingerprint)
    rounds = rounds_of(theirs, size.trials, sides[ClientKind.JAVA].config.fingerprint)
    if len(rounds.ours) < 2:
        return None
    ratios: dict[str, Ratio] = {}
    not_compared: dict[str, str] = {}
    # A client that falls behind has a queue that grows until the end: its latency depends on the length of the load.
    held_ratio = min(fmean(map(holds_rate, trials)) for trials in (rounds.ours, rounds.theirs))
    for metric in COMPARED_METRICS:
        behind = OUTCOME_METRICS[metric].paced and held_ratio <= HELD_ROUNDS_RATIO
        gain = None if behind else rounds.gain([metric], level)
        if gain is None:
            not_compared[metric] = next(_reasons(metric, rounds, sides))
        else:
            # A gain is above 1 where the Java client is better, and so where its latency is lower.
            more_is_better = OUTCOME_METRICS[metric].direction is Direction.MAXIMIZE
            ratios[metric] = gain if more_is_better else gain.inverse
    return ComparedPair(sides, ratios, not_compared)


def _reasons(metric: str, rounds: Rounds, sides: Mapping[ClientKind, Side]) -> Iterator[str]:
    """Yield why a metric could not be compared, the best reason first."""
    without = [side.name for side in sides.values() if side.config.acks == 0]
    if OUTCOME_METRICS[metric].needs_acknowledgement and without:
        yield f"with acks=0 brokers do not answer, so {' and '.join(without)} has no latency"
    if OUTCOME_METRICS[metric].paced:
        of_clients = ((ClientKind.LIBRDKAFKA, rounds.theirs), (ClientKind.JAVA, rounds.ours))
        behind = {sides[kind].name: sum(not holds_rate(trial) for trial in trials) for kind, trials in of_clients}
        if counts := [f"{name} in {count}" for name, count in behind.items() if count]:
            yield (
                f"the fixed rate was not held ({' and '.join(counts)} of {counted(len(rounds.ours), 'round')}), so the "
                "latency shows how far the client fell behind"
            )
    yield "fewer than two rounds have a value for both clients"
