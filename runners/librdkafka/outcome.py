"""From the raw outcome of a load to the parts of a measurement."""

from runners.clock import NS_PER_S, NS_PER_US, US_PER_S
from runners.librdkafka.load import LoadResult
from runners.librdkafka.statistics import Report
from runners.librdkafka.tally import DrainDelay, Tally
from runners.measurement import ClientActivity, Counts, LatencyCheck

_FAIR_SHARE_RATIO = 0.1


def counts_of(
    result: LoadResult, tally: Tally, *, acks: int, idempotent: bool, stored: int | None, sole_writer: bool
) -> Counts:
    """The three counts of the whole run."""
    last = result.last
    return Counts(
        handed_over=result.handed_over,
        acknowledged=tally.acknowledged,
        failed=dict(tally.failed),
        transmitted=last.tx_records if last else None,
        retries=last.retries if last else 0,
        stored=stored,
        acks=acks,
        idempotent=idempotent,
        sole_writer=sole_writer,
    )


def latency_check_of(
    result: LoadResult, drain: DrainDelay, user_demand_cores: float | None = None
) -> LatencyCheck | None:
    """Seen against internal latency over the measured phase; None where the client reported nothing in it.

    Args:
        result: The load.
        drain: How long deliveries waited for us.
        user_demand_cores: `Resources.client_user_demand_cores`.
    """
    account = result.account
    if not account.records or not result.served.count:
        return None
    delay_us = result.send_delay.mean_us if result.send_delay.count else 0.0
    batch_us = None
    if user_demand_cores is not None and result.records:
        per_record_us = user_demand_cores * result.duration_s / result.records * US_PER_S
        # A record waits for the work on its whole batch.
        batch_us = per_record_us * account.batch_records.mean
    return LatencyCheck(
        seen_us=result.served.mean_us - delay_us,
        client_us=account.latency_us + (batch_us or 0.0),
        queue_us=account.queue_us / account.records,
        outbuf_us=account.outbuf_us / account.records,
        rtt_us=account.rtt_us / account.records,
        drain_us=_drain_wait_us(drain),
        batch_us=batch_us,
    )


def _drain_wait_us(drain: DrainDelay) -> float | None:
    if drain.last_ns <= drain.first_ns:
        return None
    per_ns = (drain.events - 1) / (drain.last_ns - drain.first_ns)
    return drain.left_behind / drain.events / per_ns / NS_PER_US


def activity_of(result: LoadResult) -> ClientActivity | None:
    """The client's account of the measured phase; None where it reported nothing in it."""
    account, start, end = result.account, result.at_start, result.at_end
    if not account.reports or end is None:
        return None
    return ClientActivity(
        queue_full_ratio=result.queue_full_ratio,
        queue_growth_ratio=(end.queued_records - (start.queued_records if start else 0)) / max(1, result.records),
        queued_records=account.queued_records / account.reports,
        queued_bytes=account.queued_bytes / account.reports,
        in_flight_requests=account.in_flight / account.reports,
        throttle_ms=account.throttle_ms.mean,
        wire_bytes=_wire_bytes(result, start, end),
        batch_records=account.batch_records.mean,
        batch_bytes=account.batch_bytes.mean,
        retries=end.retries - (start.retries if start else 0),
        partitions_used=_partitions_used(start, end),
    )


def _wire_bytes(result: LoadResult, start: Report | None, end: Report) -> int | None:
    """Scaled from the time between the two reports to the measured phase, which they don't hit exactly."""
    if start is None or end.at_ns <= start.at_ns:
        return None
    return int((end.wire_bytes - start.wire_bytes) / (end.at_ns - start.at_ns) * result.duration_s * NS_PER_S)


def _partitions_used(start: Report | None, end: Report) -> int | None:
    before = dict(start.partition_records) if start else {}
    written = [records - before.get(number, 0) for number, records in end.partition_records]
    if not sum(written):
        return None
    fair = sum(written) / len(written)
    return sum(records >= fair * _FAIR_SHARE_RATIO for records in written)
