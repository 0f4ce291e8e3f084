"""Opens pages in a real browser without a window. Needs Chromium (Debian: chromium)."""

import asyncio
import contextlib
import itertools
import os
import shutil
import subprocess
import tempfile
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
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


@asynccontextmanager
async def opened(url: str, scratch: Path) -> AsyncIterator[Callable[[str], Awaitable[Any]]]:
    """Open a page, and yield a function that evaluates JavaScript in it. The page stays open until the context ends.

    Source: the Chrome DevTools Protocol, `Runtime.evaluate`.
    """
    assert _BROWSER is not None
    # A browser that is terminated leaves temporary files. Their folder has a short name, because one file is a socket.
    own = tempfile.TemporaryDirectory(prefix="tuner-", ignore_cleanup_errors=True)
    profile = scratch / "profile"
    browser = await asyncio.create_subprocess_exec(
        _BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
        f"--user-data-dir={profile}", url, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": own.name},
    )  # fmt: skip
    try:
        async with asyncio.timeout(_START_TIMEOUT_S), aiohttp.ClientSession() as session:
            port_file = profile / "DevToolsActivePort"
            while not port_file.is_file() or not port_file.read_text().partition("\n")[2]:
                await asyncio.sleep(0.1)
            port = port_file.read_text().splitlines()[0]
            pages: list[str] = []
            while not pages:
                async with session.get(f"http://127.0.0.1:{port}/json") as found:
                    open_pages = [each for each in await found.json() if each["url"] == url]
                    pages = [each["webSocketDebuggerUrl"] for each in open_pages]
                await asyncio.sleep(0.1)
            async with session.ws_connect(pages[0]) as socket:
                numbers = itertools.count()

                async def evaluate(script: str) -> Any:
                    number = next(numbers)
                    asked = {"expression": script, "returnByValue": True, "awaitPromise": True}
                    await socket.send_json({"id": number, "method": "Runtime.evaluate", "params": asked})
                    while (answer := await socket.receive_json()).get("id") != number:
                        pass
                    assert "exceptionDetails" not in answer["result"], answer
                    return answer["result"]["result"].get("value")

                # The browser lists the page by its address while it still shows an empty one.
                while await evaluate("document.readyState + ' ' + location.href") != f"complete {url}":
                    await asyncio.sleep(0.1)
                yield evaluate
    finally:
        with contextlib.suppress(ProcessLookupError):
            browser.terminate()
        await browser.wait()
        own.cleanup()


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
