"""The progress of a study never contradicts the study's state in the queue of the service."""

import pytest

from tests.helpers.service_in_process import Service
from tests.helpers.serving import study_file
from tests.helpers.stored_studies import write_study
from tuner.service.queue.job import JobState, Submission

NO_PROCESS = "no process is running this study"


@pytest.mark.parametrize("state", [JobState.QUEUED, JobState.PAUSED, JobState.CANCELLED])
def test_a_study_that_no_process_runs_has_the_state_of_the_queue(service: Service, state: JobState) -> None:
    write_study(service.root / "overnight", trials=2, rounds=0, facts={"finished_at": None})

    found = service.ask("GET", "/v1/studies/overnight/status").json
    assert found["state"] == "not started", "the study was not submitted, so there is no other state"
    service.queue.submit(Submission("overnight", "1", "study: overnight", ("simulated",)))
    if state is not JobState.QUEUED:
        service.queue.move("overnight", state)
    shown = service.ask("GET", "/v1/studies/overnight").json
    assert (shown["state"], shown["progress"]["state"]) == (state, state)
    assert service.ask("GET", "/v1/studies/overnight/status").json["state"] == state
    text = service.ask("GET", "/v1/studies/overnight/status", b"format=text").text
    assert text.startswith(f"overnight: {state}\n")
    assert NO_PROCESS not in text


def test_a_client_that_wants_a_new_study_changes_no_other_one(service: Service) -> None:
    text = study_file("lab-1000")
    other, longer = f"{text}space: {{linger.ms: off}}\n", text.replace("trials: 4", "trials: 9")

    def submitted(text: str, *, wants_new: bool = True) -> int:
        headers = {"content-type": "application/yaml", **({"if-none-match": "*"} if wants_new else {})}
        return service.ask("POST", "/v1/studies", body=text.encode(), headers=headers).status

    assert submitted(text) == 201
    assert submitted(text) == 200
    assert submitted(other) == 409
    assert service.queue.study_file("lab-1000") == text
    assert submitted(longer) == 200, "its trials depend on the same settings"
    assert service.queue.study_file("lab-1000") == longer
    service.queue.claim("test", at_once=1, lease_s=60)
    assert submitted(text) == 409, "it is running"
    assert submitted(longer) == 200
    service.queue.move("lab-1000", JobState.FAILED)
    assert submitted(other, wants_new=False) == 200, "a client that names the study may change it"
    assert service.queue.study_file("lab-1000") == other


def test_a_complete_study_has_finished(service: Service) -> None:
    write_study(service.root / "overnight", trials=2, rounds=0)
    service.queue.submit(Submission("overnight", "1", "study: overnight", ("simulated",)))
    service.queue.claim("test", at_once=1, lease_s=60)
    service.queue.move("overnight", JobState.COMPLETE)
    shown = service.ask("GET", "/v1/studies/overnight").json
    assert (shown["state"], shown["progress"]["state"]) == ("complete", "finished")


@pytest.mark.parametrize("running", [False, True])
@pytest.mark.parametrize("command", ["confirm", "sync"])
def test_cancelling_a_confirmation_or_a_copy_keeps_the_study(service: Service, command: str, running: bool) -> None:
    write_study(service.root / "overnight", trials=2, rounds=0)
    service.queue.submit(Submission("overnight", "1", study_file("overnight"), ("simulated",)))
    service.queue.claim("test", at_once=1, lease_s=60)
    service.queue.move("overnight", JobState.COMPLETE)

    for _ in range(2):
        assert service.ask("POST", f"/v1/studies/overnight/{command}").json["state"] == "queued"
        if running:
            service.queue.claim("test", at_once=1, lease_s=60)
        told = service.ask("POST", "/v1/studies/overnight/cancel").json
        if running:
            assert told["state"] == "cancelling"
            service.queue.move("overnight", JobState.CANCELLED, owner="test")  # as the supervisor does
            told = service.ask("GET", "/v1/studies/overnight").json
        assert (told["state"], told["progress"]["state"]) == ("complete", "finished")


def test_a_study_that_is_pausing_is_resumed_only_after_it_has_paused(service: Service) -> None:
    service.queue.submit(Submission("overnight", "1", study_file("overnight"), ("simulated",)))
    assert service.queue.claim("a", at_once=1, lease_s=60.0)
    service.queue.move("overnight", JobState.PAUSING)
    refused = service.ask("POST", "/v1/studies/overnight/resume")
    assert refused.status == 409
    assert refused.json["detail"].endswith("but overnight is pausing; wait until it is paused")
    unknown = service.ask("POST", "/v1/studies/nobody/pause")
    assert unknown.json["detail"] == (
        "no study 'nobody' was submitted to this service; check the name, or submit the study first"
    )
