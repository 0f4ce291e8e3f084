"""The service's pages in a real browser. Needs Chromium (Debian: chromium)."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.campaign.browser import browse, needs_browser, opened
from tests.helpers.serving import Serving, ended, serving, study_file
from tests.helpers.stored_studies import write_study
from tuner.model.facts import RATES
from tuner.present.number_text import number
from tuner.results.study_results import load_results

_POINTS = "(document.querySelector('.js-plotly-plot')?.data ?? []).reduce((sum, each) => sum + each.x.length, 0)"

pytestmark = needs_browser


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("pages")
    root = folder / "studies"
    root.mkdir()
    write_study(root / "overnight", facts={"target": "<script>alert(1)</script>"})
    write_study(root / "sizes", record_sizes=("100", "1000"), facts={RATES: {"100": 40_000.0, "1000": 20_000.0}})
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


def test_a_study_has_its_page_with_an_interactive_picture(served: Serving, tmp_path: Path) -> None:
    size = load_results(served.root / "overnight").sizes[0]

    async def look() -> tuple[str, str, list[str]]:
        async with opened(f"{served.url}/studies/overnight", tmp_path) as page:
            await page.until(_POINTS)
            hovered = "document.querySelector('.hoverlayer .hovertext')?.textContent"
            front = "document.querySelector('.js-plotly-plot').data.findIndex((each) => each.name === 'front')"
            point = f"{{curveNumber: {front}, pointNumber: 0}}"
            hover = f"Plotly.Fx.hover(document.querySelector('.js-plotly-plot'), [{point}])"
            told = await page.until(f"{hover}, {hovered}")  # again and again: a plot that is drawn anew forgets it
            return await page.evaluate("document.body.innerText"), told, page.said

    text, told, said = asyncio.run(look())
    assert "1000 B records" in text
    shown = [
        f"trial {each.number}throughput, MB/s: {number(size.metrics_of(each)['mb_per_s'])}"
        for each in size.front_trials
    ]
    assert any(told.startswith(each) for each in shown), told
    # Plotly's rules for maps and for bold text are refused, and the page needs neither. Everything else is allowed.
    assert [each for each in said if "Content Security Policy" in each and "inline style" not in each] == []


def test_the_report_works_under_the_content_security_policy(served: Serving, tmp_path: Path) -> None:
    page, _ = _page(f"{served.url}/v1/studies/overnight/report", tmp_path)
    assert page.count("js-plotly-plot") >= 3


def test_the_page_of_a_running_study_shows_new_trials_without_loading_again(served: Serving, tmp_path: Path) -> None:
    served.client.submit(study_file("endless", trials=100_000))
    newest = "Number(document.querySelector('main .scroll tbody tr')?.cells[1].textContent ?? -1)"

    async def watch() -> list[int]:
        seen: list[int] = []
        async with opened(f"{served.url}/studies/endless", tmp_path) as page:
            await page.evaluate("window.untouched = true")
            while len(seen) < 4:
                number = await page.evaluate(newest)
                if number not in (-1, *seen):
                    seen.append(number)
                await asyncio.sleep(0.1)
            # The interactive picture is the same element all the time, and gets the new trials.
            before = await page.until(f"{_POINTS} && (document.querySelector('.js-plotly-plot').mine = {_POINTS})")
            await page.until(f"{_POINTS} > {before} && document.querySelector('.js-plotly-plot').mine === {before}")
            assert await page.evaluate("window.untouched"), "the page was loaded again"
        return seen

    try:
        seen = asyncio.run(watch())
    finally:
        served.client.cancel("endless")
    assert seen == sorted(seen)


@pytest.mark.long
def test_the_page_of_a_study_at_rest_follows_it_when_it_continues(served: Serving, tmp_path: Path) -> None:
    newest = "Number(document.querySelector('main .scroll tbody tr')?.cells[1].textContent ?? -1)"
    served.client.submit(study_file("rests", trials=100_000))
    ended(served, "rests", "running")
    served.client.pause("rests")
    assert ended(served, "rests") == "paused"

    async def watch() -> None:
        async with opened(f"{served.url}/studies/rests", tmp_path) as page:
            await page.evaluate("window.untouched = true")
            before = await page.evaluate(newest)
            same = "const before = document.querySelector('main'); await refresh(); return before.isConnected"
            assert await page.evaluate(f"(async () => {{ {same} }})()"), "what the user has selected must stay selected"
            served.client.resume("rests")
            await page.until("stream?.readyState === EventSource.OPEN")
            await page.until(f"{newest} > {before}")
            served.client.pause("rests")
            await page.until("document.querySelector('main .state').textContent === 'paused' && !stream")
            assert await page.evaluate("window.untouched"), "the page was loaded again"

    try:
        asyncio.run(watch())
    finally:
        served.client.cancel("rests")


@pytest.mark.long
def test_the_list_of_studies_shows_a_study_that_is_submitted_later(served: Serving, tmp_path: Path) -> None:
    assert not {"queued", "running"} & {study["state"] for study in served.client.studies()}

    async def watch() -> None:
        async with opened(f"{served.url}/", tmp_path) as page:
            served.client.submit(study_file("later"))
            await page.until("document.querySelector('main').innerText.includes('later')")

    asyncio.run(watch())
    assert ended(served, "later") == "complete"


def test_a_moved_slider_changes_the_predictions_and_the_address(served: Serving, tmp_path: Path) -> None:
    rows = "[...document.querySelectorAll('#predictions tr')]"
    row = f"{rows}.find((each) => each.cells[0].textContent.startsWith('latency p50'))"

    values = "[...document.querySelectorAll('output')].map((each) => each.value)"

    async def look() -> tuple[str, str, list[str], list[str], list[str]]:
        async with opened(f"{served.url}/studies/first/what-if", tmp_path) as page:
            before = await page.evaluate(f"{row}.textContent")
            values_before = await page.evaluate(values)
            await page.evaluate(
                "const slider = document.querySelector('[name=\"linger.ms\"]'); slider.value = 80; "
                "slider.dispatchEvent(new Event('input', {bubbles: true})); 1"
            )
            await page.until("location.search === '?linger.ms=80'")  # the others stay as the study has them
            after = await page.evaluate(f"{row}.textContent")
            return before, after, values_before, await page.evaluate(values), page.said

    before, after, values_before, values_after, said = asyncio.run(look())
    assert before != after
    assert values_after == ["80", *values_before[1:]]
    assert [each for each in said if "Content Security Policy" in each] == []


def test_the_fields_show_what_the_predictions_for_another_record_size_begin_from(
    served: Serving, tmp_path: Path
) -> None:
    fields = "Object.fromEntries([...whatIf.elements].map((each) => [each.name, [each.value, each.max ?? '', {}]]))"
    shown = fields.format("each.nextElementSibling?.value ?? ''")
    move = "whatIf.elements['{0}'].value = {1}; whatIf.elements['{0}'].dispatchEvent({2})"
    event = "new Event('input', {bubbles: true})"

    async def look() -> list[dict[str, list[str]]]:
        async with opened(f"{served.url}/studies/sizes/what-if", tmp_path) as page:
            found = [await page.evaluate(shown)]
            for name, value, asked in (
                ("partitions", 2, "?partitions=2"),
                ("record_bytes", 1000, "?partitions=2&record_bytes=1000"),
                ("batch.size", 8192, "?partitions=2&record_bytes=1000&batch.size=8192"),
            ):
                await page.evaluate(move.format(name, value, event))
                await page.until(f"location.search === '{asked}'")
                found.append(await page.evaluate(shown))
            await page.go("about:blank")
            await page.go(f"{served.url}/studies/sizes/what-if{asked}")
            return [*found, await page.evaluate(shown)]

    first, _, other, last, loaded = asyncio.run(look())
    assert (first["rate"][2], other["rate"][2]) == ("40,000", "20,000")
    assert other["rate"][1] != first["rate"][1], "the range ends at the throughput for these records"
    assert (other["partitions"][0], other["record_bytes"][0]) == ("2", "1000")
    assert last == loaded, "the fields of the same address"


def test_the_form_shows_mistakes_by_line_and_submits_a_study(served: Serving, tmp_path: Path) -> None:
    fill = "document.forms.submit.elements.text.value = {}; document.querySelector('#submit button').click()"
    outcome = "document.getElementById('outcome')?.textContent"

    async def use() -> tuple[str, str, str]:
        async with opened(f"{served.url}/submit", tmp_path) as page:
            wrong = study_file("typed").replace("trials: 4", "trails: 4")
            await page.evaluate(fill.format(json.dumps(wrong)))
            complaint = await page.until(f"{outcome}.includes('line') && {outcome}")
            await page.evaluate("document.querySelector('#outcome button').click()")
            selected = await page.evaluate("getSelection().toString()")
            await page.evaluate(fill.format(json.dumps(study_file("typed"))))
            return (
                complaint,
                selected,
                await page.until("location.pathname.startsWith('/studies') && location.pathname"),
            )

    complaint, selected, address = asyncio.run(use())
    assert "search.trails" in complaint
    assert "trails: 4" in selected
    assert address == "/studies/typed"
    assert ended(served, "typed") == "complete"


def test_the_outcome_of_a_form_is_in_sight_and_keeps_its_lines(served: Serving, tmp_path: Path) -> None:
    text = study_file("overnight")  # another study has this name
    outcome = "document.getElementById('outcome')"
    fill = f"document.forms.submit.elements.text.value = {json.dumps(text)}; "

    async def use(width_px: int) -> tuple[str, bool, int]:
        async with opened(f"{served.url}/submit", tmp_path / str(width_px)) as page:
            await page.screen(width_px, 640)
            await page.evaluate(f"{fill}document.querySelector('#submit button').click()")
            shown = await page.until(f"{outcome}.innerText.includes('these differ') && {outcome}.innerText")
            return (
                shown,
                await page.evaluate(f"{outcome}.getBoundingClientRect().bottom <= innerHeight + 1"),
                await page.width(),
            )

    for width_px in (1280, 400):
        shown, in_sight, wide_px = asyncio.run(use(width_px))
        assert "differ:\n" in shown
        assert (in_sight, wide_px) == (True, width_px)


def _page(url: str, scratch: Path) -> tuple[str, str]:
    """Return the HTML of a page after its scripts have run, and the browser's log."""
    ran = browse(scratch, "--enable-logging=stderr", "--dump-dom", url)
    return ran.stdout, ran.stderr
