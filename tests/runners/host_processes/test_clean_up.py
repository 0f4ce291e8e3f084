"""A temporary folder disappears with its process, or with the next process if the first one is killed."""

import subprocess
import sys
import textwrap
from pathlib import Path

from runners.host_processes.clean_up import clean_up_lists, temporary_folder


def test_the_folder_of_a_killed_process_is_removed_at_the_next_start() -> None:
    program = """
        import os, signal
        from runners.host_processes.clean_up import temporary_folder

        with temporary_folder("test", "kept-") as folder:
            os.write(1, str(folder).encode())
            os.kill(os.getpid(), signal.SIGKILL)
    """
    killed = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, check=False)
    left = Path(killed.stdout.decode())
    assert left.is_dir()
    with temporary_folder("test", "kept-") as folder:
        assert not left.exists()
        assert folder.is_dir()
        with temporary_folder("test", "kept-"):
            assert folder.is_dir(), "a live process needs its folder"
    assert not folder.exists()
    assert not list(clean_up_lists("test"))


def test_the_folder_of_a_thread_is_removed_when_the_process_ends() -> None:
    program = """
        import os, threading
        from runners.host_processes.clean_up import temporary_folder

        def wait():
            with temporary_folder("test", "kept-") as folder:
                os.write(1, str(folder).encode())
                made.set()
                threading.Event().wait()

        made = threading.Event()
        threading.Thread(target=wait, daemon=True).start()
        made.wait()
    """
    ended = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, check=True)
    assert ended.stdout
    assert not Path(ended.stdout.decode()).exists()
    assert not list(clean_up_lists("test"))
