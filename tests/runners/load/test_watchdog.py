"""The watchdog ends a load that can't give a measurement, names the cause, and lets every other load continue."""

from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from runners.clock import NS_PER_S
from runners.clusters.brokers import memory
from runners.clusters.cluster import RunningCluster
from runners.errors import BrokerLost, DeliveryFailed, DiskTooFull, RunnerError, TargetRefused, WorkloadRefused
from runners.librdkafka.tally import Tally
from runners.load.watchdog import Watchdog
from runners.runner import DEFAULT_LIMITS
from search_spaces.configs.producer_config import ProducerConfig
from tests.helpers.moved_clock import MovedClock

PATIENCE_S = 15.0
DOWN = "_ALL_BROKERS_DOWN: 1/1 brokers are down"


class Watched:
    """A load whose time the test moves."""

    def __init__(self, **more: object) -> None:
        self.clock = MovedClock(at_ns=NS_PER_S, step_ns=0)
        self.tally = Tally()
        self.dog = Watchdog(self.clock, stall_patience_s=PATIENCE_S, **more)  # type: ignore[arg-type]

    def after(self, seconds: float, waiting: int = 1) -> None:
        """Let time pass and let the watchdog check."""
        self.clock.at_ns += int(seconds * NS_PER_S)
        self.dog.check(self.tally, waiting)


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        ("MSG_SIZE_TOO_LARGE", WorkloadRefused, r"max\.message\.bytes.*MSG_SIZE_TOO_LARGE.*smaller records"),
        ("RECORD_LIST_TOO_LARGE", WorkloadRefused, "RECORD_LIST_TOO_LARGE"),
        ("INVALID_RECORD", WorkloadRefused, r"compacted, its records need keys \(--key-bytes"),
        ("InvalidRecordException", WorkloadRefused, "records need keys"),
        ("TOPIC_AUTHORIZATION_FAILED", TargetRefused, "permission to write.*grant WRITE"),
        ("CLUSTER_AUTHORIZATION_FAILED", TargetRefused, "CLUSTER_AUTHORIZATION_FAILED"),
        ("UNSUPPORTED_COMPRESSION_TYPE", TargetRefused, "must accept the config"),
        ("UNKNOWN_TOPIC_OR_PART", BrokerLost, "the topic is gone"),
        ("_UNKNOWN_TOPIC", BrokerLost, "the topic is gone"),
    ],
)
def test_an_error_that_no_retry_can_change_ends_the_load_at_once(
    error: str, kind: type[RunnerError], words: str
) -> None:
    watched = Watched()
    watched.after(0)
    watched.tally.fail(error)
    with pytest.raises(kind, match=words):
        watched.after(0)


def test_a_fatal_error_ends_the_load_at_once() -> None:
    watched = Watched()
    watched.tally.fatal = "_FATAL: sequence numbers out of order"
    with pytest.raises(DeliveryFailed, match="stopped for good: _FATAL: sequence"):
        watched.after(0)


def test_a_record_that_times_out_does_not_end_the_load() -> None:
    watched = Watched()
    watched.tally.fail("_MSG_TIMED_OUT", 100)
    watched.after(0)


def test_a_broker_is_lost_after_a_long_time_without_delivery() -> None:
    watched = Watched()
    watched.after(0)
    watched.after(PATIENCE_S)
    with pytest.raises(BrokerLost, match="no deliveries came for 16 s while 7 records waited; the client reports no"):
        watched.after(0.5, waiting=7)


def test_each_delivery_restarts_the_patience() -> None:
    watched = Watched()
    for _ in range(5):
        watched.tally.delivered(1)
        watched.after(PATIENCE_S)
    for _ in range(5):
        watched.tally.fail("_MSG_TIMED_OUT")
        watched.after(PATIENCE_S)


def test_no_delivery_is_missed_if_no_record_waits() -> None:
    watched = Watched()
    for _ in range(5):
        watched.after(PATIENCE_S * 2, waiting=0)
    with pytest.raises(BrokerLost):
        watched.after(PATIENCE_S + 1)


@pytest.mark.parametrize("sentence", [DOWN, "_TRANSPORT: connect refused", "_RESOLVE: no such host"])
def test_brokers_reported_down_have_a_few_seconds_to_come_back(sentence: str) -> None:
    watched = Watched()
    watched.after(0)
    watched.tally.add_complaint(sentence)
    watched.after(3.0)
    with pytest.raises(BrokerLost, match=f"no deliveries came for 3 s.*{sentence}"):
        watched.after(0.1)


def test_waiting_for_linger_ms_is_no_outage() -> None:
    clock, tally = MovedClock(at_ns=NS_PER_S, step_ns=0), Tally()
    config = ProducerConfig.parse({"linger.ms": 5_000})
    dog = Watchdog.for_run(RunningCluster("existing", {}), DEFAULT_LIMITS, config, clock)
    dog.check(tally, 1)
    tally.add_complaint("_TRANSPORT: connect to the first of two addresses refused")
    clock.at_ns += 4 * NS_PER_S
    dog.check(tally, 1)
    clock.at_ns += 5 * NS_PER_S
    with pytest.raises(BrokerLost, match="no deliveries came for 9 s"):
        dog.check(tally, 1)


def test_a_complaint_from_before_the_last_delivery_is_forgotten() -> None:
    watched = Watched()
    watched.tally.add_complaint(DOWN)
    watched.tally.delivered(1)
    watched.after(0)
    watched.after(PATIENCE_S)


def test_timeouts_are_no_sign_of_life_while_brokers_are_down() -> None:
    watched = Watched()
    watched.after(0)
    watched.tally.add_complaint(DOWN)
    watched.tally.fail("_MSG_TIMED_OUT", 100)
    watched.after(3.0)
    watched.tally.fail("_MSG_TIMED_OUT", 100)
    with pytest.raises(BrokerLost, match=DOWN):
        watched.after(0.1)


def test_a_complaint_right_after_the_last_delivery_counts() -> None:
    watched = Watched()
    watched.after(0)
    watched.tally.delivered(1)
    watched.tally.add_complaint(DOWN)
    watched.after(0.2)
    with pytest.raises(BrokerLost, match=DOWN):
        watched.after(3.1)


def test_a_dead_broker_process_ends_the_load_after_a_few_seconds() -> None:
    watched = Watched(broker_alive=lambda: False)
    watched.after(0)
    with pytest.raises(BrokerLost, match="the broker's process does not run any more: check whether it was killed"):
        watched.after(3.1)


def test_a_disk_about_to_run_full_ends_the_load() -> None:
    # The folders of the tests may lie in memory, for which another rule holds.
    watched = Watched(disks=(Path(__file__).parent,), min_free_disk_bytes=1 << 60)
    with pytest.raises(DiskTooFull, match=r"must keep .* GB free, but has .*--max-bytes"):
        watched.after(0)


def test_memory_about_to_run_full_ends_the_load(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(memory, "ROOT", tmp_path)
    monkeypatch.setattr(memory, "MEMBERSHIP", tmp_path / "in no control group")
    free = 1 << 29
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=free))
    watched = Watched(disks=(tmp_path / "log",), min_free_disk_bytes=1 << 60)
    with pytest.raises(DiskTooFull, match=r"which must keep 1\.1 GB free, but has 0\.5 GB free; .*TMPDIR"):
        watched.after(0)
    free = 1 << 40
    watched.after(1)  # the limit for disks does not apply to memory


def test_a_disk_with_enough_room_lets_the_load_continue(tmp_path: Path) -> None:
    watched = Watched(disks=(tmp_path,), min_free_disk_bytes=1)
    for _ in range(3):
        watched.after(1, waiting=0)


def test_the_flush_waits_a_minute_for_the_last_deliveries() -> None:
    watched, tally = Watched(), Tally()
    tally.failed["_MSG_TIMED_OUT"] = 3
    assert not watched.dog.flush_is_over(tally)
    watched.clock.at_ns += 60 * NS_PER_S
    assert not watched.dog.flush_is_over(tally)
    assert watched.dog.purged(tally) == 0
    watched.clock.at_ns += 1
    assert watched.dog.flush_is_over(tally)
    tally.failed["_PURGE_QUEUE"] = 40
    assert watched.dog.flush_is_over(tally)
    assert watched.dog.purged(tally) == 40, "those that failed before count as lost"
