"""A cluster that we start needs no set-up and leaves nothing behind, whichever process is killed."""

import os
import shutil
import signal
import socket
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import psutil
import pytest

from runners.clusters.admin_connection import AdminConnection
from runners.clusters.brokers import memory
from runners.clusters.brokers.broker_layout import (
    LOGS_KEPT,
    Node,
    broker_properties,
    drop_old_logs,
    lay_out,
    log_folder,
    remove_folders,
)
from runners.clusters.brokers.embedded import EmbeddedCluster
from runners.clusters.brokers.keeper_control import remove_dead_brokers
from runners.clusters.brokers.memory import in_memory, memory_root
from runners.clusters.brokers.ports import listener
from runners.clusters.cluster import RunningCluster
from runners.clusters.topics.owned_topics import OwnedTopics
from runners.errors import BrokerDidNotStart, DiskTooFull
from runners.host_processes.clean_up import CleanUpList, clean_up_lists
from runners.host_processes.processes import ProcessIdentity
from tests.helpers.ports import free_port
from tests.helpers.waiting import eventually
from tests.runners.clusters.owner import running_owner


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The temporary folder of a test and of the processes that it starts."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.campaign
@pytest.mark.broker
def test_start_and_stop_leave_no_process_port_folder_or_record(scratch: Path) -> None:
    told: list[str] = []
    before = {record.path for record in clean_up_lists("broker")}
    cluster = EmbeddedCluster()
    running = cluster.start(told.append)
    (local,) = running.local_brokers
    assert running.kind == "embedded"
    assert running.bootstrap == f"127.0.0.1:{local.port}"
    assert psutil.Process(local.pid).name() == "java"
    assert local.log_dir is not None
    assert (local.log_dir / "meta.properties").exists()
    (folder,) = scratch.iterdir()
    assert local.log_dir.is_relative_to(folder)
    assert told[-1] == "starting Kafka (1 broker)"

    cluster.stop()
    assert not psutil.pid_exists(local.pid)
    assert not listens(local.port)
    assert list(scratch.iterdir()) == []
    assert {record.path for record in clean_up_lists("broker")} == before
    log = log_folder() / f"broker-{folder.name.rpartition('-')[2]}.log"
    assert log.stat().st_size > 0, "its log is kept"
    cluster.stop()  # a second call is allowed


class TestItsLogInMemory:
    """Whether the partitions of a broker that we start go into memory."""

    @pytest.fixture(autouse=True)
    def plenty(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.delenv("TMPDIR", raising=False)
        monkeypatch.setattr(memory, "ROOT", tmp_path)
        monkeypatch.setattr(memory, "MEMBERSHIP", tmp_path / "in no control group")
        self.set_free(monkeypatch, files=1 << 40, memory=1 << 40)

    def set_free(self, monkeypatch: pytest.MonkeyPatch, *, files: int, memory: int) -> None:
        """Pretend that this many bytes are free for files in memory, and of memory altogether."""
        monkeypatch.setattr(psutil, "disk_usage", lambda _: SimpleNamespace(free=files))
        monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=memory))

    def test_memory_is_used_if_there_is_room(self, tmp_path: Path) -> None:
        layout = lay_out(2, "127.0.0.1", None)
        files, logs = layout.folders
        assert logs.parent == tmp_path
        assert files.parent == Path(tempfile.gettempdir())
        assert files.name == logs.name
        assert [node.log_dir.is_relative_to(logs) for node in layout.nodes] == [True, True]
        assert [node.folder.is_relative_to(files) for node in layout.nodes] == [True, True]

    @pytest.mark.parametrize(("files", "memory"), [(3 << 30, 1 << 40), (1 << 40, 5 << 30)])
    def test_memory_is_not_used_without_room(self, monkeypatch: pytest.MonkeyPatch, files: int, memory: int) -> None:
        self.set_free(monkeypatch, files=files, memory=memory)
        assert memory_root(1) is None

    def test_more_brokers_need_more_room(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.set_free(monkeypatch, files=8 << 30, memory=10 << 30)
        assert memory_root(1) is not None
        assert memory_root(3) is None

    def test_memory_is_not_used_if_tmpdir_is_set(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("TMPDIR", str(tmp_path))
        assert memory_root(1) is None
        assert len(lay_out(1, "127.0.0.1", None).folders) == 1

    @pytest.mark.broker
    def test_the_folder_in_memory_is_removed_with_the_broker(self, tmp_path: Path) -> None:
        cluster = EmbeddedCluster()
        (local,) = cluster.start().local_brokers
        assert local.log_dir is not None
        assert in_memory(local.log_dir)
        assert (local.log_dir / "meta.properties").exists()
        cluster.stop()
        assert list(tmp_path.iterdir()) == []


@pytest.mark.broker
def test_it_listens_on_loopback_only(broker: RunningCluster) -> None:
    for local in broker.local_brokers:
        addresses = {
            connection.laddr.ip
            for connection in psutil.Process(local.pid).net_connections("tcp")
            if connection.status == psutil.CONN_LISTEN
        }
        assert {address.removeprefix("::ffff:") for address in addresses} == {"127.0.0.1"}


class Killed(NamedTuple):
    """The processes that get SIGKILL."""

    owner: bool
    keeper: bool


@pytest.mark.campaign
@pytest.mark.broker
@pytest.mark.parametrize(
    "killed", [Killed(owner=True, keeper=False), Killed(owner=False, keeper=True), Killed(owner=True, keeper=True)]
)
def test_the_broker_ends_if_its_keeper_or_its_owner_is_killed(scratch: Path, killed: Killed) -> None:
    with running_owner("broker") as (owner, told):
        folders = [Path(folder) for folder in told["folders"]]
        broker = ProcessIdentity.of(told["broker"])
        if killed.keeper:
            os.kill(told["keeper"], signal.SIGKILL)
        if killed.owner:
            owner.kill()
        eventually(lambda: broker.process() is None)
    if killed.keeper:
        # No process was left to clean up, so the next start does it.
        assert all(folder.exists() for folder in folders)
        remove_dead_brokers()
        assert not any(folder.exists() for folder in folders)
    eventually(lambda: not any(folder.exists() for folder in folders))
    eventually(lambda: not Path(told["record"]).exists())


@pytest.mark.broker
def test_ctrl_c_in_the_terminal_does_not_reach_the_broker(broker: RunningCluster) -> None:
    (local,) = broker.local_brokers
    assert os.getsid(local.pid) != os.getsid(0)
    assert os.getpgid(local.pid) != os.getpgid(0)


@pytest.mark.campaign
@pytest.mark.broker
def test_three_brokers_support_replication_three() -> None:
    cluster = EmbeddedCluster(3)
    try:
        running = cluster.start()
        assert len(running.bootstrap.split(",")) == len(running.local_brokers) == 3
        with OwnedTopics(running) as topics:
            topic = topics.create(3, 3, {"min.insync.replicas": "2"})
            assert topic.replication == 3
            assert topic.configs["min.insync.replicas"] == "2"
            copies = [folder for local in running.local_brokers if (folder := local.log_dir)]
            eventually(lambda: sum(len(list(copy.glob(f"{topic.name}-*"))) for copy in copies) == 9)
            assert topics.delete(topic) == ()
    finally:
        cluster.stop()
    assert not any(psutil.pid_exists(local.pid) for local in running.local_brokers)


@pytest.mark.broker
def test_the_error_for_a_taken_port_names_the_process_that_uses_it(scratch: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(BrokerDidNotStart, match=rf"127\.0\.0\.1:{port} is not available.*process {os.getpid()}"):
            EmbeddedCluster(port=port).start()
    assert list(scratch.iterdir()) == []


@pytest.mark.campaign
@pytest.mark.broker
def test_the_error_for_a_wrong_property_names_and_quotes_the_log(scratch: Path) -> None:
    cluster = EmbeddedCluster(properties={"num.io.threads": "-1"})
    with pytest.raises(BrokerDidNotStart, match=r"broker-[0-9a-f]{12}\.log") as caught:
        cluster.start()
    assert "num.io.threads" in str(caught.value)
    assert list(scratch.iterdir()) == []


@pytest.mark.broker
def test_a_broker_that_does_not_answer_in_time_is_stopped(scratch: Path) -> None:
    before = len(list(clean_up_lists("broker")))
    with pytest.raises(BrokerDidNotStart, match="did not answer within 0 s"):
        EmbeddedCluster(start_timeout_s=0.0).start()
    assert list(scratch.iterdir()) == []
    assert len(list(clean_up_lists("broker"))) == before


@pytest.mark.campaign
@pytest.mark.broker
def test_a_start_needs_no_network_if_the_jars_are_in_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("KAFKA_TUNER_MAVEN_REPOSITORY", "http://127.0.0.1:1")
    port = free_port()
    cluster = EmbeddedCluster(port=port, properties={"message.max.bytes": "2000000"})
    try:
        running = cluster.start()
        assert running.bootstrap == f"127.0.0.1:{port}"
        process = listener(port)
        assert process is not None
        assert process.pid == running.local_brokers[0].pid
        assert len(AdminConnection(running.connection).metadata(10.0).brokers) == 1
    finally:
        cluster.stop()


def test_a_full_disk_is_refused_before_anything_starts(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(scratch)._replace(free=10**9)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(DiskTooFull, match=r"2\.1 GB must be free.*has 1\.0 GB"):
        EmbeddedCluster().start()
    assert list(scratch.iterdir()) == []


def test_fewer_than_one_broker_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one broker"):
        EmbeddedCluster(0)


@pytest.fixture
def quiet_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KAFKA_TUNER_HOME", str(tmp_path / "state"))
    return tmp_path


def test_folders_of_live_keepers_and_of_other_hosts_are_kept(quiet_state: Path) -> None:
    live, foreign = quiet_state / "kafka-tuner-broker-000000000001", quiet_state / "kafka-tuner-broker-000000000002"
    for folder in (live, foreign):
        folder.mkdir()
    CleanUpList("broker", "1", ProcessIdentity.of(), {"folders": [str(live)]}).save()
    CleanUpList("broker", "2", ProcessIdentity(2**22, ""), {"folders": [str(foreign)]}, host="elsewhere").save()
    remove_dead_brokers()
    assert live.exists()
    assert foreign.exists()


def test_a_record_can_t_cause_the_removal_of_a_foreign_folder(quiet_state: Path) -> None:
    precious = quiet_state / "precious"
    precious.mkdir()
    CleanUpList("broker", "1", ProcessIdentity(2**22, ""), {"folders": [str(precious)]}).save()
    remove_dead_brokers()
    assert precious.exists()
    assert list(clean_up_lists("broker")) == []


def test_a_damaged_record_is_ignored(quiet_state: Path) -> None:
    record = CleanUpList("broker", "1", ProcessIdentity.of(), {"folders": ["x"]})
    record.save()
    record.path.write_text(record.path.read_text()[:20])
    assert list(clean_up_lists("broker")) == []


def test_only_the_newest_logs_are_kept(quiet_state: Path) -> None:
    log_folder().mkdir(parents=True)
    for age in range(LOGS_KEPT + 5):
        log = log_folder() / f"broker-{age:012x}.log"
        log.touch()
        os.utime(log, (1000 - age, 1000 - age))
    drop_old_logs()
    assert {log.name for log in log_folder().iterdir()} == {f"broker-{age:012x}.log" for age in range(LOGS_KEPT)}


def test_remove_folders_skips_other_folder_names(tmp_path: Path) -> None:
    tmp_path.joinpath("kafka-tuner-broker-0123").mkdir()
    remove_folders([str(tmp_path / "kafka-tuner-broker-0123")])
    assert tmp_path.joinpath("kafka-tuner-broker-0123").exists()


def test_properties_of_the_user_override_ours() -> None:
    node = Node(1, "127.0.0.1", 9092, 9093, Path("/data"), Path("/data/log"))
    assert broker_properties(node, [node], {"log.dirs": "/mine"})["log.dirs"] == "/mine"
