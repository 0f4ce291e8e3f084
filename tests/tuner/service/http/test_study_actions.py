"""Commands that let a service do something have the same output and exit code with `--server` as without."""

import json
import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from search_spaces.client import librdkafka
from tests.helpers.command import Ended, arguments, tuner
from tests.helpers.serving import Serving, ended, serving, state_of, study_file
from tests.helpers.small_experiment import run_small
from tests.helpers.stored_studies import write_study
from tests.helpers.waiting import eventually
from tuner.model.facts import CLIENT_VERSION, FINISHED_AT
from tuner.model.progress import Progress, StudyState
from tuner.model.study_files import QUEUE_FILE
from tuner.model.trial import TrialKind
from tuner.present.trial_tables.front_table import LIMITED_BY_HOST
from tuner.present.trial_tables.grid_view import NO_GRID
from tuner.results.study_results import SIMULATED, load_results
from tuner.service.http.study_actions import VerificationRequest
from tuner.service.http.tokens import TokenRole
from tuner.service.queue.job import JobState, Task, TaskKind
from tuner.service.queue.job_queue import open_queue
from tuner.storage.locations import ROOT_VARIABLE

pytestmark = pytest.mark.campaign

LONG = 100_000
"""A number of trials large enough that the study does not end by itself."""
PHASES = "saturate: {warmup: 0s, measured: 1s}\n  paced: {warmup: 0s, measured: 1s}"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """Return a service with the complete study `orders`."""
    root = tmp_path_factory.mktemp("work") / "studies"
    with serving(root, "--no-access-log") as found:
        assert found.submit(text_of("orders")).status == 201
        assert ended(found, "orders") == "complete"
        yield found


def text_of(name: str, *, trials: int = 6) -> str:
    text = study_file(name, trials=trials).replace("[1000]\n", f"[1000]\n  {PHASES}\n")
    return text.replace("method: random", "startup_trials: 3")  # it finds configs that are better than the baseline


def at(served: Serving, *words: str) -> Ended:
    return tuner("--server", served.url, *words)


def test_an_experiment_in_place_of_a_study_is_wrong_input(served: Serving) -> None:
    run_small(served.root / "small")
    for command in ("front", "status"):
        refused = at(served, command, "small")
        assert (refused.code, refused.out) == (2, "")
        advice = "use `tuner predict small`, or `tuner experiment report small` on the service's host"
        assert f"small is an experiment, not a study; {advice}" in refused.complaint


def test_the_list_shows_experiments_and_studies_that_were_not_started_as_the_local_one_does(studies: Path) -> None:
    write_study(studies / "forked", trials=3, rounds=0, facts={"name": "forked", "finished_at": None})
    run_small(studies / "small")
    here = {each["name"]: each for each in tuner("studies", "--json").json["studies"]}
    assert (here["forked"]["state"], here["small"]["state"]) == ("not started", "finished")
    with serving(studies, "--no-access-log") as service:
        there = {each["name"]: each for each in at(service, "studies", "--json").json["studies"]}
        assert at(service, "studies").out == tuner("studies").out
    for name, listed in here.items():
        assert {key: there[name][key] for key in listed} == listed


def properties(folder: Path, text: str, name: str = "new.properties") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def confirmations(served: Serving, name: str) -> int:
    sizes = load_results(served.root / name).sizes
    return sum(trial.kind is TrialKind.CONFIRM for size in sizes for trial in size.trials)


@pytest.mark.long
def test_options_alone_make_a_study_for_the_service(served: Serving, tmp_path: Path) -> None:
    words = ("--record-bytes", "500", "--target", "simulated", "--trials", "4", "--rounds", "2", "--max-rounds", "2")
    baseline = ("--current", properties(tmp_path, "linger.ms=20\n"))
    ran = at(served, "run", "--quick", *words, *baseline, "--json")
    assert ran.code == 0, ran.err
    assert ran.json["name"] == "simulated-500-quick"
    results = load_results(served.root / "simulated-500-quick")
    (size,) = results.sizes
    assert (size.record_bytes, size.baseline and size.baseline.values) == ("500", {"linger.ms": "20"})
    other = at(served, "run", "--quick", *words, "--partitions", "6", "--detach")
    assert other.out.strip() == "simulated-500-quick-2"
    assert "the service has a study simulated-500-quick with other settings" in other.err
    same = at(served, "run", "--quick", *words, *baseline, "--detach")
    assert same.out.strip() == "simulated-500-quick"


def test_a_made_name_never_replaces_the_study_of_another_user(served: Serving) -> None:
    assert served.submit(text_of("before", trials=LONG)).status == 201
    eventually(lambda: state_of(served, "before") == "running")
    words = ("run", "--record-bytes", "700", "--target", "simulated", "--trials", str(LONG), "--detach")
    first = at(served, *words, "--knob", "linger.ms=0..5")
    assert first.out.strip() == "simulated-700", first.err
    waiting = study_file_of(served, "simulated-700")
    other = at(served, *words, "--partitions", "6")
    assert other.out.strip() == "simulated-700-2", other.err
    assert "the service has a study simulated-700 with other settings, so this study is" in other.complaint
    assert study_file_of(served, "simulated-700") == waiting
    longer = at(served, *words, "--knob", "linger.ms=0..5", "--hours", "5")
    assert longer.out.strip() == "simulated-700", "it has the same trials, so this is the same study"
    served.client.cancel("before")
    eventually(lambda: state_of(served, "simulated-700") == "running")
    assert at(served, *words, "--partitions", "7").out.strip() == "simulated-700-3"
    for name in ("simulated-700-3", "simulated-700-2", "simulated-700"):
        served.client.cancel(name)
    ended(served, "simulated-700", "cancelled")


def test_each_change_of_a_waiting_study_is_one_document_on_one_line(served: Serving) -> None:
    for name in ("earlier", "later"):
        assert served.submit(text_of(name, trials=LONG)).status == 201
    eventually(lambda: state_of(served, "earlier") == "running")
    once = at(served, "status", "later", "--json").json
    assert (once["kind"], once["study"], once["state"], once["sizes"]) == ("status", "later", "queued", [])
    words = arguments("--server", served.url, "status", "later", "--watch", "--json")
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        lines = [watching.stdout.readline()]
        served.client.cancel("later")
        lines += watching.stdout.readlines()
    seen = [json.loads(line) for line in lines]
    assert [each["state"] for each in seen] == ["queued", "cancelled"]
    assert {each["kind"] for each in seen} == {"status"}
    served.client.cancel("earlier")
    ended(served, "earlier", "cancelled")


def test_a_config_is_verified_with_a_mix_of_the_study(served: Serving, tmp_path: Path) -> None:
    mixed = text_of("mixed", trials=3).replace("[1000]", "['100:70,1000:30', 1000]")
    assert served.submit(mixed).status == 201
    assert ended(served, "mixed") == "complete"
    weaker = properties(tmp_path, "acks=1\n", "weaker.properties")
    for mix in ("100:70,1000:30", "100:0.7,1000:0.3"):
        refused = at(served, "verify", weaker, "--study", "mixed", "--record-bytes", mix)
        assert refused.code == 99, refused.err
        assert "the guarantee is weaker: acks=1" in refused.err
    wrong = at(served, "verify", weaker, "--study", "mixed", "--record-bytes", "100:50,1000:50")
    assert wrong.code == 2
    assert "record_bytes must name sizes of mixed (100:0.7,1000:0.3, 1000)" in wrong.complaint


def study_file_of(served: Serving, name: str) -> str:
    with closing(open_queue(served.root)) as queue:
        return queue.study_file(name)


def test_recommendations_at_the_end_have_the_warnings_of_the_local_commands(served: Serving, tmp_path: Path) -> None:
    path = tmp_path / "warned.yaml"
    path.write_text(text_of("warned"))
    ran = at(served, "run", str(path), "--quiet")
    assert ran.code == 0, ran.err
    again = at(served, "confirm", "warned", "--rounds", "2", "--max-rounds", "2", "--json")
    assert again.code == 0, again.err
    assert ran.complaint.count(SIMULATED) == again.complaint.count(SIMULATED) == 1


def test_a_transactional_producer_gets_no_lower_guarantee_from_the_service(served: Serving, tmp_path: Path) -> None:
    current = properties(tmp_path, "transactional.id=x\n")
    words = ("--record-bytes", "500", "--target", "simulated", "--current", current)
    refused = at(served, "plan", *words, "--durability", "leader")
    assert refused.code == 2, refused.err
    assert "new.properties: durability takes baseline or idempotent, because transactional.id" in refused.complaint


def test_a_wrong_option_is_named_although_the_service_refuses_it(served: Serving) -> None:
    for words, told in (
        (("--partitions", "0", "--target", "simulated"), "--partitions: must be a whole number from 1"),
        (
            ("--target", "nowhere"),
            "--target: must be a target of this service (embedded, simulated), but got 'nowhere'",
        ),
        (("--target", "embedded", "--hours", "0.01"), "--hours: a study must be able to search and confirm each"),
    ):
        for command in ("run", "plan"):
            refused = at(served, command, *words)
            assert refused.code == 2, refused.err
            assert told in refused.complaint


def test_options_change_the_settings_of_a_file(served: Serving, tmp_path: Path) -> None:
    path = tmp_path / "changed.yaml"
    path.write_text(text_of("changed"))
    ran = at(served, "run", str(path), "--trials", "3", "--quiet")
    assert ran.code == 0, ran.err
    assert load_results(served.root / "changed").facts["trials_per_size"] == 3


@pytest.mark.usefixtures("studies")
def test_a_plan_is_that_of_the_service(served: Serving) -> None:
    words = ("plan", "--quick", "--record-bytes", "500", "--name", "mine")
    here, there = (tuner(*words, "--json").json, at(served, *words, "--target", "embedded", "--json").json)
    assert there == here
    text = at(served, *words, "--target", "embedded")
    assert text.out == tuner(*words).out
    assert at(served, *words, "--target", "embedded", "--csv").out == tuner(*words, "--csv").out
    assert not (served.root / "mine-quick").exists()


@pytest.mark.long
def test_a_finished_study_is_confirmed_again(served: Serving) -> None:
    before = confirmations(served, "orders")
    done = at(served, "confirm", "orders", "--goal", "throughput", "--rounds", "3", "--max-rounds", "3", "--json")
    assert done.code == 0, done.err
    shown = [(each["record_bytes"], each["goal"]) for each in done.json["recommendations"]]
    assert shown == [("1000", "throughput")]
    assert confirmations(served, "orders") >= before + 6
    assert state_of(served, "orders") == "complete"
    assert ended(served, "orders") == "complete"
    running = served.submit(text_of("waits", trials=100_000))
    assert running.status == 201
    eventually(lambda: state_of(served, "waits") == "running")
    refused = at(served, "confirm", "waits")
    assert refused.code == 1
    assert "a study must be complete, paused or failed, but waits is running" in refused.complaint
    eventually(lambda: any((served.root / "waits" / "trials").glob("*")))
    assert at(served, "pause", "waits").code == 0
    assert ended(served, "waits") == "paused"
    again = at(served, "confirm", "waits", "--rounds", "2", "--max-rounds", "2", "--quiet")
    assert again.code == 0, again.err
    assert state_of(served, "waits") == "paused", "the search can still be resumed"
    trials = len(list(served.client.trials("waits")))
    assert at(served, "resume", "waits").code == 0
    eventually(lambda: len(list(served.client.trials("waits"))) > trials)
    assert at(served, "cancel", "waits").code == 0
    ended(served, "waits", "cancelled")


@pytest.mark.long
def test_a_config_is_verified_with_the_exit_codes_of_the_command(
    served: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path / "here"))
    worse = properties(tmp_path, "linger.ms=50\n", "worse.properties")
    better = properties(tmp_path, "linger.ms=0.5\ncompression.type=lz4\n", "better.properties")
    quick = ("--warmup", "0", "--seconds", "1", "--rounds", "4", "--max-rounds", "4")
    there = at(served, "verify", worse, *quick, "--target", "simulated", "--json")
    here = tuner("verify", worse, *quick, "--executor", "simulated", "--json")
    assert (there.code, here.code) == (99, 99), there.err
    assert there.json.keys() == here.json.keys()
    assert [each.keys() for each in there.json["sizes"]] == [each.keys() for each in here.json["sizes"]]
    assert "1000 B: latency p99: worse than the baseline" in there.err
    assert SIMULATED in there.err
    assert there.json["study"] == "verify-worse-1"
    assert state_of(served, "verify-worse-1") == "complete"
    passed = at(served, "verify", better, *quick, "--target", "simulated")
    assert passed.code == 0, passed.err
    assert "guarantee: " in passed.out
    assert "times as good: better" in passed.out
    like = at(served, "verify", worse, "--study", "orders", "--rounds", "2", "--max-rounds", "2", "--json")
    assert like.code in (98, 99), like.err
    rates = [load_results(served.root / name).facts["rates"] for name in ("orders", "verify-worse-2")]
    assert rates[0] == rates[1]


def test_a_config_with_a_weaker_guarantee_is_refused_without_a_measurement(served: Serving, tmp_path: Path) -> None:
    weaker = properties(tmp_path, "acks=1\n", "weaker.properties")
    refused = at(served, "verify", weaker, "--target", "simulated", "--json")
    assert refused.code == 99
    assert refused.json["study"] is None
    assert "the guarantee is weaker: acks=1" in refused.err
    assert not (served.root / "verify-weaker-1").exists()
    same = at(served, "verify", properties(tmp_path, "linger.ms=5\n"), "--target", "simulated")
    assert same.code == 2
    assert "must differ from the baseline" in same.complaint
    assert at(served, "verify", weaker, "--study", "nothing").code == 2
    missing = at(served, "verify", weaker, "--study", "orders", "--record-bytes", "10")
    assert "record_bytes must name sizes of orders (1000), but got 10" in missing.complaint
    assert served.ask("GET", "/v1/studies/orders/verification").status == 404


def test_a_file_is_verified_for_the_client_of_the_study(served: Serving, tmp_path: Path) -> None:
    assert served.submit(text_of("beans", trials=3) + "client: java\n").status == 201
    assert ended(served, "beans") == "complete"
    weaker = properties(tmp_path, "acks=1\nbuffer.memory=67108864\n", "java.properties")
    refused = at(served, "verify", weaker, "--study", "beans", "--json")
    assert refused.code == 99, refused.err
    assert "the guarantee is weaker: acks=1" in refused.err
    assert refused.json["study"] is None
    other = at(served, "verify", weaker, "--study", "beans", "--client", "librdkafka")
    assert other.code == 2
    assert "client must be that of beans: java " in other.complaint


def test_a_fork_is_paused_with_the_old_trials(served: Serving, tmp_path: Path) -> None:
    made = at(served, "fork", "orders", "orders-2", "--json")
    assert made.code == 0, made.err
    assert made.json["kind"] == "fork"
    assert made.json["trials_taken_over"] == len(list(served.client.trials("orders-2"))) > 0
    assert state_of(served, "orders-2") == "paused"
    taken = at(served, "fork", "orders", "orders-2")
    assert taken.code == 2
    assert "must have a new name, but there is already a study orders-2" in taken.complaint
    path = tmp_path / "third.yaml"
    path.write_text(text_of("third").replace("trials: 6", "trials: 8"))
    assert at(served, "fork", "orders", "third", str(path)).code == 0
    assert at(served, "resume", "third").code == 0
    assert ended(served, "third") == "complete"
    path.write_text(text_of("fourth").replace("[1000]", "[100]"))
    refused = at(served, "fork", "orders", "fourth", str(path))
    assert refused.code == 2
    assert "a fork needs trials that fit the new study" in refused.complaint
    assert served.ask("GET", "/v1/studies/fourth").status == 404


def test_a_removed_study_is_gone_and_its_name_is_free(served: Serving) -> None:
    assert served.submit(text_of("gone", trials=100_000)).status == 201
    eventually(lambda: state_of(served, "gone") == "running")
    refused = at(served, "rm", "gone", "--yes")
    assert refused.code == 1
    assert "a study may be removed only while it is neither waiting nor running" in refused.complaint
    assert at(served, "rm", "gone").code == 2, "without a terminal, nothing is removed without --yes"
    served.client.cancel("gone")
    ended(served, "gone", "cancelled")
    removed = at(served, "rm", "gone", "--yes", "--json")
    assert removed.json == {"schema_version": 1, "kind": "removed", "removed": ["gone"]}
    assert served.ask("GET", "/v1/studies/gone").status == 404
    assert not (served.root / "gone").exists()
    assert at(served, "rm", "gone", "--yes").code == 2
    assert served.submit(text_of("gone", trials=2)).status == 201
    assert ended(served, "gone") == "complete"


def test_a_complete_study_is_complete_again_after_a_task_that_failed_first(served: Serving) -> None:
    failed = Task(TaskKind.CONFIRM, {"rounds": 2}, JobState.COMPLETE).as_text()
    with closing(sqlite3.connect(served.root / QUEUE_FILE)) as db, db:
        db.execute("UPDATE jobs SET state = 'failed', task = ? WHERE name = 'orders'", [failed])
    refused = at(served, "sync", "orders")
    assert refused.code == 1
    assert "orders is failed and has not ended its task confirm, which would be lost; resume" in refused.complaint
    again = at(served, "confirm", "orders", "--rounds", "2", "--max-rounds", "2", "--quiet")
    assert again.code == 0, again.err
    assert state_of(served, "orders") == "complete"


def test_results_of_an_unfinished_study_have_the_warning_of_the_local_commands(studies: Path) -> None:
    alive = Progress(StudyState.RUNNING, pid=os.getpid(), updated_at=datetime.now(UTC).isoformat())
    write_study(studies / "finished", trials=12)
    for name, progress in (("running", alive), ("interrupted", None)):
        write_study(studies / name, trials=12, progress=progress, facts={"finished_at": None})
    with serving(studies, "--no-access-log") as service:
        for command in ("front", "explain", "recommend"):
            for name in ("finished", "running", "interrupted"):
                here, there = tuner(command, name), at(service, command, name)
                assert (there.code, there.out) == (here.code, here.out) == (0, there.out)
                warning = "overnight is not finished, so its results may still change"
                assert (warning in there.complaint) is (warning in here.complaint) is (name != "finished")


def test_results_with_a_service_have_all_warnings_of_the_local_commands(studies: Path) -> None:
    write_study(
        studies / "simulated",
        trials=12,
        change=lambda trial: replace(trial, flagged=trial.number == 7),
        facts={CLIENT_VERSION: "simulated", FINISHED_AT: None},
    )
    with serving(studies, "--no-access-log") as service:
        for words, warnings in (
            (("front",), (f"trial 7: {LIMITED_BY_HOST}", SIMULATED, "its results may still change")),
            (("front", "--csv"), (SIMULATED, "its results may still change")),
            (("front", "--json"), ()),
            (("grid",), (SIMULATED, NO_GRID)),
            (("grid", "--json"), (SIMULATED, NO_GRID)),
            (
                ("explain", "--record-bytes", "700"),
                ("700 B were not measured", SIMULATED, "its results may still change"),
            ),
            (("explain", "--json"), (SIMULATED, "its results may still change")),
        ):
            command, *options = words
            here = tuner(command, "simulated", *options)
            assert at(service, command, "simulated", *options) == here
            assert here.code == 0
            assert all(warning in here.complaint for warning in warnings)


def test_mlflow_is_brought_up_to_date_by_the_service(served: Serving) -> None:
    done = at(served, "sync", "orders", "--json")
    assert done.code == 0, done.err
    assert done.json == {"schema_version": 1, "kind": "sync", "study": "orders", "state": "complete"}
    assert (served.root / "mlflow.db").is_file()


def test_the_study_of_a_verification_is_copied_to_mlflow_whatever_its_baseline(served: Serving, tmp_path: Path) -> None:
    new = properties(tmp_path, "linger.ms=50\n", "waits.properties")
    baseline = properties(tmp_path, "acks=0\n", "acks0.properties")
    quick = ("--warmup", "0", "--seconds", "1", "--rounds", "2", "--max-rounds", "2", "--target", "simulated")
    verified = at(served, "verify", new, "--against", baseline, "--allow-weaker", *quick, "--json")
    assert (verified.code in (0, 98, 99), verified.json["study"]) == (True, "verify-waits-1"), verified.err
    copied = at(served, "sync", "verify-waits-1", "--json")
    assert copied.code == 0, copied.err
    assert copied.json["state"] == "complete"


def test_a_maximum_below_the_minimum_of_rounds_is_refused_as_by_the_command(served: Serving) -> None:
    asked = {"file": "a.properties", "config": {"linger.ms": 20}, "target": "simulated", "max_rounds": 3}
    for path, body, key in (
        ("verifications", json.dumps({**asked, "rounds": 5}).encode(), "body.max_rounds"),
        ("studies/orders/confirm?rounds=5&max_rounds=3", b"", "query.max_rounds"),
    ):
        refused = served.ask("POST", f"/v1/{path}", body, {"Content-Type": "application/json"})
        assert refused.status == 422, refused.text
        assert "max_rounds must be at least rounds (5), but got 3" in refused.json["detail"]
        assert [each["key"] for each in refused.json["errors"]] == [key]
    terms = VerificationRequest.model_validate(asked).terms(librdkafka())
    assert (terms.rounds, terms.max_rounds) == (3, 3), "rounds that nobody asked for are lowered"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"target": "nowhere"},
            "body.target: must be a target of this service (embedded, simulated), but got 'nowhere'",
        ),
        ({"record_bytes": "0"}, "body.record_bytes: must be a whole number from 1 to 67,108,864 bytes, but got 0"),
        ({"seconds": 0}, "body.seconds: must be a number above 0 and at most 86,400 seconds, but got 0.0"),
        ({"rounds": None}, "body.rounds: must be a valid integer, but got null"),
        ({"config": []}, "body.config: must be a JSON object, but got an array"),
        ({"config": {"lingr": 1}}, "body.config: librdkafka has no property 'lingr'"),
        ({"files": "a"}, "body.files: there is no such key; leave it out"),
        (
            {"config": {"acks": 1, "enable.idempotence": True}},
            "body.config: an idempotent producer needs acks=all (rule "
            "idempotence-needs-acks-all): enable.idempotence=true, acks=1",
        ),
        (
            {"config": {}},
            "body.config: a.properties must differ from the baseline to be compared, but both configure the "
            "producer in the same way",
        ),
        (
            {"min_gain": 1.1, "tolerance_ratio": 0.1},
            "body.min_gain: min_gain and tolerance_ratio exclude each other: the "
            "first asks for a gain, the second allows a loss; leave one of them out",
        ),
    ],
)
def test_a_wrong_value_of_a_verification_is_named_by_its_field(
    served: Serving, change: dict[str, Any], told: str
) -> None:
    before = {each["name"] for each in served.client.studies()}
    asked = {"file": "a.properties", "config": {"linger.ms": 20}, "target": "simulated", **change}
    refused = served.ask("POST", "/v1/verifications", json.dumps(asked).encode(), {"Content-Type": "application/json"})
    assert (refused.status, refused.json["detail"]) == (422, told)
    assert [f"{each['key']}: {each['detail']}" for each in refused.json["errors"]] == [told]
    assert {each["name"] for each in served.client.studies()} == before


def test_each_field_that_the_study_of_a_verification_decides_is_named(served: Serving) -> None:
    asked = {"file": "a.properties", "config": {"linger.ms": 20}, "study": "orders", "target": "lab", "seconds": 2}
    refused = served.ask("POST", "/v1/verifications", json.dumps(asked).encode(), {"Content-Type": "application/json"})
    assert [each["key"] for each in refused.json["errors"]] == ["body.target", "body.seconds"]


def test_the_body_of_a_verification_must_be_json(served: Serving) -> None:
    cut = served.ask("POST", "/v1/verifications", b"{", {"Content-Type": "application/json"})
    assert (cut.status, cut.json["detail"].partition(", but")[0]) == (422, "body: must be JSON")
    typed = served.ask("POST", "/v1/verifications", b"{}", {"Content-Type": "application/yaml"})
    assert typed.status == 415
    assert typed.json["detail"] == "the Content-Type must be application/json, but got 'application/yaml'"


def test_a_value_that_the_service_refuses_is_named_by_its_option_or_argument(served: Serving, tmp_path: Path) -> None:
    file = tmp_path / "producer.properties"
    file.write_text("linger.ms=20\nenable.idempotence=true\n")
    for words, told in (
        (("verify", str(file), "--target", "nowhere"), "--target: must be a target of this service"),
        (("predict", "orders", "--sweep", "linger.ms=1,1"), "--sweep: a sweep takes each value once, but got '1,1'"),
        (("predict", "orders", "--disk", "1TB", "--brokers", "1", "--replication", "2"), "--brokers: each replica of"),
        (("status", "a b"), "Invalid value: STUDY: must consist of letters"),
        (("recommend", "a b"), "Invalid value: STUDY: must consist of letters"),
        (("compare", "a b", "orders"), "Invalid value: A: must consist of letters"),
        (("compare", "orders", "a b"), "Invalid value: B: must consist of letters"),
    ):
        refused = at(served, *words)
        assert refused.code == 2, refused.err
        assert told in refused.complaint
    pair = at(served, "predict", "orders", "-X", "linger.ms")
    assert pair.code == 2
    assert "-X, pair 1: a pair must be written as key=value" in pair.err
    assert "KAFKA_TUNER_TOKEN" not in pair.err


def test_settings_of_a_confirmation_in_a_body_are_refused_and_not_ignored(served: Serving) -> None:
    refused = served.ask("POST", "/v1/studies/orders/confirm", b'{"rounds": 2}', {"Content-Type": "application/json"})
    assert refused.status == 422
    assert refused.json["detail"] == "a confirmation takes no body: send its settings as query parameters"


def test_a_token_with_the_role_read_may_do_none_of_these_actions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "studies"
    root.mkdir()
    monkeypatch.setenv(ROOT_VARIABLE, str(root))
    token = tuner("serve", "token", "add", "reader", "--role", str(TokenRole.READ)).out.strip()
    with serving(root, "--no-access-log") as found:
        bearer = {"Authorization": f"Bearer {token}"}
        for path in (
            "studies/x/confirm",
            "studies/x/sync",
            "studies/x/remove",
            "studies/x/fork?name=y",
            "verifications",
        ):
            assert found.ask("POST", f"/v1/{path}", b"", bearer).status == 403
        assert json.loads(found.ask("GET", "/v1/studies", headers=bearer).body)["studies"] == []
