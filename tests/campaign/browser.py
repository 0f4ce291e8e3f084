"""Opens pages in a real browser without a window. Needs Chromium (Debian: chromium)."""

import asyncio
import base64
import contextlib
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from PIL import Image

_BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PICTURES = os.environ.get("KAFKA_TUNER_PICTURES", "")
_LARGEST_PICTURE_BYTES = 250_000
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


class PageLeft(Exception):
    """The page loaded another one before it gave an answer."""


@dataclass(slots=True)
class Page:
    """An open page, controlled through the Chrome DevTools Protocol.

    Attributes:
        said: What the browser said about the page, such as what its content security policy forbids.
    """

    socket: aiohttp.ClientWebSocketResponse
    said: list[str] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    async def evaluate(self, script: str) -> Any:
        """Return the value of a JavaScript expression; the value of a promise is waited for.

        If the page loads another one meanwhile, the expression is evaluated again in the new page.
        """
        while True:
            try:
                answer = await self._ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
                break
            except PageLeft:
                await asyncio.sleep(0.1)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    async def until(self, script: str) -> Any:
        """Evaluate an expression again and again until its value is true, and return the value."""
        while not (value := await self.evaluate(script)):
            await asyncio.sleep(0.1)
        return value

    async def go(self, url: str) -> None:
        """Load another page, and wait until it is complete."""
        await self._ask("Page.navigate", url=url)
        await self.until(f"document.readyState === 'complete' && location.href === {json.dumps(url)}")

    async def screen(self, width_px: int, height_px: int = 900, *, dark: bool = False) -> None:
        """Show the page as on a screen of this size. A window without a screen can't be narrower than 500 pixels."""
        await self._ask(
            "Emulation.setDeviceMetricsOverride", width=width_px, height=height_px, deviceScaleFactor=1, mobile=False
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self._ask("Emulation.setEmulatedMedia", features=[scheme])

    async def picture(self, path: Path, *, whole: bool = False) -> None:
        """Write what the screen shows, or the whole page, into a PNG file."""
        found = await self._ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(found["data"]))

    async def keep(self, name: str) -> None:
        """Write what the screen shows to the folder that `KAFKA_TUNER_PICTURES` names, for the documents; or nothing.

        The file has 256 colours, which look the same and make it small.
        """
        if PICTURES:
            path = Path(PICTURES) / name
            await self.picture(path)
            with Image.open(path) as full:
                few = full.convert("RGB").quantize(256, dither=Image.Dither.NONE)
            few.save(path, optimize=True)
            assert path.stat().st_size < _LARGEST_PICTURE_BYTES

    async def width(self) -> int:
        """Return how wide the page is, in pixels: more than the screen if something does not fit."""
        return int(await self.evaluate("document.documentElement.scrollWidth"))

    async def width_of(self, width_px: int) -> None:
        """Wait until the page is as wide as this: charts follow the screen after a moment. Else the wait times out."""
        await self.until(f"document.documentElement.scrollWidth === {width_px}")

    async def _ask(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        await self.socket.send_json({"id": number, "method": method, "params": params})
        while (answer := await self.socket.receive_json()).get("id") != number:
            if answer.get("method") == "Log.entryAdded":
                self.said.append(answer["params"]["entry"]["text"])
        if "navigated" in answer.get("error", {}).get("message", ""):
            raise PageLeft
        assert "error" not in answer, answer
        found: dict[str, Any] = answer["result"]
        return found


@asynccontextmanager
async def opened(url: str, scratch: Path) -> AsyncIterator[Page]:
    """Open a page in a browser. The page stays open until the context ends.

    Source: the Chrome DevTools Protocol, domains Runtime, Page, Emulation and Log.
    """
    assert _BROWSER is not None
    # A browser that is terminated leaves temporary files. Their folder has a short name, because one file is a socket.
    own = tempfile.TemporaryDirectory(prefix="tuner-", ignore_cleanup_errors=True)
    profile = scratch / "profile"
    browser = await asyncio.create_subprocess_exec(
        _BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-port=0",
        f"--user-data-dir={profile}", "about:blank", stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL, env={**os.environ, "TMPDIR": own.name},
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
                    pages = [each["webSocketDebuggerUrl"] for each in await found.json() if each["type"] == "page"]
                await asyncio.sleep(0.1)
            async with session.ws_connect(pages[0], max_msg_size=0) as socket:
                page = Page(socket)
                await page._ask("Log.enable")
                await page.go(url)
                yield page
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
