"""The documentation site in a real browser: it loads nothing from elsewhere, its search works, and it fits a phone."""

import json
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.campaign.browser import browse, needs_browser, page
from tests.helpers.repository import ROOT

pytestmark = needs_browser

_BUILD_TIMEOUT_S = 300.0
_PHONE_PX = 400
# The browser refuses what another host would serve, and says so.
_OWN_ONLY = "default-src 'self' 'unsafe-inline' data:"
_REFUSED = "Content Security Policy"
_MEASURE = """<!doctype html><title>widths</title><pre id="wide"></pre><script>
const paths = PATHS, wide = {};
function next() {
  const path = paths.pop();
  if (!path) { document.getElementById("wide").textContent = "wide: " + JSON.stringify(wide) + " end"; return; }
  const frame = document.createElement("iframe");
  frame.style = "width: PHONEpx; height: 800px; border: 0";
  frame.onload = () => {
    const width = frame.contentDocument.documentElement.scrollWidth;
    if (width > PHONE) wide[path] = width;
    frame.remove();
    next();
  };
  frame.src = path;
  document.body.append(frame);
}
next();
</script>"""


class OwnHostOnly(SimpleHTTPRequestHandler):
    """Serves the files of a folder, for pages that may load nothing from elsewhere."""

    def end_headers(self) -> None:
        """Add the rule for the browser."""
        self.send_header("content-security-policy", _OWN_ONLY)
        super().end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the site that `make docs` builds. Pages that are up to date there are not built again."""
    folder = ROOT / "build"
    site = folder / "docs"
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-q", "-d", str(folder / "doctrees")]
    ran = subprocess.run(
        [*command, str(ROOT / "docs"), str(site)], capture_output=True, text=True, timeout=_BUILD_TIMEOUT_S, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return shutil.copytree(site, tmp_path_factory.mktemp("site") / "pages")


@pytest.fixture(scope="module")
def address(built: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(OwnHostOnly, directory=str(built))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def pages_of(built: Path) -> list[str]:
    return sorted(str(path.relative_to(built)) for path in built.rglob("*.html"))


def test_no_page_loads_anything_from_elsewhere(built: Path, address: str, tmp_path: Path) -> None:
    for path in ("index.html", "search.html", "genindex.html", "reference/study-file.html", "reference/python.html"):
        said = browse(tmp_path, "--enable-logging=stderr", "--dump-dom", f"{address}/{path}").stderr
        assert _REFUSED not in said, path
    stranger = built / "with-a-strangers-script.html"
    stranger.write_text('<!doctype html><script src="http://127.0.0.2:9/x.js"></script>')
    said = browse(tmp_path, "--enable-logging=stderr", "--dump-dom", f"{address}/{stranger.name}").stderr
    stranger.unlink()
    assert _REFUSED in said, "the browser does not tell of what it refuses"


def test_no_page_names_a_file_of_another_host_to_be_loaded(built: Path) -> None:
    loaded = re.compile(r"<(?:script|img|iframe|source)[^>]+src=\"(?:https?:)?//|<link[^>]+href=\"(?:https?:)?//")
    assert [path for path in pages_of(built) if loaded.search((built / path).read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("linger.ms", "reference/knobs.html"),
        ("max_bytes", "reference/study-file.html"),
        ("client+thread", "concepts/verdicts.html"),
        ("resume", "how-to/overnight.html"),
    ],
)
def test_the_search_of_the_site_finds_pages(address: str, tmp_path: Path, words: str, found: str) -> None:
    assert f'href="{found}' in page(f"{address}/search.html?q={words}", tmp_path)


def test_no_page_is_wider_than_a_phone(built: Path, address: str, tmp_path: Path) -> None:
    wide, measuring = built / "wide.html", built / "measuring.html"
    wide.write_text('<!doctype html><p style="width: 900px">wider than a phone')
    script = _MEASURE.replace("PATHS", json.dumps(pages_of(built))).replace("PHONE", str(_PHONE_PX))
    measuring.write_text(script, encoding="utf-8")
    measured = re.search(r"wide: (\{.*?\}) end", page(f"{address}/{measuring.name}", tmp_path))
    assert measured is not None, "not all pages were loaded"
    assert list(json.loads(measured[1])) == [wide.name]
