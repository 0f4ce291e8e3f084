"""Opens pages in a real browser without a window. Needs Chromium (Debian: chromium)."""

import contextlib
import shutil
import subprocess
import urllib.request
from pathlib import Path

import pytest

_BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_PAGE_TIMEOUT_S = 120.0
_START_TIMEOUT_S = 120.0

needs_browser = pytest.mark.skipif(_BROWSER is None, reason="no Chromium is installed (Debian: apt install chromium)")


def browse(scratch: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run the browser with these arguments, of which the last is the address of a page."""
    assert _BROWSER is not None
    return subprocess.run(
        [
            _BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1900,1200",
            "--disable-background-networking", f"--user-data-dir={scratch / 'profile'}",
            "--virtual-time-budget=60000", *words,
        ],
        capture_output=True,
        text=True,
        timeout=_PAGE_TIMEOUT_S,
        check=True,
    )  # fmt: skip


def page(url: str, scratch: Path) -> str:
    """Return the HTML of a page after its scripts have run."""
    return browse(scratch, "--dump-dom", url).stdout


def await_server(server: "subprocess.Popen[bytes]", address: str) -> None:
    """Wait until a server that was started answers at an address."""
    waited_s, pause_s = 0.0, 0.5
    while True:
        assert server.poll() is None, "the server has ended"
        with contextlib.suppress(OSError):
            urllib.request.urlopen(address, timeout=5).close()
            return
        assert waited_s < _START_TIMEOUT_S, "the server does not answer"
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(pause_s)
        waited_s += pause_s
