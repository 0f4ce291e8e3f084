"""A folder of studies may also hold experiments, which the service can't show, and folders with names of no study."""

import pytest

from tests.helpers.command import tuner
from tests.helpers.service_in_process import Service
from tests.helpers.small_experiment import ToldOfExperiment, run_small
from tests.helpers.stored_studies import write_study
from tuner.model.progress import Progress, StudyState
from tuner.storage.folder_files import write_progress


def test_an_experiment_is_called_one(service: Service) -> None:
    run_small(service.root / "small")

    for what in ("status", "front", "report"):
        refused = service.ask("GET", f"/v1/studies/small/{what}")
        assert refused.status == 404, refused.text
        assert refused.json["type"].endswith("/not-a-study")
        assert refused.json["detail"].startswith("small is an experiment, not a study; use ")
        assert str(service.root) not in refused.text
    shown = service.ask("GET", "/v1/studies/small").json
    assert (shown["state"], shown["progress"]) == ("recorded", None)
    assert shown["note"].startswith("small is an experiment, not a study")
    page = service.ask("GET", "/studies/small").text
    assert "small is an experiment, not a study" in page
    assert "Nothing has been measured yet" not in page


def test_an_experiment_is_predicted_from_as_without_a_service(service: Service) -> None:
    run_small(service.root / "small")
    here = tuner("predict", str(service.root / "small"), "--partitions", "6", "--json")
    assert here.code == 0, here.err

    found = service.ask("GET", "/v1/studies/small/prediction", b"partitions=6")
    assert (found.status, found.json) == (200, here.json)
    assert service.ask("GET", "/studies/small/what-if", b"partitions=6").status == 200


def test_the_list_has_the_newest_state_of_an_experiment(service: Service) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_small(service.root / "small", ToldOfExperiment(stop_after=8))

    def listed() -> list[str]:
        states = []
        for state in (StudyState.INTERRUPTED, StudyState.FAILED):
            write_progress(service.root / "small", Progress(state))
            (study,) = service.ask("GET", "/v1/studies").json["studies"]
            states.append(study["summary"]["experiment"]["state"])
        return states

    assert listed() == ["interrupted", "failed"]


def test_only_names_that_a_study_may_have_are_listed(service: Service) -> None:
    for name in ("clicks", "orders", "orders (copy)", "~orders", "payments", "größe", "x" * 101):
        write_study(service.root / name, trials=2, rounds=0)

    def all_pages() -> list[str]:
        found: list[str] = []
        query: bytes = b""
        while True:
            page = service.ask("GET", "/v1/studies", b"limit=1" + query).json
            found += [study["name"] for study in page["studies"]]
            if page["next"] is None:
                return found
            query = b"&cursor=" + page["next"].encode()

    assert all_pages() == ["clicks", "orders", "payments"]
