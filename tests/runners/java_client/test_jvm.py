"""A real Java process sends loads, and ends with its cause, or with the process that started it."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from runners.errors import ByteBudgetExceeded, GeneratorError, LoadPaused, TargetRefused, WorkerLost, WorkloadRefused
from runners.host_processes.clean_up import clean_up_lists
from runners.java_client.compiled import CompiledProgram
from runners.java_client.jvm import Jvm
from runners.java_runtime.java import Java
from runners.load.payload import payload_of
from runners.measurements.measurement import Window, WindowKind
from runners.runner import WatchDecision
from runners.workload import RecordSizes, Workload
from tests.helpers.repository import ROOT
from tests.helpers.waiting import eventually
from tests.runners.java_client.loads import ENDLESS, HEAP_BYTES, NEWEST, PACED, load_of, on_fake_broker, started

pytestmark = pytest.mark.campaign


@pytest.mark.parametrize(
    "version",
    ["2.8.2", pytest.param("3.9.1", marks=pytest.mark.long), NEWEST],
)
def test_every_release_sends_a_paced_load_and_reports_it(version: str) -> None:
    with started(version) as jvm:
        seen = on_fake_broker(load_of(jvm, PACED), {"linger.ms": "1"})
    last = seen.last
    assert last.acknowledged == last.handed_over == last.client.records == sum(seen.partition_records)
    assert last.failed == {}
    assert seen.sample_ratio == 1.0
    assert 0 < seen.latency.count == seen.send_delay.count <= seen.records * 2
    assert seen.served.count > 0
    assert [point.phase for point in seen.series] == [WindowKind.WARMUP, WindowKind.MEASURED]
    assert 0 < seen.at_start.client.batches < last.client.batches
    assert last.client.queue_us > 0
    assert last.sampled == last.handed_over - 1, "all but the first record, which opens the connection"
    assert last.batch_age_ns > 0
    assert sum(records > 0 for records in seen.partition_records) == 3, "keys spread over all partitions"


def test_sent_bytes_are_those_of_the_records_handed_over() -> None:
    with started() as jvm:
        seen = on_fake_broker(load_of(jvm, PACED))
    pool, _ = payload_of(PACED)
    assert seen.last.sent_bytes == pool.bytes_of_first(seen.last.handed_over)


def test_a_process_carries_out_one_run_after_another_with_other_records() -> None:
    with started() as jvm:
        pid = jvm.pid
        for sizes in ("10", "1000", "10"):
            seen = on_fake_broker(load_of(jvm, Workload(RecordSizes.parse(sizes), warmup_s=0.0, measured_s=0.2)))
            assert seen.last.acknowledged == seen.last.handed_over > 0
            assert seen.last.sent_bytes == seen.last.handed_over * int(sizes)
        assert jvm.pid == pid
        assert jvm.runs


def test_a_full_buffer_is_back_pressure_and_its_time_is_counted() -> None:
    workload = Workload(RecordSizes.fixed(1_000), warmup_s=0.0, measured_s=0.5)
    with started() as jvm:
        seen = on_fake_broker(load_of(jvm, workload), {"buffer.memory": "20000", "batch.size": "10000"})
    assert seen.last.failed == {}
    assert seen.last.client.wait_ns > 0
    assert max(client.queued_bytes for client, _ in seen.gauges) <= 20_000
    assert seen.send_delay.count == 0


def test_the_watcher_stops_a_load() -> None:
    with started() as jvm:
        seen = on_fake_broker(load_of(jvm, ENDLESS), watch=lambda window: WatchDecision.STOP)
    assert seen.stopped_early
    assert len(seen.series) == 1
    assert seen.last.acknowledged == seen.last.handed_over


def test_the_byte_budget_is_never_exceeded() -> None:
    with started() as jvm:
        load = load_of(jvm, ENDLESS, max_bytes=1_000_500)
        with pytest.raises(ByteBudgetExceeded, match=r"at most 1,000,500 bytes, but has already sent 1,000,000"):
            on_fake_broker(load)
    assert load.sent_bytes == 1_000_000


def test_a_config_that_the_client_refuses_gives_its_reason() -> None:
    with started() as jvm, pytest.raises(TargetRefused, match=r"linger\.ms"):
        on_fake_broker(load_of(jvm, PACED), {"linger.ms": "soon"})


def test_a_record_that_the_client_refuses_gives_its_reason() -> None:
    with started() as jvm, pytest.raises(WorkloadRefused, match=r"max\.request\.size"):
        on_fake_broker(load_of(jvm, ENDLESS), {"max.request.size": "500"})


def test_a_process_that_is_killed_is_lost_with_its_exit_code() -> None:
    with started() as jvm:

        def kill(_: Window) -> WatchDecision:
            os.kill(jvm.pid, signal.SIGKILL)
            return WatchDecision.GO_ON

        with pytest.raises(WorkerLost, match="ended with exit code -9"):
            on_fake_broker(load_of(jvm, ENDLESS), watch=kill)
    assert not psutil.pid_exists(jvm.pid)


def test_a_process_that_does_not_answer_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runners.java_client.jvm._START_S", 0.1)
    silent = tmp_path / "java"
    silent.write_text("#!/bin/sh\nexec sleep 60\n")
    silent.chmod(0o755)
    program = CompiledProgram(Java(silent, "25.0.2", 25, "PATH"), "", NEWEST)
    with pytest.raises(WorkerLost, match=r"did not answer within 0 s; .* It wrote: nothing"):
        Jvm(program, HEAP_BYTES)


def test_a_process_without_memory_names_the_heap() -> None:
    with (
        started(heap_bytes=48 << 20) as jvm,
        pytest.raises(GeneratorError, match=r"a heap of 48 MiB .*OutOfMemoryError.*lower buffer"),
    ):
        on_fake_broker(load_of(jvm, ENDLESS), {"buffer.memory": str(1 << 30), "batch.size": str(200 << 20)})
    assert not psutil.pid_exists(jvm.pid)


def test_the_error_says_why_java_ended_even_if_its_log_was_read_before() -> None:
    with started(heap_bytes=48 << 20) as jvm:
        jvm.send({"do": "pool", "records": 100 << 20, "keys": 0, "key_bytes": 0})
        eventually(lambda: any("OutOfMemoryError" in line for line in jvm.complaints()))
        with pytest.raises(GeneratorError, match="OutOfMemoryError"):
            jvm.receive(timeout_s=10)


def test_the_waits_for_a_message_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runners.java_client.jvm._SILENCE_S", 0.2)
    with started() as jvm:
        time.sleep(0.3)  # as if this process itself had been stopped
        assert jvm.next_message(0.15) is None
        with pytest.raises(LoadPaused, match=r"was silent for \d+ s; check whether it was stopped"):
            jvm.next_message(0.15)


@pytest.mark.long
def test_a_process_that_is_stopped_counts_as_paused() -> None:
    with started() as jvm:

        def stop(_: Window) -> WatchDecision:
            os.kill(jvm.pid, signal.SIGSTOP)
            return WatchDecision.GO_ON

        with pytest.raises(LoadPaused, match="silent for 10 s"):
            on_fake_broker(load_of(jvm, ENDLESS), watch=stop)


def libraries_in(folder: Path) -> list[str]:
    """Return the names of the libraries below a folder."""
    return [path.name for path in folder.rglob("*.so")]


# The library of zstd deletes its file as soon as it is loaded.
@pytest.mark.parametrize("codec", ["lz4", pytest.param("snappy", marks=pytest.mark.long)])
def test_a_process_that_is_killed_leaves_no_library_of_its_codec(
    codec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    unpacked: list[str] = []
    with started() as jvm:

        def kill(_: Window) -> WatchDecision:
            unpacked.extend(libraries_in(tmp_path))
            os.kill(jvm.pid, signal.SIGKILL)
            return WatchDecision.GO_ON

        with pytest.raises(WorkerLost):
            on_fake_broker(load_of(jvm, ENDLESS), {"compression.type": codec}, watch=kill)
    assert [name for name in unpacked if codec in name], "the client unpacks it into our folder"
    assert list(tmp_path.iterdir()) == []
    assert not [record for record in clean_up_lists("java") if Path(record.facts["folder"]).parent == tmp_path]


def test_a_process_ends_when_the_one_that_started_it_is_killed_and_the_next_one_removes_its_folder() -> None:
    command = [sys.executable, "-m", "tests.runners.java_client.loads"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as owner:
        assert owner.stdout is not None
        java = psutil.Process(int(owner.stdout.readline()))
        (folder,) = (Path(record.facts["folder"]) for record in clean_up_lists("java") if record.owner.pid == owner.pid)
        assert f"-Djava.io.tmpdir={folder}" in java.cmdline()
        eventually(lambda: libraries_in(folder))
        owner.kill()
    eventually(lambda: not java.is_running() or java.status() == psutil.STATUS_ZOMBIE)
    assert folder.exists(), "nobody was left to remove it"
    with started():
        assert not folder.exists()


def test_no_property_is_in_the_command_line_or_the_environment() -> None:
    with started() as jvm:
        on_fake_broker(load_of(jvm, PACED), {"client.id": "a-secret-word"})
        process = psutil.Process(jvm.pid)
        assert "a-secret-word" not in " ".join(process.cmdline()) + repr(process.environ())


def test_what_the_process_writes_besides_answers_is_kept_for_causes() -> None:
    with started() as jvm:
        assert isinstance(jvm, Jvm)
        jvm.send({"do": "nothing that it knows"})
        with pytest.raises(GeneratorError, match="nothing that it knows"):
            load_of(jvm, PACED).run({}, "topic", lambda _: WatchDecision.GO_ON)
