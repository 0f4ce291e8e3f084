"""A real PostgreSQL server for tests, in a temporary folder and on a free port. It ends when its test process ends."""

import ctypes
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import psutil

from runners.host_processes.folders import cache_root
from tests.helpers.ports import free_port

USER: Final = "tester"
PASSWORD: Final = f"p@ss/w:{secrets.token_hex(8)}"
"""A password with characters that must be escaped in a URL."""
_FETCHED: Final = cache_root() / "postgres"
_PR_SET_PDEATHSIG: Final = 1
_START_S: Final = 60.0
_LIBC: Final = ctypes.CDLL(None)


def programs() -> Path | None:
    """Return the folder with `initdb` and `postgres`; None if PostgreSQL is not installed."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    for root in (Path("/usr/lib/postgresql"), _FETCHED / "usr/lib/postgresql"):
        folders += sorted(root.glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "postgres").is_file()), None)


class PostgresServer:
    """A PostgreSQL server, which can be killed and started again on the same port.

    Args:
        programs: The folder with `initdb` and `postgres`.
        durable: Whether a commit waits until it is on the disk.
    """

    def __init__(self, programs: Path, *, durable: bool = False) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="kafka-tuner-postgres-", dir=_open_folder()))
        self._programs = _reachable_programs(programs, self.folder)
        self._data = self.folder / "data"
        self.port = free_port()
        self._as = _not_root(self.folder)
        self._process: subprocess.Popen[bytes] | None = None
        secret = self.folder / "password"
        secret.write_text(PASSWORD, encoding="utf-8")
        secret.chmod(0o644)
        words = ["--auth=scram-sha-256", f"--username={USER}", f"--pwfile={secret}", "--encoding=UTF8", "--locale=C"]
        self._run(self._programs / "initdb", "--no-sync", "--no-instructions", *words, f"--pgdata={self._data}")
        secret.unlink()
        settings = ["listen_addresses = '127.0.0.1'", f"port = {self.port}", "max_connections = 60"]
        settings += [f"unix_socket_directories = '{self.folder}'", "shared_buffers = 32MB"]
        if not durable:
            settings += ["fsync = off", "full_page_writes = off"]
        with (self._data / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.write("\n".join(settings) + "\n")

    @property
    def log(self) -> str:
        """The server's log."""
        return (self.folder / "server.log").read_text(encoding="utf-8")

    def url(self, database: str = "postgres", *, port: int | None = None, password: str = PASSWORD) -> str:
        """Return the address of a database, with the password in it."""
        return f"postgresql://{USER}:{quote(password, safe='')}@127.0.0.1:{port or self.port}/{database}"

    def start(self) -> None:
        """Start the server, and return when it answers.

        Call this from a thread that stays alive, because the server ends with the thread that started it.
        """
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(self._programs / "postgres"), "-D", str(self._data)],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # so that Ctrl-C reaches only the tests
                preexec_fn=_end_with_owner,
                **self._as,
            )
        until_s = time.monotonic() + _START_S
        while time.monotonic() < until_s:
            assert self._process.poll() is None, self.log
            if self._answers():
                return
            time.sleep(0.05)
        raise AssertionError(f"the server does not answer: {self.log}")

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """Stop all processes of the server while the context is open, as a paused virtual machine does."""
        family = self.family()
        for each in family:
            with suppress(psutil.NoSuchProcess):
                each.suspend()
        try:
            yield
        finally:
            for each in family:
                with suppress(psutil.NoSuchProcess):
                    each.resume()

    def family(self) -> list[psutil.Process]:
        """Return the server's processes, the first of which has started the others."""
        assert self._process is not None
        postmaster = psutil.Process(self._process.pid)
        return [postmaster, *postmaster.children(recursive=True)]

    def kill(self) -> None:
        """Kill all processes of the server at once, as a power cut would."""
        assert self._process is not None
        family = self.family()
        for each in family:
            # The first process starts the others, so no new ones appear once it is killed.
            try:
                each.send_signal(signal.SIGKILL)
            except psutil.NoSuchProcess:
                continue
        psutil.wait_procs(family[1:], timeout=10)
        self._process.wait()

    def restart(self) -> None:
        """Restart the server as an administrator would, which cuts connections and rolls open transactions back."""
        self.end()
        self.start()

    def end(self) -> None:
        """Shut the server down and keep its data."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(timeout=60)

    def stop(self) -> None:
        """Shut the server down and remove its data."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(timeout=60)
        shutil.rmtree(self.folder)

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run a statement as the superuser, and return its rows."""
        import psycopg

        with psycopg.connect(self.url(quote(database)), autocommit=True) as db:
            cursor = db.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def load(self, script: Path, database: str) -> None:
        """Run a file that `pg_dump` wrote."""
        environment = {**os.environ, "PGPASSWORD": PASSWORD}
        words = ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", str(self.port), "-U", USER]
        command = [str(self._programs / "psql"), *words, "-d", database, "-f", str(script)]
        subprocess.run(command, env=environment, check=True, capture_output=True, timeout=60)

    def _answers(self) -> bool:
        import psycopg

        try:
            self.execute("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def _run(self, *words: str | Path) -> None:
        ran = subprocess.run(
            [str(word) for word in words],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=120,
            **self._as,
        )
        assert ran.returncode == 0, ran.stdout


def served(*, durable: bool = False) -> Iterator[PostgresServer]:
    """Run a server while a fixture lasts; use it as the body of the fixture with `yield from`."""
    import pytest

    found = programs()
    if found is None:
        pytest.skip("no PostgreSQL server is installed (scripts/get-postgres fetches one)")
    server = PostgresServer(found, durable=durable)
    try:
        server.start()
        yield server
    finally:
        server.stop()


def _not_root(folder: Path) -> dict[str, Any]:
    """Return the arguments of `subprocess` that run the server as another user, because it refuses to run as root.

    The folder is given to that user.
    """
    if os.geteuid() != 0:
        return {}
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    found = known.get("postgres") or known["nobody"]
    os.chown(folder, found.pw_uid, found.pw_gid)
    return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}


def _open_folder() -> str:
    """Return a folder for temporary files that the server's user can enter."""
    wanted = Path(tempfile.gettempdir()).resolve()
    return str(wanted) if _is_reachable(wanted) else "/tmp"


def _is_reachable(folder: Path) -> bool:
    """Return whether the server's user can enter the folder."""
    return os.geteuid() != 0 or all(each.stat().st_mode & 0o001 for each in (folder, *folder.parents))


def _reachable_programs(programs: Path, folder: Path) -> Path:
    """Return the folder of programs, after copying it into `folder` if the server's user can't enter it."""
    if _is_reachable(programs) or _FETCHED not in programs.parents:
        return programs
    copied = folder / "postgres"
    shutil.copytree(_FETCHED, copied, symlinks=True)
    return copied / programs.relative_to(_FETCHED)


def _end_with_owner() -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGQUIT)
