"""The cluster of a measurement, and what the load, its host and the local brokers used, in words."""

from collections.abc import Iterator

from runners.consumers.consumption import Consumption
from runners.measurements.measurement import Measurement
from runners.measurements.resources import BrokerUse, Resources
from runners.reporting import percent


def cluster_text(label: str) -> str:
    """Return a cluster in words, from its stored label: `local cluster (2 ms each way)`."""
    kind, _, link = label.partition(" ")
    return f"{'local' if kind == 'embedded' else kind} cluster {link}".rstrip()


def cost_text(result: Measurement | Consumption, client: str, *before: str) -> str:
    """Return what a load cost: CPU of the client, of the local brokers and of the host.

    Args:
        result: The measurement.
        client: The name of the client.
        before: Other costs, which come first in the text.
    """
    used, parts = result.resources, list(before)
    for name, cores, ms_per_mb in (
        (client, used.process_cpu_cores, result.client_cpu_ms_per_mb),
        ("broker", used.broker_cpu_cores, result.broker_cpu_ms_per_mb),
    ):
        if cores is not None:
            each_mb = "" if ms_per_mb is None else f" ({ms_per_mb:.2f} ms of CPU time per MB)"
            parts.append(f"{name} {cores:.2f} cores{each_mb}")
    if used.host_cpu_ratio is not None:
        parts.append(f"host {percent(used.host_cpu_ratio)} of {used.host_cores} cores")
    return ", ".join(parts) or "unknown"


def broker_lines(used: Resources) -> list[tuple[str, str]]:
    """Return a line for each local broker, as a pair of a name and a text."""
    return [(f"broker :{each.port}", ", ".join(_parts(each))) for each in used.brokers]


def _parts(used: BrokerUse) -> Iterator[str]:
    yield f"{used.cpu_cores:.2f} cores"
    if used.received_mb_per_s is not None and used.sent_mb_per_s is not None:
        yield f"received {used.received_mb_per_s:,.1f} MB/s, sent {used.sent_mb_per_s:,.1f} MB/s"
    if used.disk_mb_per_s is not None:
        yield f"wrote {used.disk_mb_per_s:,.1f} MB/s to disk" if used.disk_mb_per_s else "wrote nothing to disk"
