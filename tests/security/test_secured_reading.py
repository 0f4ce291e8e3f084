"""`tuner inspect` and `tuner sample` read a topic with the permissions that the documents name, through every login."""

from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Producer

from runners.clusters.topics.topic_admin import TopicAdmin
from tests.helpers.command import tuner
from tests.helpers.waiting import eventually
from tests.security.acls import READING, bindings, commands, documented, grant, grant_only, rights
from tests.security.secured import PASSWORD, Secured, principal, write_client

pytestmark = [pytest.mark.broker, pytest.mark.campaign]
ORDERS: Final = "orders"
OTHERS: Final = "payments"


@pytest.fixture(scope="module", autouse=True)
def filled(secured: Secured) -> None:
    """Two topics with records."""
    admin = TopicAdmin(secured.admin.connection)
    producer = Producer({**secured.admin.connection, "linger.ms": 0})
    for topic in (ORDERS, OTHERS):
        admin.create(topic, 1, 1, {})
        for number in range(20):
            producer.produce(topic, f"order {number}".encode())
            assert producer.flush(30) == 0


@pytest.mark.parametrize(
    "listener", ["SCRAM", *(pytest.param(each, marks=pytest.mark.long) for each in ("PLAIN", "MUTUAL"))]
)
def test_batches_are_read_through_every_login(secured: Secured, client_file: Path, listener: str) -> None:
    grant_only(secured.admin, rights(READING, user=principal(listener)))
    at = ("--bootstrap", secured.address(listener), "--command-config")
    file = write_client(client_file, secured.ways_in()[listener])
    ran = tuner("inspect", ORDERS, *at, file, "--json")
    assert ran.code == 0, ran.err
    assert ran.json["traffic"]["records"] == 20
    assert PASSWORD not in ran.out + ran.err
    ranked = tuner("inspect", "--all", *at, file, "--json")
    assert [each["topic"] for each in ranked.json["topics"]] == [ORDERS]


@pytest.mark.parametrize("name", ["inspect", "sample"])
def test_a_missing_permission_is_named_with_the_command_to_grant_it(
    secured: Secured, client_file: Path, name: str
) -> None:
    described = [each for command in documented(READING) for each in bindings(command.replace("Read", "Describe"))]
    file = write_client(client_file, secured.scram)
    words = (name, ORDERS, "--bootstrap", secured.address("SCRAM"), "--command-config", file)
    for granted in ([], described):
        grant_only(secured.admin, granted)
        ran = tuner(*words)
        assert ran.code == 3
        assert "Read" in ran.complaint
        (command,) = commands(ran.complaint)
        grant(secured.admin, bindings(command, principal("SCRAM")))
        eventually(lambda: tuner(*words).code == 0)


def test_topics_that_may_not_be_read_are_named(secured: Secured, client_file: Path) -> None:
    described = [
        each
        for command in documented(READING)
        for each in bindings(command.replace("Read", "Describe").replace(ORDERS, OTHERS))
    ]
    grant_only(secured.admin, [*rights(READING), *described])
    file = write_client(client_file, secured.scram)
    ran = tuner("inspect", "--all", "--bootstrap", secured.address("SCRAM"), "--command-config", file, "--json")
    assert ran.code == 0, ran.err
    assert [each["topic"] for each in ran.json["topics"]] == [ORDERS]
    assert ran.json["unread"] == {OTHERS: "the Read permission is missing"}
