"""A consumer client's reports about its fetches, and their totals over a period."""

from dataclasses import dataclass, field

from runners.clock import NS_PER_S
from runners.consumers.consumption import FetchActivity
from runners.load.sums import Sum


@dataclass(frozen=True, slots=True)
class FetchReport:
    """One report of a client about its fetches.

    Attributes:
        at_ns: The time of the report, on the clock of the load.
        fetches: Number of fetch requests since the client started.
        responses: Number of responses to requests of any kind since the client started.
        wire_bytes: Bytes received from brokers since the client started.
        records: Records received since the client started, taken or not.
        queued_records: Number of records that were fetched and not taken yet (gauge); 0 if the client does not report
            it.
        in_flight: Number of requests to all brokers that await a response (gauge).
        lag_records: Number of records behind the end of the partitions that were not taken yet (gauge).
        rtt_us: For each response since the report before, the time since its request was sent.
        throttle_ms: For each response since the report before, the time for which the broker told the client to pause.
    """

    at_ns: int
    fetches: int
    responses: int
    wire_bytes: int
    records: int
    queued_records: int
    in_flight: int
    lag_records: int
    rtt_us: Sum
    throttle_ms: Sum


@dataclass(slots=True)
class FetchAccount:
    """Totals of a consumer's reports over a period.

    Attributes:
        start: The last report before the period, or the first one in it; None before the first report.
        last: The newest report; None before the first report.
        reports: Number of reports in the period.
    """

    start: FetchReport | None = None
    last: FetchReport | None = None
    reports: int = 0
    _queued: int = 0
    _in_flight: int = 0
    _lag: int = 0
    _rtt_us: Sum = field(default_factory=Sum)
    _throttle_ms: Sum = field(default_factory=Sum)

    def add(self, report: FetchReport) -> None:
        """Add the next report of the period."""
        self.start = self.start or report
        self.last = report
        self.reports += 1
        self._queued += report.queued_records
        self._in_flight += report.in_flight
        self._lag += report.lag_records
        self._rtt_us += report.rtt_us
        self._throttle_ms += report.throttle_ms

    @property
    def exchange_s(self) -> float:
        """Mean time from a request to the end of its response; 0 before the first report."""
        return self._rtt_us.mean / 1e6

    def restarted(self) -> "FetchAccount":
        """Return an empty account for the period that begins with the newest report."""
        return FetchAccount(start=self.last, last=self.last)

    def activity(self, receiving_ratio: float | None) -> FetchActivity | None:
        """Return what was reported in the period; None if there are fewer than two reports to compare.

        Args:
            receiving_ratio: The value of `FetchActivity.receiving_ratio`.
        """
        start, last = self.start, self.last
        if start is None or last is None or start is last or not self.reports:
            return None
        seconds, fetches = (last.at_ns - start.at_ns) / NS_PER_S, last.fetches - start.fetches
        return FetchActivity(
            fetches_per_s=fetches / seconds,
            fetch_records=(last.records - start.records) / max(1, fetches),
            fetch_bytes=(last.wire_bytes - start.wire_bytes) / max(1, fetches),
            fetch_ms=self._rtt_us.mean / 1e3,
            in_flight_requests=self._in_flight / self.reports,
            throttle_ms=self._throttle_ms.mean,
            wire_bytes=last.wire_bytes - start.wire_bytes,
            queued_records=self._queued / self.reports,
            lag_records=self._lag / self.reports,
            receiving_ratio=receiving_ratio,
        )
