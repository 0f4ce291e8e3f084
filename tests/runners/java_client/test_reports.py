"""Sums and counts follow from the client's averages, and from two reports the means in between."""

import json
from typing import Any

import numpy as np
import pytest

from runners.java_client.reports import ClientTotals, JavaReport, histogram_of
from runners.measurements.histogram import Histogram
from tests.runners.java_client.builders import METRICS, message


def test_totals_are_the_products_of_averages_and_their_counts() -> None:
    totals = ClientTotals.of(METRICS)
    assert (totals.records, totals.batches, totals.responses) == (1_000, 20, 8)
    assert totals.queue_us == pytest.approx(20 * 4_000)
    assert totals.rtt_us == pytest.approx(8 * 2_500)
    assert totals.throttle_ms == pytest.approx(8 * 1.5)
    assert (totals.wait_ns, totals.wire_bytes, totals.in_flight) == (5e6, 45_000, 2)
    assert totals.queued_bytes == 3_000


def test_the_wait_for_room_has_another_name_in_older_releases() -> None:
    old = {("bufferpool-wait-time-total" if name.endswith("-ns-total") else name): METRICS[name] for name in METRICS}
    assert ClientTotals.of(old) == ClientTotals.of(METRICS)


def test_a_client_that_has_sent_nothing_yet_has_counted_nothing() -> None:
    assert ClientTotals.of({}) == ClientTotals()


def test_a_report_is_read_from_its_line() -> None:
    seen = JavaReport.parse(json.loads(json.dumps(message(failed={"TimeoutException": 3}))))
    assert (seen.handed_over, seen.acknowledged, seen.done) == (1_000, 990, 993)
    assert seen.client == ClientTotals.of(METRICS)


@pytest.mark.parametrize("missing", ["at_ns", "handed_over", "bytes", "acknowledged", "failed"])
def test_a_line_that_lacks_a_counter_is_no_report(missing: str) -> None:
    line: dict[str, Any] = {name: value for name, value in message().items() if name != missing}
    with pytest.raises(KeyError, match=missing):
        JavaReport.parse(line)


def test_a_histogram_survives_hdr_s_own_encoding() -> None:
    values = np.random.default_rng(0).integers(1, 5_000_000, size=10_000)
    histogram = Histogram.of(values)
    assert histogram_of({"hdr": histogram.encoded(), "sum_us": histogram.sum_us}) == histogram
    empty = Histogram.of([])
    assert histogram_of({"hdr": empty.encoded(), "sum_us": 0}) == empty
