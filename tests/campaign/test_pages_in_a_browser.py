"""The service's pages and the report fit wide and narrow screens, in a real browser. Needs Chromium (Debian: chromium).

With `KAFKA_TUNER_PICTURES=docs/pictures`, the tests write the pictures of the documents there.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from tests.campaign.browser import PICTURES, Page, needs_browser, opened
from tests.helpers.command import tuner
from tests.helpers.serving import Serving, ended, serving, study_file
from tests.helpers.waiting import eventually
from tuner.execution.studies.run import measure_study
from tuner.execution.studies.study_progress import SilentReporter
from tuner.study_file import parse_study

pytestmark = [needs_browser, pytest.mark.long]
WIDE_PX, MIDDLE_PX, NARROW_PX = 1400, 800, 400
_STUDY = """
study: {name}
workload: {{record_bytes: [100, 1000]}}
executor: {{kind: simulated}}
search: {{trials: 40, seed: {seed}}}
confirm: {{rounds: 8, max_rounds: 12}}
"""
PAGES = {
    "service-list": "/",
    "service-study": "/studies/orders",
    "service-running": "/studies/clicks",
    "service-failed": "/studies/inventory",
    "service-submit": "/submit",
    "service-what-if": "/studies/orders/what-if?linger.ms=20&compression.type=lz4",
    "service-compare": "/v1/comparison?first=orders&second=payments&format=html",
    "report": "/v1/studies/orders/report",
}
IN_DOCUMENTS = {
    "service-list": (WIDE_PX, NARROW_PX),
    "service-study": (WIDE_PX, NARROW_PX),
    "service-what-if": (WIDE_PX,),
    "report": (WIDE_PX,),
}
"""The pages of which the documents have pictures, and how wide these are."""
_HEIGHTS_PX = {"service-study": 1_150, "service-what-if": 820}
_DRAWN = "document.querySelectorAll('.main-svg').length > 0"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("pages")
    root = folder / "studies"
    for seed, name in ((0, "payments"), (5, "orders")):
        text = _STUDY.format(name=name, seed=seed)
        spec = parse_study(text, name=name, folder=root, origin="the test", environ={})
        measure_study(spec, text, root / name, SilentReporter())
    # A study with a damaged record fails at once. One whose cluster does not answer would be tried four times.
    (root / "inventory").mkdir()
    (root / "inventory" / "results.db").write_text("no rows are here" * 100)
    with serving(root) as found:
        found.client.submit(study_file("inventory"))
        found.client.submit(study_file("clicks", trials=100_000))
        assert ended(found, "inventory") == "failed"
        ended(found, "clicks", "running")
        eventually(lambda: " left<" in found.ask("GET", "/").text)  # the list shows how far it is
        yield found
        found.client.cancel("clicks")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_wide_and_narrow_screens(served: Serving, tmp_path: Path, name: str) -> None:
    async def look() -> None:
        async with opened(served.url + PAGES[name], tmp_path) as page:
            for width_px in (WIDE_PX, MIDDLE_PX, NARROW_PX):
                for dark in (True, False):
                    await page.screen(width_px, _HEIGHTS_PX.get(name, 900), dark=dark)
                    await _complete(page, name)
                    await page.width_of(width_px)
                if width_px in IN_DOCUMENTS.get(name, ()):
                    await page.keep(f"{name}.png" if width_px == WIDE_PX else f"{name}-narrow.png")
            await page.evaluate("document.body.append(Object.assign(document.createElement('pre'), {id: 'wide'})); 1")
            await page.evaluate("document.getElementById('wide').style.width = '2000px'; 1")
            assert await page.width() > NARROW_PX, "an element that does not fit would be seen"

    asyncio.run(look())


def test_the_words_of_a_narrow_table_are_not_broken(served: Serving, tmp_path: Path) -> None:
    """Each word of a short cell stands in one line: its height is that of one line of text."""

    async def look() -> list[str]:
        async with opened(f"{served.url}/studies/orders", tmp_path) as page:
            await page.screen(NARROW_PX)
            broken: list[str] = await page.evaluate(
                """[...document.querySelectorAll('td')].filter((cell) => {
                    const range = document.createRange();
                    range.selectNodeContents(cell);
                    return /^[^\\s=]+$/.test(cell.textContent) && range.getClientRects().length > 1;
                }).map((cell) => cell.textContent)"""
            )
            return broken

    assert asyncio.run(look()) == []


def test_tables_of_the_report_can_be_sorted_with_the_keyboard(served: Serving, tmp_path: Path) -> None:
    press = """for (const closed of document.querySelectorAll('details')) closed.open = true;
        [...document.querySelectorAll('table.sortable th')].find(
        (head) => head.textContent === 'seconds').focus();
        document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true}));"""
    values = """(() => { const head = document.activeElement, rows = [...head.closest('table').tBodies[0].rows];
        return [head.ariaSort, ...rows.map((row) => Number(row.cells[head.cellIndex].dataset.value))]; })()"""

    async def look() -> None:
        async with opened(served.url + PAGES["report"], tmp_path) as page:
            await page.evaluate(press)
            order, *rising = await page.evaluate(values)
            assert (order, rising) == ("ascending", sorted(rising))
            await page.evaluate(press)
            order, *falling = await page.evaluate(values)
            assert (order, falling) == ("descending", rising[::-1])
            assert falling[0] > falling[-1]

    asyncio.run(look())


def test_a_sweep_of_the_study_is_drawn_as_a_picture(served: Serving, tmp_path: Path) -> None:
    picture = Path(PICTURES or tmp_path) / "sweep.png"
    values = "linger.ms=0,1,2,5,10,20,50,100"
    asked = ("--record-bytes", "1000", "--sweep", values, "--png", str(picture), "--force")
    assert tuner("predict", str(served.root / "orders"), *asked).code == 0
    with Image.open(picture) as drawn:
        assert drawn.width > 500


async def _complete(page: Page, name: str) -> None:
    """Wait until a page shows all that it will show."""
    if name == "service-submit":
        wrong = study_file("typed").replace("trials: 4", "trails: 4").replace("[1000]", "[none]")
        await page.evaluate(f"document.forms.submit.elements.text.value = `{wrong}`; 1")
        await page.evaluate("document.querySelector('#submit button').click()")
        await page.until("document.getElementById('outcome').textContent.includes('line')")
    elif name == "service-what-if":
        await page.until("document.querySelectorAll('#predictions tr').length > 5")
    elif name not in ("service-list", "service-failed"):
        await page.until(_DRAWN)
    pictures = "[...document.images].map((each) => { each.loading = 'eager'; return each.decode().catch(() => {}); })"
    await page.evaluate(f"Promise.all({pictures}).then(() => 1)")
