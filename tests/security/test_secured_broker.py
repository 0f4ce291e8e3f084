"""Clients of a secured broker: the permissions in docs/how-to/security.md are enough, and errors name the reason."""

import re
from pathlib import Path

import pytest

from runners.clusters.brokers.existing import ExistingCluster
from runners.clusters.topics.leftovers import find_leftovers, remove_leftovers
from runners.clusters.topics.owned_topics import RECORD_KIND, OwnedTopics
from runners.errors import TargetRefused
from runners.host_processes.clean_up import clean_up_lists
from search_spaces.connection.connection_config import ConnectionConfig
from tests.helpers.command import tuner
from tests.security.acls import (
    LIKE,
    OURS,
    READING,
    USEFUL,
    YOURS,
    bindings,
    commands,
    documented,
    grant,
    grant_only,
    rights,
    without,
)
from tests.security.secured import PASSWORD, TOPIC, Secured, principal, write_client

pytestmark = [pytest.mark.broker, pytest.mark.campaign]


def topics_of(secured: Secured, listener: str = "SCRAM") -> OwnedTopics:
    connection = ConnectionConfig.parse(secured.ways_in()[listener]).values
    return OwnedTopics(ExistingCluster(secured.address(listener), connection).start())


@pytest.mark.parametrize("listener", ["SCRAM", "PLAIN", "MUTUAL"])
def test_the_documented_permissions_are_enough(secured: Secured, listener: str) -> None:
    grant_only(secured.admin, rights(OURS, YOURS, user=principal(listener)))
    with topics_of(secured, listener) as topics:
        topic = topics.create()
        assert topics.end_offsets(topic) == (0,)
        assert topic.configs == {}, "DescribeConfigs is not one of the required permissions"
        assert topics.delete(topic) == ()
        assert not topics.describe(TOPIC).owned


def test_with_describeconfigs_the_limits_of_topics_are_known(secured: Secured) -> None:
    grant_only(secured.admin, rights(OURS, USEFUL))
    with topics_of(secured) as topics:
        assert topics.create(1, 1, {"max.message.bytes": "2000000"}).max_message_bytes == 2_000_000


def test_a_java_client_s_file_works_with_the_documented_permissions(secured: Secured, client_file: Path) -> None:
    grant_only(secured.admin, rights(OURS))
    file = write_client(client_file, secured.java_scram)
    ended = tuner(
        "bench", "--bootstrap", secured.address("SCRAM"), "--command-config", file, "--json",
        "--warmup", "0.2", "--seconds", "0.6", "-X", "enable.idempotence=true",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    counts = ended.json["counts"]
    assert counts["acknowledged"] == counts["stored"] > 0
    assert PASSWORD not in ended.out + ended.err
    assert not find_leftovers(secured.admin)


@pytest.mark.parametrize("permission", ["Create", "Write", "Delete"])
def test_each_permission_on_our_topics_is_needed_and_named(secured: Secured, permission: str) -> None:
    grant_only(secured.admin, without(rights(OURS), permission))
    topics = topics_of(secured)
    with pytest.raises(TargetRefused, match=rf"{permission} on topics that start with tuner-") as caught, topics:
        topics.create()
    (advised,) = commands(str(caught.value))
    grant(secured.admin, bindings(advised))
    with topics_of(secured) as again:
        again.delete(again.create())
    left = find_leftovers(secured.admin)
    # A topic that could not be deleted has a record, so that the next run deletes it.
    assert [each.run_id for each in left] == ([topics.run_id] if permission == "Delete" else [])
    assert [each.run_id for each in clean_up_lists(RECORD_KIND) if each.run_id == topics.run_id] == [
        each.run_id for each in left
    ]
    topics.close()
    assert not find_leftovers(secured.admin)


def test_with_create_alone_all_missing_permissions_are_named(secured: Secured) -> None:
    grant_only(secured.admin, without(without(rights(OURS), "Write"), "Delete"))
    topics = topics_of(secured)
    with pytest.raises(TargetRefused, match="Write and Delete on topics that start with tuner-") as caught, topics:
        topics.create()
    grant(secured.admin, [each for command in commands(str(caught.value)) for each in bindings(command)])
    topics.close()
    assert not find_leftovers(secured.admin)


def test_writing_to_a_named_topic_needs_one_permission(secured: Secured) -> None:
    grant_only(secured.admin, [])
    topics = topics_of(secured)
    with pytest.raises(TargetRefused, match=rf"Write on topic {TOPIC}\)") as caught:
        topics.describe(TOPIC)
    (advised,) = commands(str(caught.value))
    assert bindings(advised) == rights(YOURS), "the advised rights are exactly the documented ones"
    grant(secured.admin, bindings(advised))
    assert topics.describe(TOPIC).partitions == 1


@pytest.mark.parametrize("permission", ["Describe", "DescribeConfigs"])
def test_copying_settings_needs_exactly_the_documented_permissions(secured: Secured, permission: str) -> None:
    copied = [re.sub("--topic orders", f"--topic {TOPIC}", command) for command in documented(LIKE)]
    wanted = [each for command in copied for each in bindings(command)]
    grant_only(secured.admin, [*rights(OURS), *without(wanted, permission)])
    topics = topics_of(secured)
    with pytest.raises(TargetRefused, match=rf"\b{permission}\b.*on topic {TOPIC}") as caught, topics:
        topics.create(like=TOPIC)
    grant(secured.admin, [each for command in commands(str(caught.value)) for each in bindings(command)])
    with topics_of(secured) as topics:
        assert topics.create(like=TOPIC).partitions == 1
    remove_leftovers(secured.admin, find_leftovers(secured.admin))


def test_reading_needs_exactly_the_documented_permission(secured: Secured, client_file: Path) -> None:
    file = write_client(client_file, secured.scram)
    words = ("consume", TOPIC, "--bootstrap", secured.address("SCRAM"), "--command-config", str(file), "--json")
    read = [re.sub("--topic orders", f"--topic {TOPIC}", command) for command in documented(READING)]
    wanted = [each for command in read for each in bindings(command)]
    grant_only(secured.admin, [])
    refused = tuner(*words, "--start", "tail", "--seconds", "1")
    assert refused.code == 3
    assert re.search(rf"\bRead\b.*on topic {TOPIC}", refused.complaint)
    grant_only(secured.admin, wanted)
    found = tuner(*words, "--start", "tail", "--seconds", "1").json
    assert found["counts"]["taken"] == 0
    assert PASSWORD not in refused.err + str(found)


def test_doctor_reports_permissions_and_names_missing_ones(secured: Secured, client_file: Path) -> None:
    file = write_client(client_file, secured.mutual())
    words = ["doctor", "--bootstrap", secured.address("MUTUAL"), "--command-config", file, "--no-load-test", "--json"]
    grant_only(secured.admin, rights(YOURS, user=principal("MUTUAL")))
    named = tuner(*words, "--topic", TOPIC)
    found = {each["name"]: each for each in named.json["findings"]}
    assert (named.code, found["permissions"]["state"]) == (0, "ok")
    assert found["permissions"]["detail"].startswith(f"you may write to the topic {TOPIC}")
    ours = tuner(*words)
    found = {each["name"]: each for each in ours.json["findings"]}
    assert (ours.code, found["cluster"]["state"], found["permissions"]["state"]) == (3, "ok", "bad")
    assert "Create on topics that start with tuner-" in found["permissions"]["detail"]
    assert "User:SUBJECT-OF-YOUR-CERTIFICATE" in found["permissions"]["detail"]


KEPT_OUT = {
    "wrong password": ("SCRAM", {"sasl.password": "guess"}, r"uthentication failed.*check the user name, the password"),
    "wrong password, PLAIN": (
        "PLAIN",
        {"sasl.password": "guess"},
        r"Invalid username or password.*check the user name",
    ),
    "unknown user": ("SCRAM", {"sasl.username": "nobody"}, r"uthentication failed.*check the user name, the password"),
    "wrong mechanism": ("SCRAM", {"sasl.mechanism": "PLAIN"}, r"supported mechanisms: SCRAM.*sasl\.mechanism"),
    "unknown CA": ("SCRAM", {"ssl.ca.location": "other-ca.pem"}, r"certificate is rejected.*ssl\.ca\.location"),
    "no CA": ("SCRAM", {"ssl.ca.location": ""}, r"certificate is rejected.*ssl\.ca\.location"),
    "CA file missing": ("SCRAM", {"ssl.ca.location": "nope.pem"}, r"ssl\.ca\.location must name a file.*nope\.pem"),
    "expired": ("EXPIRED", {}, r"certificate has expired; have the broker's certificate renewed"),
    "other address": ("ELSEWHERE", {}, r"address mismatch.*an address in the certificate"),
    "no certificate": (
        "MUTUAL",
        {"ssl.certificate.location": "", "ssl.key.location": ""},
        r"requires a client certificate",
    ),
    "client expired": ("MUTUAL", {"": "expired"}, r"requires a client certificate.*not have expired"),
    "client of another CA": ("MUTUAL", {"": "stranger"}, r"requires a client certificate.*trust the CA"),
    "plaintext to TLS": ("SCRAM", {"security.protocol": "plaintext"}, r"may require TLS or SASL.*security\.protocol"),
    "plaintext to SASL": ("PLAIN", {"security.protocol": "plaintext"}, r"may require TLS or SASL.*security\.protocol"),
    "TLS to plaintext": ("PLAIN", {"security.protocol": "sasl_ssl"}, r"may be plaintext.*security\.protocol"),
    "TLS without a login": ("SCRAM", {"security.protocol": "ssl"}, r"may require TLS or SASL.*security\.protocol"),
}


def kept_out(secured: Secured, case: str) -> tuple[str, dict[str, str], str]:
    """Return the address, the client properties and the expected error of a case."""
    listener, changes, said = KEPT_OUT[case]
    properties = dict(secured.ways_in().get(listener, secured.tls()))
    if name := changes.get(""):
        properties = secured.mutual(name)
    properties |= {key: value for key, value in changes.items() if key}
    place = properties.get("ssl.ca.location", "")
    if place and not Path(place).is_absolute():
        properties["ssl.ca.location"] = str(secured.keys / place)
    return secured.address(listener), {key: value for key, value in properties.items() if value}, said


@pytest.mark.parametrize("case", KEPT_OUT)
def test_a_rejected_client_gets_the_reason(secured: Secured, case: str) -> None:
    address, properties, said = kept_out(secured, case)
    with pytest.raises(TargetRefused, match=said) as caught:
        ExistingCluster(address, ConnectionConfig.parse(properties).values).start()
    assert "\n" not in str(caught.value)
    assert PASSWORD not in str(caught.value)
