"""What runs in a Ray worker: one producer at a time, told to the driver as a stream of small compressed messages."""

import pickle
import queue
import sys
import threading
import time
import zlib
from collections.abc import Iterator

from runners.measurement import Window
from runners.producers import Report, produce, whoami
from runners.runner import Runner
from runners.workload import Workload
from search_spaces.producer_config import ProducerConfig


class Worker:
    """An actor, once Ray has made one of it; the others are called while `run` runs."""

    def __init__(self) -> None:
        self._stopped_run = 0
        # A spawned load process would import the main module again: Ray's own, and all of Ray with it.
        vars(sys.modules["__main__"]).pop("__file__", None)

    def name(self) -> str:
        """Host/process id."""
        return whoami()

    def clock(self) -> float:
        """This host's time, in seconds since 1970."""
        return time.time()

    def stop(self, run: int) -> None:
        """Let a run end; one that is over already is none of our business."""
        self._stopped_run = run

    def run(self, run: int, runner: Runner, config: ProducerConfig, workload: Workload) -> Iterator[bytes]:
        """Windows as they end, then the report."""
        told: queue.SimpleQueue[Window | Report] = queue.SimpleQueue()

        def work() -> None:
            told.put(produce(runner, config, workload, told.put, lambda: self._stopped_run == run))

        threading.Thread(target=work, name=f"tuner-run-{run}", daemon=True).start()
        message: Window | Report | None = None
        while not isinstance(message, Report):
            message = told.get()
            yield _packed(message)


def _packed(message: Window | Report) -> bytes:
    return zlib.compress(pickle.dumps(message), 1)


def unpacked(packed: bytes) -> Window | Report:
    """One message of the stream."""
    message: Window | Report = pickle.loads(zlib.decompress(packed))
    return message
