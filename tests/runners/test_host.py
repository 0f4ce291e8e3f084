"""CPU and socket times are read correctly, and summarised by what limited the load."""

import os
import socket
import struct
import threading
import time
from collections.abc import Iterator

import psutil
import pytest

from runners.clusters.cluster import LocalBroker
from runners.host.kernel_counters import ConnectionWaits, SocketTimes, ThreadTime, thread_times, user_s
from runners.host.probe import BrokerCounters, HostProbe, free_disk_bytes, usage
from runners.measurements.resources import BrokerUse
from tests.helpers.client_threads import client_threads
from tests.helpers.measurements import reading
from tests.helpers.waiting import eventually

BURNT_S = 0.05
# A tick of the coarsest clock that a reading may come from.
TICK_S = 0.02


@pytest.fixture
def burner() -> Iterator[threading.Thread]:
    """A thread that has used 50 ms of CPU and is now idle."""
    done, over = threading.Event(), threading.Event()

    def burn() -> None:
        while time.thread_time() < BURNT_S:
            sum(range(10_000))  # runs in user mode, unlike the reading of the clock
        done.set()
        over.wait()

    thread = threading.Thread(target=burn)
    thread.start()
    done.wait()
    yield thread
    over.set()
    thread.join()


def test_a_thread_s_cpu_is_what_it_used(burner: threading.Thread) -> None:
    spent = ThreadTime.of(burner)
    assert spent is not None
    assert BURNT_S - TICK_S <= spent.used_s <= spent.demand_s
    again = ThreadTime.of(burner)
    assert again is not None
    assert again.used_s - spent.used_s < TICK_S, "the thread is idle"


def test_all_threads_of_a_process_are_seen_by_id(burner: threading.Thread) -> None:
    found = thread_times(os.getpid())
    assert burner.native_id in found
    assert found[burner.native_id].used_s >= BURNT_S - TICK_S
    assert set(found) >= {thread.native_id for thread in threading.enumerate()}


def test_threads_of_an_ended_process_raise_an_error_of_psutil() -> None:
    with pytest.raises(psutil.NoSuchProcess):
        thread_times(2**22 + 1)


def test_an_ended_thread_has_no_times() -> None:
    thread = threading.Thread(target=lambda: None)
    assert ThreadTime.of(thread) is None
    thread.start()
    thread.join()
    assert ThreadTime.of(thread) is None


def test_user_time_is_added_up_over_threads(burner: threading.Thread) -> None:
    assert burner.native_id is not None
    assert user_s([]) == 0
    assert 0 < user_s([burner.native_id]) <= user_s([burner.native_id, threading.get_native_id()])


def test_our_own_threads_are_not_client_threads(burner: threading.Thread) -> None:
    assert burner.native_id not in {number for number, _ in client_threads()}


def test_a_probe_reads_this_process_as_if_it_were_a_broker(burner: threading.Thread) -> None:
    probe = HostProbe([LocalBroker(os.getpid(), 0, None), LocalBroker(2**22 + 1, 0, None)], threads={"sender": burner})
    seen = probe.read()
    assert seen.brokers is not None
    assert list(seen.brokers) == [os.getpid()], "a broker that has ended is left out"
    assert seen.broker_threads is not None
    assert (os.getpid(), burner.native_id) in seen.broker_threads
    assert 0 < seen.host_busy_s < seen.host_total_s
    assert seen.own_threads["sender"].used_s >= BURNT_S - TICK_S
    assert HostProbe().read().brokers is None


def test_usage_is_the_difference_per_second() -> None:
    before = reading(
        at_s=10.0,
        own_threads={"sender": ThreadTime(1.0, 1.0), "drain": ThreadTime(0.0)},
        client_threads={(1, "rdk:main"): ThreadTime(5.0), (2, "rdk:broker1"): ThreadTime(0.0)},
        client_user_s=4.0,
        process_cpu_s=3.0,
        host_busy_s=100.0,
        host_total_s=200.0,
        brokers={7: BrokerCounters(9092, 1.0, 5_000_000, {(4, "a"): (1_000_000, 0)})},
        broker_threads={(7, 1): ThreadTime(1.0, 0.0)},
        sockets={(3, "a"): ConnectionWaits(1.0, 0.0)},
    )
    after = reading(
        at_s=12.0,
        own_threads={"sender": ThreadTime(2.0, 1.5), "drain": ThreadTime(0.5)},
        client_threads={(1, "rdk:main"): ThreadTime(5.5), (2, "rdk:broker1"): ThreadTime(0.5, 1.5)},
        client_user_s=4.5,
        process_cpu_s=6.0,
        host_busy_s=103.0,
        host_total_s=204.0,
        brokers={
            7: BrokerCounters(9092, 2.5, 7_000_000, {(4, "a"): (5_000_000, 2_000_000), (5, "new"): (0, 4_000_000)}),
            8: BrokerCounters(9093, 99.0),
        },
        broker_threads={(7, 1): ThreadTime(1.2, 0.0), (7, 2): ThreadTime(0.8, 0.8)},
        sockets={(3, "a"): ConnectionWaits(1.5, 0.2), (4, "b"): ConnectionWaits(0.1, 1.8)},
    )
    used = usage(before, after)
    assert (used.sender_cpu_ratio, used.sender_demand_ratio) == pytest.approx((0.5, 0.75))
    assert (used.drain_cpu_ratio, used.drain_demand_ratio) == pytest.approx((0.25, 0.25))
    assert (used.client_thread_cpu_ratio, used.client_thread_demand_ratio) == pytest.approx((0.25, 1.0))
    # Half of the client's CPU time was in user mode. For each second on a core, its threads waited another 1.5 s.
    assert used.client_user_demand_cores == pytest.approx(0.25 * 2.5)
    assert (used.broker_thread_cpu_ratio, used.broker_thread_demand_ratio) == pytest.approx((0.4, 0.8))
    assert used.process_cpu_cores == pytest.approx(1.5)
    assert used.host_cpu_ratio == pytest.approx(0.75)
    assert used.broker_cpu_cores == pytest.approx(0.75), "a broker that started later is not counted"
    assert (used.network_limited_ratio, used.receiver_limited_ratio) == pytest.approx((0.25, 0.9))
    assert used.brokers == (
        BrokerUse(9092, cpu_cores=0.75, disk_mb_per_s=1.0, received_mb_per_s=3.0, sent_mb_per_s=2.0),
    )


def test_values_that_cannot_be_read_are_none() -> None:
    used = usage(reading(), reading(at_s=1.0))
    assert (used.sender_cpu_ratio, used.client_thread_cpu_ratio, used.broker_cpu_cores) == (None, None, None)
    assert (used.host_cpu_ratio, used.network_limited_ratio, used.broker_thread_demand_ratio) == (None, None, None)


def tcp_info(unsent: int, busy_s: float, receiver_s: float, buffer_s: float = 0.0) -> bytes:
    """Make a `struct tcp_info` like the kernel's: three times in microseconds at offset 168, and a gauge at 144."""
    info = bytearray(192)
    struct.pack_into("=I", info, 144, unsent)
    struct.pack_into("=QQQ", info, 168, *(int(each * 1e6) for each in (busy_s, receiver_s, buffer_s)))
    return bytes(info)


def waits_after(*samples: bytes) -> ConnectionWaits:
    times = SocketTimes()
    for sample in samples:
        times.add([((3, "peer"), sample)])
    waits = times.waits()
    assert waits is not None
    return waits[3, "peer"]


def test_the_network_holds_back_unsent_data_that_no_window_explains() -> None:
    assert waits_after(tcp_info(9, 10, 0), tcp_info(9, 11, 0.25, 0.125)) == ConnectionWaits(0.625, 0.25)


def test_data_that_only_waits_for_its_acknowledgement_is_not_held_back() -> None:
    assert waits_after(tcp_info(0, 10, 0), tcp_info(0, 11, 0)) == ConnectionWaits(0.0, 0.0)


def test_an_interval_counts_if_it_ends_with_unsent_data() -> None:
    samples = (tcp_info(0, 0, 0), tcp_info(5, 1, 0), tcp_info(0, 2, 0), tcp_info(5, 4, 0))
    assert waits_after(*samples) == ConnectionWaits(3.0, 0.0)


def test_a_connection_counts_from_the_first_sample_until_it_closes() -> None:
    times = SocketTimes()
    times.add([((3, "a"), tcp_info(1, 100, 0))])
    times.add([((3, "a"), tcp_info(1, 101, 0)), ((4, "b"), tcp_info(1, 50, 50))])
    times.add([((4, "b"), tcp_info(1, 51, 51))])
    assert times.waits() == {(4, "b"): ConnectionWaits(0.0, 1.0)}


def test_a_receiver_that_does_not_read_is_seen_on_a_real_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        reader, _ = server.accept()
        with reader:
            client.setblocking(False)
            times = SocketTimes()

            def is_held_back() -> bool:
                try:
                    client.send(bytes(1 << 20))
                except BlockingIOError:
                    times.sample()
                by_connection = times.waits()
                assert by_connection is not None
                own = by_connection.get((client.fileno(), str(client.getpeername())), ConnectionWaits())
                return own.receiver_s > 0.01

            eventually(is_held_back)


def test_free_disk_is_that_of_the_fullest_disk(tmp_path_factory: pytest.TempPathFactory) -> None:
    folders = [tmp_path_factory.mktemp("a"), tmp_path_factory.mktemp("b")]
    gone = folders[0] / "gone"
    assert free_disk_bytes([]) is None
    assert free_disk_bytes([gone]) is None
    free = free_disk_bytes([*folders, gone])
    assert free is not None
    assert 0 < free <= psutil.disk_usage(str(folders[0])).total
