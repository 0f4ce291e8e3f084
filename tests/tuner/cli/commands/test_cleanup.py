"""`tuner cleanup` asks before it deletes topics, and says so where nobody can answer."""

from collections.abc import Iterator

import pytest

from runners.clusters.cluster import RunningCluster
from runners.clusters.topics.leftovers import sweep_dead_runs
from tests.helpers.command import tuner
from tests.runners.clusters.owner import running_owner

pytestmark = pytest.mark.broker


@pytest.fixture
def dead(broker: RunningCluster) -> Iterator[str]:
    """The topic of a run that was killed."""
    with running_owner("topic", broker.bootstrap) as (owner, told):
        owner.kill()
        owner.wait()
    yield told["topic"]
    sweep_dead_runs(broker)


@pytest.mark.usefixtures("dead")
def test_without_a_terminal_cleanup_names_the_option_that_answers(broker: RunningCluster) -> None:
    for form in ((), ("--json",)):
        refused = tuner("cleanup", "--bootstrap", broker.bootstrap, "--remove", *form)
        assert refused.code == 2
        asked = "cleanup asks before it deletes 1 topic, but standard input is not a terminal; add --yes"
        assert asked in refused.complaint
        if form:
            assert refused.out == ""


def test_topics_are_only_listed_without_the_option_and_deleted_without_asking_with_it(
    broker: RunningCluster, dead: str
) -> None:
    listed = tuner("cleanup", "--bootstrap", broker.bootstrap, "--json").json
    assert [left["topic"] for left in listed["leftovers"] if left["state"] == "dead"] == [dead]
    assert listed["removed"] == []
    deleted = tuner("cleanup", "--bootstrap", broker.bootstrap, "--remove", "--yes", "--json")
    assert (deleted.code, deleted.json["removed"]) == (0, [dead])
