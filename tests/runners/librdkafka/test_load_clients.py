"""Both load generators and the fake client keep the contract."""

from typing import Final

import psutil
import pytest

from runners.clusters.cluster import RunningCluster
from runners.librdkafka.native_client import NativeClient
from runners.librdkafka.python_client import PythonClient
from tests.helpers.ports import free_port
from tests.helpers.runner_contract import Left, check_nothing_left
from tests.helpers.waiting import eventually
from tests.runners.librdkafka.fake_client import FakeClient
from tests.runners.librdkafka.load_client_contract import POLL_MS, LoadClientContract, Open

_CLIENTS: Final = 8
"""More clients than the descriptors that the mock cluster may open meanwhile: two for each of its three brokers."""


class RealClientContract(LoadClientContract):
    """The contract of clients that open connections."""

    @pytest.fixture
    def address(self, mock_cluster: RunningCluster) -> dict[str, str]:
        return dict(mock_cluster.connection)

    def test_threads_and_connections_end_with_the_client(self, open_client: Open) -> None:
        before, descriptors = Left.now(), psutil.Process().num_fds()
        for _ in range(_CLIENTS):
            opened = open_client()
            opened.send_all(10)
            opened.drain_all()
            assert Left.now().beyond(before)
            opened.client.close()
        check_nothing_left(before)
        eventually(lambda: psutil.Process().num_fds() < descriptors + _CLIENTS)

    def test_an_unreachable_broker_is_reported_quietly(
        self, open_client: Open, capfd: pytest.CaptureFixture[str]
    ) -> None:
        port = free_port()
        opened = open_client(bootstrap_servers=f"127.0.0.1:{port}")

        def told() -> bool:
            opened.client.drain(POLL_MS)
            return any("_TRANSPORT" in text or "_ALL_BROKERS_DOWN" in text for text in opened.tally.complaints())

        eventually(told)
        assert opened.tally.fatal is None
        assert capfd.readouterr() == ("", ""), "librdkafka must print nothing"

    def test_a_record_that_times_out_is_counted_under_its_error_name(self, open_client: Open) -> None:
        port = free_port()
        opened = open_client(bootstrap_servers=f"127.0.0.1:{port}", message_timeout_ms="50", linger_ms="0")
        opened.send_all(3)
        opened.drain_all()
        assert opened.tally.failed == {"_MSG_TIMED_OUT": 3}


class TestNativeClient(RealClientContract):
    covers = NativeClient

    def test_the_wait_of_deliveries_is_measured(self, open_client: Open) -> None:
        opened = open_client()
        opened.send_all(100)
        opened.drain_all()
        assert opened.tally.drain_delay.events > 0
        assert opened.tally.drain_delay.last_ns >= opened.tally.drain_delay.first_ns > 0

    def test_one_call_takes_the_deliveries_of_many_batches(self, open_client: Open) -> None:
        opened = open_client(batch_num_messages="10", linger_ms="0")
        opened.send_all(500)
        client = opened.client
        assert isinstance(client, NativeClient)
        eventually(lambda: client._arrivals.qsize() >= 10)  # nobody drains while the deliveries arrive
        client.drain(0)
        assert opened.tally.drain_delay.events > 1
        opened.drain_all()
        assert (opened.tally.acknowledged, opened.tally.failed) == (500, {})


class TestPythonClient(RealClientContract):
    covers = PythonClient


class TestFakeClient(LoadClientContract):
    covers = FakeClient

    @pytest.fixture
    def address(self) -> dict[str, str]:
        return {}
