"""A program that starts our own Ray, tells where it listens, and keeps it until its standard input is closed."""

import contextlib
import json
import stat
import sys
import tempfile
from pathlib import Path

import psutil

from runners.errors import GeneratorError
from runners.pools.ray_session import own_ray


def listening() -> list[str]:
    """Return the addresses on which this process and its children listen, as the kernel lists them in /proc/net/tcp."""
    here = psutil.Process()
    return [
        connection.laddr.ip
        for process in (here, *here.children(recursive=True))
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    ]


def folders() -> dict[str, str]:
    """Return the mode of our temporary folder, by its path; the test leaves us alone in the folder for such folders."""
    found = Path(tempfile.gettempdir()).glob("kt-ray-*")
    return {str(folder): stat.filemode(folder.stat().st_mode) for folder in found}


if __name__ == "__main__":
    home, *modules = sys.argv[1:]
    for module in modules:
        __import__(module)
    with contextlib.ExitStack() as stack:
        for attempt in range(3):  # on a busy machine Ray gives up after 30 s
            try:
                ray = stack.enter_context(own_ray(Path(home), 1))
                break
            except GeneratorError:
                if attempt == 2:
                    raise
        worked = ray.get(ray.remote(lambda: "worked").remote())
        told = {
            "address": ray.get_runtime_context().gcs_address,
            "listening": listening(),
            "worked": worked,
            "folders": folders(),
        }
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()
        sys.stdin.read()
