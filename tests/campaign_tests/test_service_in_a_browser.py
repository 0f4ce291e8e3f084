"""The service's pages in a real browser. Needs Chromium (Debian: chromium)."""

import asyncio
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.campaign_tests.browser import opened
from tests.present_tests.studies import write_study
from tests.service_tests.serving import Serving, ended, serving, study_file

_BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_PAGE_TIMEOUT_S = 120.0

pytestmark = pytest.mark.skipif(_BROWSER is None, reason="no Chromium is installed (Debian: apt install chromium)")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("pages")
    root = folder / "studies"
    root.mkdir()
    write_study(root / "overnight", facts={"target": "<script>alert(1)</script>"})
    config = folder / "service.yaml"
    config.write_text('mlflow: {url: "https://mlflow.example/?a=1&b=2"}\n')
    with serving(root, "--config", str(config)) as found:
        found.client.submit(study_file("first"))
        assert ended(found, "first") == "complete"
        yield found


def test_all_studies_are_listed_with_their_fronts(served: Serving, tmp_path: Path) -> None:
    page, said = _page(f"{served.url}/", tmp_path)
    for text in ("overnight", "first", "complete", "recorded", "mlflow.example"):
        assert text in page
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page
    assert "Content Security Policy" not in said


def test_a_study_has_its_page_and_its_picture(served: Serving, tmp_path: Path) -> None:
    page, said = _page(f"{served.url}/studies/overnight", tmp_path)
    assert "1000 B records" in page
    assert "/v1/recommendation?study=overnight" in page
    assert "Content Security Policy" not in said
    picture = tmp_path / "page.png"
    _run(tmp_path, f"--screenshot={picture}", f"{served.url}/studies/overnight")
    # The screenshot of a page whose picture did not load is much smaller.
    assert picture.stat().st_size > 40_000


def test_the_report_works_under_the_content_security_policy(served: Serving, tmp_path: Path) -> None:
    page, _ = _page(f"{served.url}/v1/studies/overnight/report", tmp_path)
    assert page.count("js-plotly-plot") >= 3


def test_the_page_of_a_running_study_shows_new_trials_without_loading_again(served: Serving, tmp_path: Path) -> None:
    served.client.submit(study_file("endless", trials=100_000))
    newest = "Number(document.querySelector('main .scroll tbody tr')?.cells[1].textContent ?? -1)"

    async def watch() -> list[int]:
        seen: list[int] = []
        async with opened(f"{served.url}/studies/endless", tmp_path) as evaluate:
            await evaluate("window.untouched = true")
            while len(seen) < 4:
                number = await evaluate(newest)
                if number not in (-1, *seen):
                    seen.append(number)
                await asyncio.sleep(0.1)
            assert await evaluate("window.untouched"), "the page was loaded again"
        return seen

    try:
        seen = asyncio.run(watch())
    finally:
        served.client.cancel("endless")
    assert seen == sorted(seen)


def test_the_form_shows_mistakes_by_line_and_submits_a_study(served: Serving, tmp_path: Path) -> None:
    fill = "document.forms.submit.elements.text.value = {}; document.querySelector('#submit button').click()"
    told = "document.getElementById('told')?.textContent"

    async def use() -> tuple[str, str, str]:
        async with opened(f"{served.url}/submit", tmp_path) as evaluate:
            wrong = study_file("typed").replace("trials: 4", "trails: 4")
            await evaluate(fill.format(json.dumps(wrong)))
            while "line" not in (complaint := await evaluate(told)):
                await asyncio.sleep(0.1)
            await evaluate("document.querySelector('#told button').click()")
            selected = await evaluate("getSelection().toString()")
            await evaluate(fill.format(json.dumps(study_file("typed"))))
            while not (address := await evaluate("location.pathname")).startswith("/studies"):
                await asyncio.sleep(0.1)
            return complaint, selected, address

    complaint, selected, address = asyncio.run(use())
    assert "search.trails" in complaint
    assert "trails: 4" in selected
    assert address == "/studies/typed"
    assert ended(served, "typed") == "complete"


def _page(url: str, scratch: Path) -> tuple[str, str]:
    """Return the HTML of a page after its scripts have run, and the browser's log."""
    ran = _run(scratch, "--dump-dom", url)
    return ran.stdout, ran.stderr


def _run(scratch: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    assert _BROWSER is not None
    return subprocess.run(
        [
            _BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1200,1400",
            f"--user-data-dir={scratch / 'profile'}", "--enable-logging=stderr", "--virtual-time-budget=20000", *words,
        ],
        capture_output=True,
        text=True,
        timeout=_PAGE_TIMEOUT_S,
        check=True,
    )  # fmt: skip
