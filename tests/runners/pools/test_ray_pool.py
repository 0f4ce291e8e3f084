"""The pool of Ray workers keeps the contract, and writes only to its own folders."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from runners.host_processes.folders import cache_root
from runners.load.isolated import Isolated
from runners.pools.placement import ANYWHERE
from runners.pools.pool import Pool
from runners.pools.ray_pool import RayPool
from runners.runner import Runner
from tests.runners.pools.pool_contract import PATIENCE_S, PoolContract, job, measured
from tests.runners.pools.pool_runners import Dying

pytestmark = pytest.mark.campaign


def ray_variables() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith("RAY_")}


def on_sigterm(*_: object) -> None:
    raise AssertionError("not sent")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home") / "ray"


@pytest.fixture(scope="module")
def temporary() -> Iterator[Path]:
    """A folder with a short path, for the temporary files of this pool only.

    Ray starts many Python processes and gives up after 30 s. If no bytecode were written, each of them would compile
    everything again.
    """
    with tempfile.TemporaryDirectory(prefix="k", dir="/tmp") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", folder)
        patch.setenv("PYTHONDONTWRITEBYTECODE", "")
        patch.setenv("PYTHONPYCACHEPREFIX", str(cache_root() / "bytecode"))
        yield Path(folder)


@pytest.fixture(scope="module")
def shared_pool(home: Path, temporary: Path) -> Iterator[Pool]:
    """One Ray for all tests, because it takes seconds to start.

    The fixture checks at both ends that signal handlers and variables are unchanged.
    """
    variables, ours = ray_variables(), signal.signal(signal.SIGTERM, on_sigterm)
    try:
        with closing(RayPool(home, slots=2, jobs=[(ANYWHERE, 2)], patience_s=PATIENCE_S)) as pool:
            assert signal.getsignal(signal.SIGTERM) is on_sigterm
            yield pool
    finally:
        signal.signal(signal.SIGTERM, ours)
    assert ray_variables() == variables


class TestRayPool(PoolContract):
    covers = RayPool

    @pytest.fixture
    def pool(self, shared_pool: Pool) -> Pool:
        return shared_pool

    @pytest.fixture
    def own_pool(self, shared_pool: Pool) -> Callable[[], Pool]:
        return lambda: shared_pool

    def mortal(self, runner: Runner) -> Runner:
        return runner

    def test_the_load_process_of_a_worker_may_die_too(self, pool: Pool, tmp_path: Path) -> None:
        pool.submit(job(Isolated(Dying(tmp_path, 1))))
        done = pool.next_done()
        assert measured(done).records
        assert done is not None
        assert done.attempts == 2

    def test_no_job_has_more_producers_than_a_slot(self, pool: Pool) -> None:
        with pytest.raises(ValueError, match="at most 2 producers, but has 3"):
            pool.submit(job(*[Dying(Path(), 0)] * 3))

    def test_a_pool_closes_with_all_its_processes_after_an_interrupt(self, own_pool: Callable[[], Pool]) -> None:
        """This test runs last: pytest runs the methods of a subclass after those that it inherits."""
        temporary = Path(tempfile.gettempdir())  # only the pool uses this folder
        assert [folder.name[:7] for folder in temporary.iterdir()] == ["kt-ray-"]
        super().test_a_pool_closes_with_all_its_processes_after_an_interrupt(own_pool)
        assert not list(temporary.iterdir())


def test_only_we_can_read_the_token(shared_pool: Pool, home: Path) -> None:
    (token,) = home.iterdir()
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert token.read_text()
    assert not (Path.home() / ".ray").exists()


def test_ray_is_imported_when_a_pool_is_opened_and_not_before() -> None:
    program = "import sys, runners.pools.ray_pool, runners.pools.local_pool; sys.exit('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
