"""A cluster in words, and what each broker on this host used in a measurement."""

from collections.abc import Iterator

from runners.measurement import BrokerUse, Resources


def broker_lines(used: Resources) -> list[tuple[str, str]]:
    """Return a line for each local broker, as a pair of a name and a text."""
    return [(f"broker :{each.port}", ", ".join(_parts(each))) for each in used.brokers]


def _parts(used: BrokerUse) -> Iterator[str]:
    yield f"{used.cpu_cores:.2f} cores"
    if used.received_mb_per_s is not None and used.sent_mb_per_s is not None:
        yield f"received {used.received_mb_per_s:,.1f} MB/s, sent {used.sent_mb_per_s:,.1f} MB/s"
    if used.disk_mb_per_s is not None:
        yield f"wrote {used.disk_mb_per_s:,.1f} MB/s to disk" if used.disk_mb_per_s else "wrote nothing to disk"


def cluster_text(label: str) -> str:
    """Return a cluster in words, from its stored label: `local cluster (2 ms each way)`."""
    kind, _, link = label.partition(" ")
    return f"{'local' if kind == 'embedded' else kind} cluster {link}".rstrip()
