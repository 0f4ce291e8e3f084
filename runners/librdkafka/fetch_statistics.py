"""Reads librdkafka's statistics of a consumer: what the client reports about its fetches.

Source: librdkafka 2.16 `STATISTICS.md`. Counters count from the start of the client, gauges hold the value at the
moment of the report, and times cover one interval.
"""

import json
from typing import Any

from runners.consumers.fetch_account import FetchReport
from runners.load.sums import Sum


def fetch_report(at_ns: int, text: str) -> FetchReport:
    """Return the report in one JSON text of librdkafka's statistics, received at the time `at_ns`."""
    data = json.loads(text)
    brokers = list(data["brokers"].values())
    partitions = [each for topic in data["topics"].values() for each in topic["partitions"].values()]
    return FetchReport(
        at_ns=at_ns,
        fetches=sum(int(broker.get("req", {}).get("Fetch", 0)) for broker in brokers),
        responses=sum(int(broker["rx"]) for broker in brokers),
        wire_bytes=sum(int(broker["rxbytes"]) for broker in brokers),
        records=sum(int(each["rxmsgs"]) for each in partitions),
        # All partitions share one queue, and each of them reports the length of the whole queue.
        queued_records=max((int(each["fetchq_cnt"]) for each in partitions), default=0),
        in_flight=sum(max(0, int(broker["waitresp_cnt"])) for broker in brokers),
        lag_records=sum(_lag(each) for each in partitions),
        rtt_us=sum((Sum.read(broker.get("rtt")) for broker in brokers), Sum()),
        throttle_ms=sum((Sum.read(broker.get("throttle")) for broker in brokers), Sum()),
    )


def _lag(partition: dict[str, Any]) -> int:
    end, place = int(partition["hi_offset"]), int(partition["app_offset"])
    return max(0, end - place) if min(end, place) >= 0 else 0  # negative: not known yet
