"""What a load cost, in words."""

from runners.consumers.consumption import Consumption, ReadCounts, ReadOrigin, ReadWindow
from runners.consumers.reading import Reading
from runners.measurements.measurement import WindowKind
from runners.measurements.resources import Resources
from tests.helpers.measurements import measurement
from tuner.present.measurements.resource_words import cost_text

USED = Resources(process_cpu_cores=0.5, broker_cpu_cores=0.25, host_cpu_ratio=0.4, host_cores=2)


def consumption(value_bytes: float) -> Consumption:
    whole = ReadWindow(
        number=0,
        phase=WindowKind.MEASURED,
        at_s=2.0,
        duration_s=2.0,
        records=1_000,
        value_bytes=value_bytes,
        total_windows=1,
        waiting_ratio=0.0,
    )
    return Consumption(
        reading=Reading(),
        origin=ReadOrigin(client_version="", cluster="", topic="t", partitions=1, started_at=""),
        series=(whole,),
        counts=ReadCounts(taken=1_000, repeated=0, skipped=0, unread=0, stored=None, received=None),
        resources=USED,
        activity=None,
    )


def test_producers_and_consumers_show_the_same_of_their_cpu() -> None:
    each = "0.50 cores (5.00 ms of CPU time per MB), broker 0.25 cores (2.50 ms of CPU time per MB), host 40 % of 2"
    written = measurement(value_bytes=200e6, duration_s=2.0, resources=USED)
    assert cost_text(written, "client", "a disk") == f"a disk, client {each} cores"
    assert cost_text(consumption(200e6), "clients") == f"clients {each} cores"


def test_a_load_without_values_has_no_cpu_per_mb() -> None:
    told = " 0.50 cores, broker 0.25 cores, host 40 % of 2 cores"
    assert cost_text(measurement(value_bytes=0.0, resources=USED), "client") == f"client{told}"
    assert cost_text(consumption(0.0), "clients") == f"clients{told}"
    assert cost_text(measurement(), "client") == "unknown"
