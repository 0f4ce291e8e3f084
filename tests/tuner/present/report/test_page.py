"""The pages are complete, need no network, and run no script that comes from outside."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.stored_studies import failed, study, taken_apart, write_study
from tuner.model.goals import Goal
from tuner.model.trial import Trial
from tuner.present.report.interactive import inlined_plotly
from tuner.present.report.page import front_html, report_page
from tuner.present.report.study_figures import front_figure, importance_figure
from tuner.present.report.study_points import front_chart
from tuner.results.recommendations.recommend import recommend

NASTY = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
VOID = {"meta", "img", "br", "link", "input", "hr"}


class Reader(HTMLParser):
    """Collects what a browser would load or run, and checks that every element is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.handlers: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        links = [value or "" for name, value in attrs if name in ("src", "href")]
        self.loads += [each for each in links if not each.startswith("#")]  # a link within the page loads nothing
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "script" not in self.open and "style" not in self.open:
            self.text += data


def read(page: str) -> Reader:
    """Return what is in the page; plotly.js is left out, as it is large and not written by us."""
    reader = Reader()
    reader.feed(page.replace(inlined_plotly(), ""))
    reader.close()
    assert reader.open == []
    return reader


def test_the_report_is_complete_and_loads_nothing(tmp_path: Path) -> None:
    page = report_page(study(tmp_path, record_sizes=("100", "1000"), trials=30))
    assert page.count(inlined_plotly()) == 1
    seen = read(page)
    assert seen.loads == []
    assert seen.handlers == []
    assert all(f'href="#size-{place}"' in page and f'id="size-{place}"' in page for place in (0, 1))
    words = " ".join(seen.text.split())
    for expected in (
        "overnight",
        "100 B records",
        "1000 B records",
        "Goal: throughput",
        "x baseline",
        "Guarantee: acks=all",
        "All trials (36)",
        "How much each knob matters",
        "librdkafka 2.16.0",
        "host: cores2",
        "workload.partitions3",
        "workload.saturate.measured10s",
        "record_bytes: - '100' - '1000'",
        "measurements of the baseline differ by up to",
    ):
        assert expected in words
    assert page.count('id="front-0"') == 1


def test_the_first_screen_shows_the_goal_that_recommend_shows_without_a_goal(tmp_path: Path) -> None:
    results = study(tmp_path)
    found = recommend(results, "1000")
    assert found.goal is Goal.BALANCED
    assert f"for {found.goal}: {found.how}" in read(report_page(results)).text


def test_only_confirmed_ratios_are_called_gains(tmp_path: Path) -> None:
    words = read(report_page(study(tmp_path, rounds=0))).text
    assert "no gain is claimed" in words
    assert "gain (95 % interval)" not in words


def test_the_report_names_what_limited_trials(tmp_path: Path) -> None:
    def limited(trial: Trial) -> Trial:
        verdicts = {1: "generator", 2: "other processes", 3: "other processes"}
        return replace(trial, flagged=True, verdict=verdicts[trial.number]) if trial.number in verdicts else trial

    words = read(report_page(study(tmp_path, rounds=0, change=limited))).text
    assert "The load generator limited 1 trial:" in words
    assert "Other processes limited 2 trials:" in words


def test_a_remark_on_several_configs_of_the_front_stands_once_below_it(tmp_path: Path) -> None:
    results = study(tmp_path, change=lambda trial: replace(trial, warnings=("the load was slow",)))
    words = " ".join(read(report_page(results)).text.split())
    assert words.count("the load was slow") == 1
    below = words.partition("the load was slow")[0].rpartition("(!) ")[2]
    assert below.startswith("baseline, trial ")


def test_a_single_objective_is_named_below_the_importance_of_knobs() -> None:
    assert importance_figure({"mb_per_s": {"linger.ms": 1.0}}).layout.showlegend


def test_the_report_of_a_simulated_study_says_so(tmp_path: Path) -> None:
    page = report_page(study(tmp_path, trials=12, facts={"client_version": "simulated"}))
    assert "simulated: a model made these numbers, nothing was measured on Kafka" in read(page).text


@pytest.mark.parametrize(
    "options",
    [
        {"trials": 0, "rounds": 0},
        {"trials": 0, "record_sizes": ()},
        {"trials": 1, "rounds": 0, "facts": {"finished_at": None}},
        {"trials": 3, "rounds": 0, "change": failed},
        {"trials": 12, "facts": {"objectives": ["mb_per_s"]}},
        {"trials": 12, "facts": {"objectives": ["mb_per_s", "latency_p99_ms", "wire_bytes_per_value_byte"]}},
        {"trials": 12, "study_file": "", "facts": {"host": None, "cluster": None}},
    ],
)
def test_studies_with_few_or_unusual_trials_have_a_report(tmp_path: Path, options: dict[str, Any]) -> None:
    assert "overnight" in read(report_page(study(tmp_path, **options))).text


def test_texts_from_outside_are_escaped(tmp_path: Path) -> None:
    def nasty(trial: Trial) -> Trial:
        told = {"verdict": NASTY, "because": NASTY, "guarantee": NASTY, "warnings": (NASTY,), "worker": NASTY}
        violations = {NASTY: 1.0} if trial.number == 5 else trial.violations
        params = {NASTY: trial.number, **trial.params} if trial.params else {}
        changed = replace(trial, violations=violations, params=params, **told)  # type: ignore[arg-type]
        return failed(changed, NASTY) if trial.number == 3 else changed

    outside = dict.fromkeys(("name", "target", "client_version", "broker_version", "started_at"), NASTY)
    facts = {**outside, "host": {NASTY: NASTY}, "cluster": {NASTY: NASTY}, "question": {"workload": {NASTY: NASTY}}}
    results = study(tmp_path, change=nasty, facts=facts, study_file=f"study: {NASTY}\n")
    for page in (report_page(results), front_html(results, results.sizes)):
        seen = read(page)
        assert "img" not in seen.tags
        assert seen.handlers == []
        ours = page.replace(inlined_plotly(), "")
        assert "<script>alert" not in ours
        assert not re.search(r"<img\b", ours)
    assert NASTY in read(report_page(results)).text


def test_the_first_screen_explains_the_recommendation(tmp_path: Path) -> None:
    results = taken_apart(write_study(tmp_path / "overnight"))
    first_screen = " ".join(read(report_page(results).partition('<h2 id="size-0">')[0] + "</body></html>").text.split())
    assert "Why: linger.ms=2 instead of 5: latency p99 1." in first_screen


def test_the_front_the_baseline_and_the_winner_have_their_intervals(tmp_path: Path) -> None:
    (size,) = study(tmp_path).sizes
    traces = {trace.name: trace for trace in front_figure(size, {7: "balanced"}).data}
    for name in ("front", "baseline"):
        trace = traces[name]
        for axis, bars, metric in ((trace.x, trace.error_x, "latency_p99_ms"), (trace.y, trace.error_y, "mb_per_s")):
            assert len(axis) == len(bars.array) == len(bars.arrayminus)
            ends = {
                (round(found[metric].low, 6), round(found[metric].high, 6))
                for found in size.estimates.by_config.values()
            }
            if name == "front":  # the baseline stands at its median, and its interval is that of the mean
                shown = zip(axis, bars.arrayminus, bars.array, strict=True)
                assert {(round(at - down, 6), round(at + up, 6)) for at, down, up in shown} <= ends
            assert any(up > 0 for up in bars.array)
    assert traces["recommended for"].text == ("balanced",)
    assert traces["trial"].error_y.array is None


def test_labels_in_the_chart_of_the_front_stand_inside_it_and_above_and_below_in_turn(tmp_path: Path) -> None:
    (size,) = study(tmp_path).sizes
    points = sorted(front_chart(size).feasible, key=lambda point: point.x)
    names = {points[0].trial.number: "latency", points[-1].trial.number: "throughput"}
    traces = {each.name: each for each in front_figure(size, names).data}
    trace, baseline = traces["recommended for"], traces["baseline"]
    places = dict(zip(trace.text, trace.textposition, strict=True))
    assert places["latency"].endswith("right")
    assert places["throughput"].endswith("left")
    assert {place.split()[0] for place in places.values()} == {"top", "bottom"}
    on_the_right = baseline.x[0] > (points[0].x + points[-1].x) / 2
    assert baseline.textposition == (f"bottom {'left' if on_the_right else 'right'}",)
