"""The service on loopback, used over HTTP: studies are submitted, recommendations are fetched."""

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from search_spaces.client import librdkafka
from search_spaces.librdkafka.knobs import KNOBS
from search_spaces.space.parameters import KnobChange
from tests.helpers.command import arguments, tuner
from tests.helpers.serving import Serving, ended, serving, study_file
from tests.helpers.stored_studies import write_study
from tests.helpers.studies import Told, simulated_study
from tests.helpers.waiting import eventually
from tuner.client import Client, ServiceRefused, ServiceUnreachable
from tuner.execution.studies.run import measure_study
from tuner.model.goals import Goal
from tuner.model.spec import Method
from tuner.model.trial import Trial
from tuner.present.export import Format, export, offered
from tuner.present.number_text import number
from tuner.results.recommendations.recommend import recommend
from tuner.results.recommendations.recommendation import Conditions
from tuner.results.study_results import load_results

pytestmark = pytest.mark.campaign

TYPES = {"json": "application/json", "librdkafka": "application/json", "spring": "application/yaml; charset=utf-8"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    root = tmp_path_factory.mktemp("service") / "studies"
    root.mkdir()
    write_study(root / "overnight", record_sizes=("100", "1000"), facts={"name": "overnight"})
    with serving(root) as found:
        assert found.submit(study_file("first")).status == 201
        assert ended(found, "first") == "complete"
        yield found


def test_a_submitted_study_runs_to_its_end(served: Serving) -> None:
    view = served.client.study("first")
    assert view["state"] == "complete"
    assert view["targets"] == ["simulated"]
    assert view["progress"]["state"] == "finished"
    results = load_results(served.root / "first")
    assert results.finished
    assert results.study_file == study_file("first")
    assert (served.root / "first" / "report.html").is_file()


def test_submitting_the_same_study_again_changes_nothing(served: Serving) -> None:
    again = served.submit("# with a remark\n" + study_file("first"))
    assert again.status == 200
    assert again.json["state"] == "complete"
    assert again.headers["location"] == "/v1/studies/first"


def test_the_same_study_in_json_is_recognised(served: Serving) -> None:
    asked = {
        "study": "first",
        "target": "simulated",
        "workload": {"record_bytes": [1000]},
        "search": {"trials": 4, "burn_in_max": 1, "method": "random"},
        "confirm": {"rounds": 2, "max_rounds": 2, "nominee_repeats": 0, "nominees": 1, "undo_rounds": 0},
        "tracking": {"enabled": False},
    }
    assert served.submit(json.dumps(asked), "application/json").status == 200


def test_settings_that_trials_depend_on_may_not_change(served: Serving) -> None:
    refused = served.submit(study_file("first").replace("[1000]", "[1000]\n  partitions: 7"))
    assert refused.status == 409
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.json["type"].endswith("/settings-changed")
    assert "\n  workload.partitions: 3 in the study, 7 now\n" in refused.json["detail"]
    assert "fork" not in refused.json["detail"], "the service has no such command"
    assert served.submit(study_file("first")).json["state"] == "complete"


def test_mistakes_are_worded_as_on_the_command_line(served: Serving, tmp_path: Path) -> None:
    wrong = study_file("wrong").replace("trials: 4", "trials: many, budget: 3").replace("target: simulated\n", "")
    file = tmp_path / "wrong.yaml"
    file.write_text(wrong)
    local = tuner("run", str(file))
    problem = served.submit(wrong)
    assert problem.status == 422
    assert problem.json["type"].endswith("/study-file")
    assert [each["line"] for each in problem.json["errors"]] == [4, 4]
    for each in problem.json["errors"]:
        assert " ".join(each["detail"].split()) in local.complaint


def test_an_unknown_cluster_does_not_hide_other_mistakes(served: Serving) -> None:
    wrong = study_file("<b>").replace("trials: 4", "trials: many").replace("target: simulated", "target: nowhere")
    found = [each["key"] for each in served.submit(wrong).json["errors"]]
    assert found == ["study", "target", "search.trials"]
    no_name = "target: nowhere\nworkload: {record_bytes: [1000], replication: 3}\n"
    assert sorted(each["key"] for each in served.submit(no_name).json["errors"]) == ["study", "target"]


def test_the_list_includes_studies_that_were_not_submitted(served: Serving) -> None:
    page = served.ask("GET", "/v1/studies?limit=1").json
    assert [each["name"] for each in page["studies"]] == ["first"]
    after = served.ask("GET", f"/v1/studies?cursor={page['next']}").json
    assert [(each["name"], each["state"]) for each in after["studies"]] == [("overnight", "recorded")]
    assert after["next"] is None
    assert {each["name"] for each in served.client.studies()} >= {"first", "overnight"}


@pytest.mark.parametrize("form", offered(librdkafka()))
@pytest.mark.parametrize("goal", list(Goal))
def test_recommendations_equal_those_of_the_stored_study(served: Serving, form: Format, goal: Goal) -> None:
    found = served.ask("GET", f"/v1/recommendation?study=overnight&record_bytes=1000&goal={goal}&format={form}")
    assert found.status == 200
    assert found.headers["content-type"] == TYPES.get(form, "text/plain; charset=utf-8")
    results = load_results(served.root / "overnight")
    assert found.text == export(recommend(results, "1000", goal), form)
    unasked = served.ask("GET", f"/v1/recommendation?study=overnight&record_bytes=1000&format={form}")
    assert unasked.text == export(recommend(results, "1000"), form)


def test_a_format_of_another_client_is_refused(served: Serving) -> None:
    found = served.ask("GET", "/v1/recommendation?study=overnight&record_bytes=1000&format=quarkus")
    assert found.status == 422
    assert "choose one of table" in json.loads(found.text)["detail"]


def test_a_client_can_set_allow_loss(served: Serving) -> None:
    found = served.client.recommend("overnight", "1000", "balanced", allow_loss=0).text
    expected = recommend(load_results(served.root / "overnight"), "1000", Goal.BALANCED, Conditions(allow_loss=0))
    assert found == export(expected, Format.JSON)


def test_a_client_can_ask_for_properties_with_default_values_too(served: Serving) -> None:
    write_study(
        served.root / "spelled-out",
        change=lambda trial: replace(trial, values={**trial.values, "socket.nagle.disable": "true"}),
    )
    asked = ("spelled-out", "1000", "throughput")
    few = served.client.recommend(*asked, form="properties").text
    every = served.client.recommend(*asked, form="properties", everything=True).text
    assert "socket.nagle.disable" not in few
    assert "socket.nagle.disable=true" in every


def test_polling_an_unchanged_response_gets_304(served: Serving) -> None:
    path = "/v1/recommendation?study=overnight&record_bytes=100&format=properties"
    first = served.ask("GET", path)
    etag = first.headers["etag"]
    assert first.headers["cache-control"] == "private, no-cache"
    for header in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        again = served.ask("GET", path, headers={"If-None-Match": header})
        assert (again.status, again.body) == (304, b"")
        assert again.headers["etag"] == etag
    assert served.ask("GET", path, headers={"If-None-Match": '"other"'}).status == 200
    assert served.ask("GET", path.replace("100", "1000")).headers["etag"] != etag


def test_new_trials_change_the_response(served: Serving) -> None:
    write_study(served.root / "growing", trials=10, rounds=0)
    path = "/v1/recommendation?study=growing&record_bytes=1000&format=json"
    before = served.ask("GET", path)
    (served.root / "growing" / "results.db").unlink()
    write_study(served.root / "growing", trials=40)
    known = {"If-None-Match": before.headers["etag"]}
    after = eventually(lambda: (found := served.ask("GET", path, headers=known)).status == 200 and found)
    assert after.json["confirmed"]
    assert not before.json["confirmed"]


@pytest.mark.parametrize(
    ("path", "status", "detail"),
    [
        ("/v1/recommendation?study=nobody", 404, "."),
        ("/v1/recommendation", 422, "query.study: must be given$"),
        ("/v1/recommendation?study=overnight&record_bytes=many", 422, "."),
        ("/v1/recommendation?study=overnight&goal=best", 422, "."),
        ("/v1/recommendation?study=overnight&max_p99_ms=nan", 422, "."),
        ("/v1/recommendation?study=overnight&allow_loss=2", 422, "."),
        ("/v1/recommendation?study=overnight&record_bytes=1000&max_p99_ms=0.001", 404, "."),
        ("/v1/recommendation?study=../overnight", 422, "."),
        ("/v1/studies/nobody", 404, "."),
        ("/v1/studies/nobody/status", 404, "^there is no study nobody$"),
        ("/v1/studies/nobody/trials", 404, "."),
        ("/v1/studies/nobody/events", 404, "."),
        ("/v1/studies/..%2F..%2Fetc%2Fpasswd", 404, "."),
        ("/v1/studies/.hidden/trials", 422, "path.study: must consist of letters, .*, but got '.hidden'$"),
        ("/v1/studies/overnight/front?record_bytes=7", 404, "."),
        ("/v1/studies/overnight/trials?after=-1", 422, "."),
        (
            "/v1/studies/overnight/trials?record_bytes=0",
            422,
            "^query.record_bytes: a record size must .*, but got 0;",
        ),
        (
            "/v1/studies/overnight/prediction?set=acks",
            422,
            "query.set.0: must read NAME=VALUE, such as linger.ms=20, but got 'acks'$",
        ),
        (
            "/v1/studies/overnight/prediction?brokers=3",
            422,
            "^query.brokers: the number of brokers needs the size of a disk or a retention limit; give one of them",
        ),
        ("/v1/studies/overnight/prediction?disk_bytes=9&sweep=linger.ms%3D1,2", 422, "^query.sweep: a disk or "),
        ("/v1/studies/overnight/prediction?rate=", 422, "^query.rate: must be a valid number, but got ''$"),
        ("/v1/studies?limit=abc", 422, "query.limit: must be a valid integer, but got 'abc'$"),
        ("/v1/studies?limit=" + "9" * 5000 + "x", 422, "but got '9{99}$"),
        ("/v1/studies?cursor=x", 422, "must be the `next` that the previous page returned, but got 'x'$"),
        (
            "/v1/comparison?first=overnight&second=overnight",
            422,
            "^query.second: must be another study than first, but both are overnight$",
        ),
        ("/v1/nothing", 404, "the service has nothing at /v1/nothing; /openapi.json lists all resources$"),
    ],
)
def test_a_wrong_request_is_refused_with_a_problem_that_names_the_rule_and_the_value(
    served: Serving, path: str, status: int, detail: str
) -> None:
    found = served.ask("GET", path)
    assert (found.status, found.json["status"]) == (status, status)
    assert found.headers["content-type"] == "application/problem+json"
    assert re.search(detail, found.json["detail"])


def test_a_method_that_a_resource_does_not_have_is_refused(served: Serving) -> None:
    refused = served.ask("DELETE", "/v1/studies")
    assert refused.status == 405
    assert refused.json["detail"] == "the method must be GET, HEAD or POST here, but got DELETE"
    assert refused.headers["allow"] == "GET, HEAD, POST"


def test_trials_come_in_pages(served: Serving) -> None:
    first = served.ask("GET", "/v1/studies/overnight/trials?limit=7").json
    assert [trial["sequence"] for trial in first["trials"]] == list(range(1, 8))
    assert first["next_after"] == 7
    whole = list(served.client.trials("overnight"))
    assert [trial["sequence"] for trial in whole] == list(range(1, len(whole) + 1))
    results = load_results(served.root / "overnight")
    assert len(whole) == sum(len(size.trials) for size in results.sizes)
    assert whole[3]["values"] == dict(results.sizes[0].trials[3].values)


def test_the_pages_of_trials_may_be_those_of_one_record_size(served: Serving) -> None:
    whole = [trial for trial in served.client.trials("overnight") if trial["record_bytes"] == "1000"]
    found: list[dict[str, Any]] = []
    after: int | None = 0
    while after is not None:
        page = served.ask("GET", f"/v1/studies/overnight/trials?limit=7&after={after}&record_bytes=1000").json
        found += page["trials"]
        after = page["next_after"]
    assert found == whole
    for form in ("json", "csv"):
        refused = served.ask("GET", f"/v1/studies/overnight/trials?record_bytes=7&format={form}")
        assert refused.status == 404
        assert refused.json["detail"].endswith("record sizes (100, 1000), but got 7")


def test_events_end_when_the_study_ends(served: Serving) -> None:
    found = list(served.client.events("first"))
    assert [event.name for event in found][-2:] == ["status", "end"]
    numbers = [event.number for event in found if event.name == "trial"]
    assert numbers == list(range(1, len(numbers) + 1))
    again = list(served.client.events("first", after=len(numbers) - 1))
    assert [event.number for event in again if event.name == "trial"] == [len(numbers)]


def test_the_report_is_complete_and_sandboxed(served: Serving) -> None:
    found = served.ask("GET", "/v1/studies/overnight/report")
    assert found.status == 200
    assert "plotly" in found.text
    assert "sandbox allow-scripts" in found.headers["content-security-policy"]
    assert "allow-same-origin" not in found.headers["content-security-policy"]


def test_health_and_metrics_can_be_queried(served: Serving) -> None:
    assert served.ask("GET", "/healthz").status == 200
    eventually(lambda: served.ask("GET", "/readyz").status == 200)
    numbers = served.ask("GET", "/metrics").text
    assert 'kafka_tuner_studies{state="complete"} ' in numbers
    routes = set(re.findall(r'route="([^"]*)"', numbers))
    assert "/v1/recommendation" in routes
    assert all(route.startswith("/v1/") for route in routes - {"/healthz", "/readyz", "/metrics", "other"})
    assert "kafka_tuner_study_starts_total 1" in numbers


def _slow_with_100_bytes(trial: Trial) -> Trial:
    mb_per_s = trial.metrics["mb_per_s"] / (100 if trial.record_bytes == "100" else 1)
    return replace(trial, metrics={**trial.metrics, "mb_per_s": mb_per_s})


def test_remote_commands_print_what_local_ones_print(served: Serving, tmp_path: Path) -> None:
    changes = {knob.name: KnobChange(off=True) for knob in KNOBS} | {"linger.ms": KnobChange(choices=("1", "5", "20"))}
    grid = replace(simulated_study((1000,), rounds=0, method=Method.GRID), name="lingers", space=changes)
    measure_study(grid, "", served.root / "lingers", Told())
    write_study(
        served.root / "slow-100", record_sizes=("100", "1000"), change=_slow_with_100_bytes, facts={"name": "slow-100"}
    )
    producer = tmp_path / "producer.properties"
    producer.write_text("batch.size=65536\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KAFKA_TUNER_SERVER", served.url)
        listed = tuner("studies", "--json").json
        assert {each["name"] for each in listed["studies"]} >= {"first", "overnight"}
        table = {line.split(",")[0]: line for line in tuner("studies", "--csv").out.splitlines()}
        assert tuner("status", "--json").json == listed
        remote = {
            words: tuner(*words)
            for words in (
                ("recommend", "overnight", "--record-bytes", "1000", "--format", "properties"),
                ("recommend", "overnight"),
                ("front", "overnight", "--json"),
                ("status", "overnight", "--json"),
                ("front", "overnight"),
                ("front", "overnight", "--csv"),
                ("explain", "overnight", "--goal", "latency"),
                ("compare", "overnight", "lingers"),
                ("grid", "overnight"),
                ("grid", "lingers"),
                ("grid", "lingers", "--json"),
                ("trials", "overnight"),
                ("trials", "overnight", "--csv"),
                ("trials", "overnight", "--json", "--record-bytes", "1000"),
                ("recommend", "overnight", "--json"),
                ("recommend", "overnight", "--record-bytes", "1000", "--max-p99-ms", "0.001"),
                ("recommend", "slow-100", "--min-mb-per-s", "20"),
                ("recommend", "slow-100", "--min-mb-per-s", "20", "--json"),
                ("recommend", "slow-100", "--min-mb-per-s", "2000"),
                ("explain", "slow-100", "--min-mb-per-s", "20"),
                ("explain", "slow-100", "--min-mb-per-s", "20", "--json"),
                ("status", "nobody"),
                ("predict", "first", "-X", "linger.ms=20", "--partitions", "6"),
                ("predict", "first", "--record-bytes", "900", "--json"),
                ("predict", "first", "--replication", "3"),
                ("predict", "first", "--sweep", "linger.ms=0,5,100"),
                ("predict", "first", "--sweep", "replication=1..3", "--json"),
                ("predict", "first", "--sweep", "linger.ms"),
                ("predict", "first", "--rate", "20000", "--disk", "2TB", "--brokers", "3", "--retention", "7d"),
                ("predict", "first", "--config", str(producer), "--what-if", "linger.ms=3"),
                ("predict", "first", "--config", str(producer), "--sweep", "batch.size=10000,50000"),
            )
        }
        written = tuner("report", "overnight", "--output", str(tmp_path / "report.html"))
        assert written.code == 0, written.err
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KAFKA_TUNER_STUDIES", str(served.root))
        for words, found in remote.items():
            local = tuner(*words)
            assert (found.code, found.out) == (local.code, local.out), words
        only_1000 = remote["recommend", "slow-100", "--min-mb-per-s", "20"]
        assert (only_1000.code, "study slow-100, 1000 B records" in only_1000.out) == (5, True)
        assert "100 B" in only_1000.complaint
        # A study that was not submitted has no other state or target than its own.
        assert table["overnight"] in tuner("studies", "--csv").out
        assert tuner("report", "overnight", "--output", str(tmp_path / "local.html")).code == 0
    assert (tmp_path / "report.html").stat().st_size > 100_000


def test_the_list_shows_the_same_best_gain_as_the_command_line(
    served: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_TUNER_STUDIES", str(served.root))
    here = {each["name"]: each["best_gain"] for each in tuner("studies", "--json").json["studies"]}
    there = {each["name"]: each["summary"]["best_gain"] for each in served.ask("GET", "/v1/studies").json["studies"]}
    assert here["overnight"]["ratio"]["low"] > 1
    assert there["overnight"] == here["overnight"]
    assert f"{here['overnight']['ratio']['value']:.2f} (" in served.ask("GET", "/").text


def test_the_list_counts_the_search_trials_as_the_study_does(served: Serving) -> None:
    (listed,) = [each for each in served.ask("GET", "/v1/studies").json["studies"] if each["name"] == "overnight"]
    sizes = served.ask("GET", "/v1/studies/overnight").json["progress"]["sizes"]
    assert listed["summary"]["search_trials"] == sum(size["done"] for size in sizes) < listed["summary"]["trials"]


def test_the_page_of_a_study_shows_its_newest_trials(served: Serving) -> None:
    page = served.ask("GET", "/studies/overnight").text
    newest = max(
        trial["number"] for trial in served.ask("GET", "/v1/studies/overnight/trials?limit=500").json["trials"]
    )
    rows = page.partition("Last trials")[2].split("<tr>")[1:]
    assert [row.split("</td>")[1].rpartition(">")[2] for row in rows[1:]] == [str(newest - back) for back in range(10)]


def test_what_another_config_would_do_is_on_a_page_without_scripts(served: Serving) -> None:
    assert 'href="/studies/first/what-if"' in served.ask("GET", "/studies/first").text
    page = served.ask("GET", "/studies/first/what-if?linger.ms=20&partitions=6").text
    assert '<input type="range" name="linger.ms" min="0" max="100" step="1" value="20">' in page
    assert '<th class="n">with your changes</th>' in page
    told = served.ask("GET", "/v1/studies/first/prediction?set=linger.ms%3D20&partitions=6").json["predictions"]
    assert told["changed"]["config"]["linger.ms"] == "20"
    assert f"{number(told['changed']['metrics']['mb_per_s']['value'])} (" in page
    assert "disks full after, days" not in page
    assert re.search(r"baseline: records of [^<]*latency at ([\d,]+) records/s; ", page), "its rate is no field"
    assert re.search(r"with your changes: records of [^<]* 6 partitions, [^<]*; [^<]*linger.ms=20", page)
    stored = served.ask("GET", "/studies/first/what-if?rate=20000&retention_days=3&disk_gb=2000&brokers=3").text
    assert '<input type="number" name="disk_gb" min="0" step="any" value="2000" placeholder="optional">' in stored
    assert "records kept for at least, days" in stored
    assert "disks full after, days" in stored
    beyond = served.ask("GET", "/studies/first/what-if?replication=3")
    assert "can't be predicted from the study: the replication factor is 3, but only 1 was measured" in beyond.text
    for wrong in (
        "partitions=many",
        "linger.mss=1",
        "rate=-1",
        "record_bytes=0",
        "disk_gb=big",
        "disk_gb=1e300",
        "retention_days=nan",
        "brokers=-5",
    ):
        answer = served.ask("GET", f"/studies/first/what-if?{wrong}")
        assert answer.status == 422, wrong
        assert wrong.partition("=")[0].split("_")[0] in answer.json["detail"], wrong


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("what-if?partitions=2&partitions=3", "partitions"),
        ("what-if?linger.ms=2&linger.ms=3", "linger.ms"),
        ("front.json?record_bytes=2&record_bytes=3", "record_bytes"),
        ("front.png?record_bytes=2&record_bytes=3", "record_bytes"),
    ],
)
def test_a_page_takes_each_parameter_once(served: Serving, path: str, name: str) -> None:
    refused = served.ask("GET", f"/studies/first/{path}")
    assert refused.status == 422
    assert refused.json["detail"] == f"query.{name}: must be given once, but got '2' and '3'"


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("set=rate%3D5", "query.set: must change producer properties, but got rate; use the parameter rate"),
        ("set=partitions%3D1_0&set=linger.ms%3D5", "use the parameter partitions"),
        ("set=linger.ms%3Dabc", "query.set: linger.ms takes "),
        ("set=lingr.ms%3D5", "query.set: librdkafka has no property 'lingr.ms'"),
        ("set=bootstrap.servers%3Da:1", "query.set: bootstrap.servers does not belong here"),
        ("set=linger.ms%3D5&set=linger.ms%3D6", "query.set: must name a property only once, but got linger.ms twice"),
        ("set=enable.idempotence%3Dtrue&set=acks%3D1", "query.set: an idempotent producer needs acks=all"),
        ("record_bytes=50000000", "query.record_bytes: a record's key, its value and 36 bytes of framing must fit"),
        ("record_bytes=900,1100", "record sizes must have the form SIZE or SIZE:WEIGHT"),
    ],
)
def test_the_service_checks_a_prediction_request_as_strictly_as_the_command_line(
    served: Serving, asked: str, words: str
) -> None:
    refused = served.ask("GET", f"/v1/studies/first/prediction?{asked}")
    assert refused.status == 422
    assert words in refused.json["detail"]
    ((key, detail),) = [(each["key"], each["detail"]) for each in refused.json["errors"]]
    assert f"{key}: {detail}" == refused.json["detail"]


def test_two_studies_are_compared_on_a_page_that_cannot_reach_the_service(served: Serving) -> None:
    write_study(served.root / "before", trials=20)  # it calls itself overnight, like a copied folder
    assert "<option>before</option>" in served.ask("GET", "/").text
    page = served.ask("GET", "/v1/comparison?first=before&second=overnight&format=html")
    assert "<h1>before and overnight</h1>" in page.text
    assert "<td>throughput</td>" in page.text
    assert "sandbox allow-scripts" in page.headers["content-security-policy"]
    assert 'href="/"' not in page.text, "a program stores the page as a file"
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    shown = served.ask("GET", "/v1/comparison?first=before&second=overnight&format=html", headers=browser)
    assert '<nav><a href="/">all studies</a></nav>' in shown.text
    assert served.ask("GET", "/v1/comparison?first=before&second=before").status == 422
    missing = served.ask("GET", "/v1/comparison?first=before&second=nobody")
    assert (missing.status, missing.json["detail"]) == (404, "there is no study nobody, or it has no results yet")


def test_events_begin_after_the_trial_that_the_client_has(served: Serving) -> None:
    listed = served.ask("GET", "/v1/studies/first/trials").json["trials"]
    told = served.ask("GET", f"/v1/studies/first/events?after={listed[-3]['sequence']}").text
    assert [line for line in told.splitlines() if line.startswith("id: ")] == [
        f"id: {each['sequence']}" for each in listed[-2:]
    ]


def test_a_study_is_submitted_and_followed(served: Serving, tmp_path: Path) -> None:
    file = tmp_path / "followed.yaml"
    file.write_text(study_file("followed"))
    ran = tuner("--server", served.url, "run", str(file))
    assert ran.code == 0, ran.err
    assert "followed" in ran.out
    assert "baseline" in ran.err
    again = tuner("--server", served.url, "run", str(file), "--json")
    assert again.json["name"] == "followed"
    assert [each["record_bytes"] for each in again.json["recommendations"]] == ["1000"]


def test_a_study_that_measured_nothing_blames_its_limits_and_no_constraint(served: Serving) -> None:
    text = study_file("too-little").replace("trials: 4", "trials: 4, max_bytes: 1MB")
    assert served.submit(text).status == 201
    assert ended(served, "too-little") == "complete"
    note = served.client.study("too-little")["note"]
    assert note.startswith("too-little measured nothing: its limits left too little time or too few bytes for a trial")


def test_ctrl_c_leaves_the_study_running_and_says_how_to_stop_it(served: Serving, tmp_path: Path) -> None:
    file = tmp_path / "long.yaml"
    file.write_text(study_file("long", trials=100_000))
    command = arguments("--server", served.url, "run", str(file))
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as following:
        assert following.stderr is not None
        assert "Ctrl-C stops this command, not the study" in following.stderr.readline()
        following.send_signal(signal.SIGINT)
        said = following.stderr.read()
    assert following.returncode == 130
    assert f"the study long continues on the service; `tuner --server {served.url} cancel long` stops it" in said
    assert served.client.study("long")["state"] in ("queued", "running")
    assert tuner("--server", served.url, "cancel", "long").code == 0
    assert ended(served, "long") == "cancelled"


def test_a_mistake_is_named_with_the_user_s_file(served: Serving, tmp_path: Path) -> None:
    file = tmp_path / "mistaken.yaml"
    file.write_text(study_file("mistaken") + "baseline: {lingerms: 5}\n")
    for command in ("run", "plan"):
        refused = tuner("--server", served.url, command, str(file))
        assert refused.code == 2
        assert f"error: {file}, line " in refused.complaint
        assert "baseline.lingerms" in refused.complaint


def test_a_detached_study_needs_no_advice_about_ctrl_c(served: Serving, tmp_path: Path) -> None:
    file = tmp_path / "first.yaml"
    file.write_text(study_file("first"))
    assert (
        tuner("--server", served.url, "run", str(file), "--detach").err == f"study first is complete at {served.url}\n"
    )


def test_the_client_reports_errors(served: Serving) -> None:
    with pytest.raises(ServiceRefused, match="nobody") as refused:
        served.client.study("nobody")
    assert (refused.value.status, refused.value.kind) == (404, "not-found")
    with pytest.raises(ServiceUnreachable, match=r"127\.0\.0\.1:9"):
        Client("http://127.0.0.1:9").study("first")
    with pytest.raises(ServiceUnreachable, match="does not use TLS; write http:// in the address"):
        Client(served.url.replace("http:", "https:")).study("first")
    for url in ("ftp://host", "http://", "http://user@host", "host:80", "http://host:99999"):
        with pytest.raises(ValueError, match="address"):
            Client(url)
    with pytest.raises(ValueError, match="token"):
        Client("http://host", "two\nlines")
