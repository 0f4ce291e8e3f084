"""Chooses the size of the Java client's heap, and checks that a config's full buffer fits into it."""

from math import ceil
from typing import Final

import psutil

from runners.errors import WorkloadRefused
from runners.workload import Workload
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.java_client.limits import MOST_HEAP_BYTES, buffer_bytes_within, heap_bytes_for

_SHARE_OF_MEMORY: Final = 0.4


def default_heap_bytes() -> int:
    """Return the size of the heap in bytes, the same for all configs, so that one Java process can measure all of them.

    It is `MOST_HEAP_BYTES`, or 40 % of the host's memory if that is less. Java takes only the memory that it uses.
    """
    return min(MOST_HEAP_BYTES, int(psutil.virtual_memory().total * _SHARE_OF_MEMORY))


def check_heap(config: ProducerConfig, workload: Workload, heap_bytes: int) -> None:
    """Check that the heap can hold a full buffer of this config.

    Raises:
        WorkloadRefused: The heap is too small.
    """
    buffer_bytes = config.effective_values.integer("buffer.memory")
    mean_bytes, key_bytes = workload.record_sizes.mean_bytes, workload.key_bytes
    needed = heap_bytes_for(buffer_bytes, mean_bytes, key_bytes)
    if needed > heap_bytes:
        held_bytes = buffer_bytes_within(heap_bytes, mean_bytes, key_bytes)
        raise WorkloadRefused(
            f"the Java client's heap must hold its full buffer, but buffer.memory={buffer_bytes} full of records of "
            f"{workload.record_sizes} B needs {needed / 2**20:.0f} MiB, and the heap has {heap_bytes / 2**20:.0f} MiB "
            f"({_heap_rule()}); {_advice(needed, held_bytes)}"
        )


def _heap_rule() -> str:
    return f"{MOST_HEAP_BYTES / 2**20:.0f} MiB, or {_SHARE_OF_MEMORY:.0%} of the host's memory if that is less"


def _advice(needed_bytes: int, held_bytes: int) -> str:
    """Return what to do if the heap is too small for a full buffer."""
    lower = f"set buffer.memory, or the high end of its range in a search (--knob), to at most {held_bytes}"
    if needed_bytes > MOST_HEAP_BYTES:
        return lower
    host_gib = ceil(needed_bytes / _SHARE_OF_MEMORY / 2**30 * 10) / 10
    return f"{lower}, or measure on a host with at least {host_gib} GiB of memory"
