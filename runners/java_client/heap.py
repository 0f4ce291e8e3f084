"""How much memory the Java client needs."""

from typing import Final

import psutil

from runners.errors import WorkloadRefused
from runners.workload import Workload
from search_spaces.java_client.limits import QUEUED_RECORD_BYTES
from search_spaces.producer_config import ProducerConfig

_MOST_BYTES: Final = 4 << 30
_SHARE_OF_MEMORY: Final = 0.4
_ROOM_BYTES: Final = 256 << 20
"""What the process needs besides the records that wait: the pool of payload, classes, and room for the collector."""
_FRAMING_BYTES: Final = 7
"""The least that a record takes in a batch besides key and value. Source: record format v2."""


def default_heap_bytes() -> int:
    """Return the size of the heap, the same for all configs, so that one Java process can measure all of them.

    It is 4 GiB, or 40 % of the host's memory if that is less. In 4 GiB, a `buffer.memory` of 256 MiB can be full of
    records of 10 B, whose objects take another 2.3 GiB, and the collector has room. Memory that is not used is not
    taken.
    """
    return min(_MOST_BYTES, int(psutil.virtual_memory().total * _SHARE_OF_MEMORY))


def check_heap(config: ProducerConfig, workload: Workload, heap_bytes: int) -> None:
    """Check that the heap can hold a full buffer of this config.

    Raises:
        WorkloadRefused: It can't.
    """
    buffer_bytes = config.in_force.integer("buffer.memory")
    record_bytes = workload.record_sizes.mean_bytes + workload.key_bytes + _FRAMING_BYTES
    needed = round(buffer_bytes * (1 + QUEUED_RECORD_BYTES / record_bytes)) + _ROOM_BYTES
    if needed > heap_bytes:
        raise WorkloadRefused(
            f"the Java client's heap must hold its full buffer, but buffer.memory={buffer_bytes} full of records of "
            f"{workload.record_sizes} B needs {needed / 2**20:.0f} MiB, and the heap has {heap_bytes / 2**20:.0f} MiB; "
            "lower buffer.memory, or measure on a host with more memory"
        )
