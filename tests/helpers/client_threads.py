"""The threads of librdkafka in the process of the tests."""

import os

from runners.host.kernel_counters import CLIENT_THREAD_PREFIX, named_thread_times


def client_threads() -> set[tuple[int, str]]:
    """Return the ids and names of librdkafka's threads in this process; empty where threads have no names."""
    return set(named_thread_times(os.getpid(), (CLIENT_THREAD_PREFIX,)))
