"""The free memory of a control group counts, not only that of the machine."""

from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from runners.clusters.brokers import memory
from runners.clusters.brokers.memory import free_memory_bytes

MACHINE = 1 << 40
GB = 1 << 30


class Groups:
    """The control groups of a host, as files in a folder."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.membership = folder / "cgroup", folder / "membership"
        monkeypatch.setattr(memory, "CGROUPS", self.root)
        monkeypatch.setattr(memory, "MEMBERSHIP", self.membership)
        monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=MACHINE))

    def member(self, *lines: str) -> None:
        self.membership.write_text("".join(f"{line}\n" for line in lines))

    def version_2(self, path: str, limit: str, used: int, cached: int = 0) -> None:
        self._write(self.root / path, {"memory.max": limit, "memory.current": f"{used}"}, f"inactive_file {cached}")

    def version_1(self, path: str, limit: int, used: int, cached: int = 0) -> None:
        files = {"memory.limit_in_bytes": f"{limit}", "memory.usage_in_bytes": f"{used}"}
        self._write(self.root / "memory" / path, files, f"inactive_file 1\ntotal_inactive_file {cached}")

    def _write(self, group: Path, files: dict[str, str], stat: str) -> None:
        group.mkdir(parents=True, exist_ok=True)
        for name, text in {**files, "memory.stat": f"anon 5\n{stat}"}.items():
            (group / name).write_text(f"{text}\n")


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Groups:
    return Groups(tmp_path, monkeypatch)


def test_the_limit_of_a_container_counts(groups: Groups) -> None:
    groups.member("0::/")
    groups.version_2("", limit=str(4 * GB), used=3 * GB, cached=GB // 2)
    assert free_memory_bytes() == GB + GB // 2


def test_the_tightest_limit_of_all_parent_groups_counts(groups: Groups) -> None:
    groups.member("0::/user.slice/job.scope")
    groups.version_2("", limit="max", used=90 * GB)
    groups.version_2("user.slice", limit=str(8 * GB), used=6 * GB)
    groups.version_2("user.slice/job.scope", limit=str(6 * GB), used=3 * GB)
    assert free_memory_bytes() == 2 * GB


def test_without_a_limit_the_machine_s_memory_counts(groups: Groups) -> None:
    groups.member("0::/user.slice")
    groups.version_2("user.slice", limit="max", used=3 * GB)
    assert free_memory_bytes() == MACHINE


def test_a_limit_of_cgroups_version_1_counts_with_a_path_of_the_host(groups: Groups) -> None:
    groups.member("4:cpu,memory:/docker/0123", "3:cpuset:/docker/0123", "0::/docker/0123")
    groups.version_1("", limit=3 * GB, used=GB, cached=GB // 4)
    assert free_memory_bytes() == 2 * GB + GB // 4


def test_a_group_over_its_limit_has_nothing_left(groups: Groups) -> None:
    groups.member("0::/")
    groups.version_2("", limit=str(GB), used=2 * GB)
    assert free_memory_bytes() == 0


def test_without_control_groups_the_machine_s_memory_counts(groups: Groups) -> None:
    assert free_memory_bytes() == MACHINE
    groups.member("0::/")
    assert free_memory_bytes() == MACHINE


def test_free_memory_is_a_part_of_the_host_s_memory() -> None:
    assert 0 < free_memory_bytes() <= psutil.virtual_memory().total
