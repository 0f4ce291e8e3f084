"""Splits the end-to-end latency into parts: the leader's acknowledgement, replication, and the consumer's fetch.

With acks=1, the acknowledgement comes when the leader has the record. With acks=all, it comes when all in-sync replicas
have it. So two rows that differ only in `acks` are compared: the difference of their latencies is the replication.
"""

from dataclasses import dataclass

from tuner.model.row import Row
from tuner.results.experiments.experiment_results import ExperimentResults
from tuner.results.experiments.row_results import Mean, RowResults, arithmetic_mean_of

_ACKS = frozenset({"acks", "request.required.acks", "enable.idempotence"})
"""`acks` by all its names, and what needs acks=all."""
_ALL = -1


@dataclass(frozen=True, slots=True)
class LatencyParts:
    """The parts of the median end-to-end latency of a row with acks=all, as arithmetic means over the rounds.

    The sum of the three parts is `end_to_end_ms`.

    Attributes:
        row: The name of the row.
        of_leader: The name of the row that differs only in acks=1.
        leader_ms: Time until a producer with acks=1 has the acknowledgement: the leader has the record.
        replication_ms: Time from there until a producer with acks=all has the acknowledgement: all in-sync replicas
            have the record. It is below 0 if acks=1 was slower, as may happen on a busy host.
        fetch_ms: Time from there until a consumer has the record.
        end_to_end_ms: The whole time from sending to reading the record.
    """

    row: str
    of_leader: str
    leader_ms: Mean
    replication_ms: Mean
    fetch_ms: Mean
    end_to_end_ms: Mean


def latency_parts(results: ExperimentResults) -> list[LatencyParts]:
    """Return the latency parts of each row with consumers and acks=all for which there is the same row with acks=1."""
    found = []
    for ours in results.rows:
        if ours.row.config.acks == _ALL and ours.row.workload.consumers:
            theirs = next((each for each in results.rows if _is_leader_of(each.row, ours.row)), None)
            if theirs is not None and (parts := _parts(ours, theirs)) is not None:
                found.append(parts)
    return found


def _is_leader_of(row: Row, ours: Row) -> bool:
    """Return whether a row differs from one with acks=all in nothing but acks=1."""
    alike = (row.workload, row.setup, row.config.client) == (ours.workload, ours.setup, ours.config.client)
    return row.config.acks == 1 and alike and _without_acks(row) == _without_acks(ours)


def _without_acks(row: Row) -> dict[str, str]:
    return {name: value for name, value in row.config.values.items() if name not in _ACKS}


def _parts(ours: RowResults, theirs: RowResults) -> LatencyParts | None:
    """Return the parts, from the rounds that measured both rows; None if there is no such round."""
    whole, ends = ours.by_round("end_to_end_p50_ms"), ours.by_round("latency_p50_ms")
    leader = theirs.by_round("latency_p50_ms")
    rounds = [round_ for round_ in whole if round_ in ends and round_ in leader]
    if not rounds:
        return None
    return LatencyParts(
        ours.row.name,
        theirs.row.name,
        arithmetic_mean_of([leader[round_] for round_ in rounds]),
        arithmetic_mean_of([ends[round_] - leader[round_] for round_ in rounds]),
        arithmetic_mean_of([whole[round_] - ends[round_] for round_ in rounds]),
        arithmetic_mean_of([whole[round_] for round_ in rounds]),
    )
