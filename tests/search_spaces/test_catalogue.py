"""Tests of the shipped catalogue against the library, of the roles, and of finding names."""

import json

import pytest

from scripts.make_librdkafka_catalogue import DESCRIPTIONS, TARGET, as_json, describe
from search_spaces import MisplacedProperty, Role, UnknownProperty, is_secret, librdkafka

CATALOGUE = librdkafka().catalogue


def test_the_shipped_catalogue_equals_that_of_the_loaded_library() -> None:
    catalogue, descriptions = describe()
    shipped = TARGET.read_text(encoding="utf-8")
    assert shipped == as_json(catalogue), "run scripts/make_librdkafka_catalogue.py and read the diff"
    assert json.loads(DESCRIPTIONS.read_text(encoding="utf-8")) == descriptions


def test_the_program_loads_the_file_that_the_script_writes() -> None:
    assert list(TARGET.parent.glob("*.json")) == [TARGET]
    written = json.loads(TARGET.read_text(encoding="utf-8"))
    assert CATALOGUE.version == written["version"]
    assert all(row["name"] in CATALOGUE for row in written["properties"])


def test_aliases_resolve_to_the_canonical_entry() -> None:
    assert CATALOGUE.find("queue.buffering.max.ms").name == "linger.ms"
    assert CATALOGUE.find("acks") is CATALOGUE.find("request.required.acks")
    assert all(CATALOGUE.find(entry.name) is entry for entry in CATALOGUE)
    assert len(CATALOGUE) > 150


def test_a_name_in_both_lists_means_the_global_property() -> None:
    assert CATALOGUE.find("compression.type").default == "none"
    assert CATALOGUE.find("compression.codec").default == "none"


def test_the_choices_of_the_partitioner_are_known() -> None:
    choices = CATALOGUE.find("partitioner").choices
    assert choices is not None
    assert {"consistent_random", "murmur2_random", "random"} <= set(choices)


def test_a_misspelt_name_gets_similar_names_as_suggestions() -> None:
    with pytest.raises(UnknownProperty, match=r"'linger\.mss'.*linger\.ms") as raised:
        CATALOGUE.find("linger.mss")
    assert "linger.ms" in raised.value.suggestions


def test_a_name_unlike_any_other_gets_no_suggestion() -> None:
    with pytest.raises(UnknownProperty) as raised:
        CATALOGUE.find("xyzzy")
    assert raised.value.suggestions == ()


@pytest.mark.parametrize(
    ("java", "twin"),
    [
        ("buffer.memory", "queue.buffering.max.kbytes"),
        ("max.request.size", "message.max.bytes"),
        ("key.serializer", "leave it out"),
        ("ssl.truststore.location", "ssl.ca.location"),
    ],
)
def test_the_error_for_a_java_name_says_what_to_use_instead(java: str, twin: str) -> None:
    with pytest.raises(UnknownProperty, match=twin):
        CATALOGUE.find(java)


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("linger.ms", Role.PRODUCER),
        ("socket.send.buffer.bytes", Role.PRODUCER),
        ("bootstrap.servers", Role.CONNECTION),
        ("sasl.username", Role.CONNECTION),
        ("ssl.ca.location", Role.CONNECTION),
        ("broker.address.family", Role.CONNECTION),
        ("client.id", Role.CONNECTION),
        ("statistics.interval.ms", Role.RESERVED),
        ("dr_msg_cb", Role.RESERVED),
        ("ssl_key", Role.RESERVED),
        ("group.id", Role.RESERVED),
        ("transactional.id", Role.RESERVED),
    ],
)
def test_each_property_has_a_role_and_a_reason(name: str, role: Role) -> None:
    entry = CATALOGUE.find(name)
    assert entry.role is role
    assert entry.reason


def test_properties_that_the_client_no_longer_uses_are_reserved() -> None:
    descriptions = json.loads(DESCRIPTIONS.read_text(encoding="utf-8"))
    unused = [name for name, text in descriptions.items() if "No longer used" in text]
    assert {CATALOGUE.find(name).role for name in unused} == {Role.RESERVED}


def test_the_hidden_mock_properties_are_reserved() -> None:
    with pytest.raises(MisplacedProperty, match=r"test\.mock\.num\.brokers.*runner chooses the cluster"):
        CATALOGUE.find("test.mock.num.brokers")


@pytest.mark.parametrize(
    "name",
    [
        "sasl.password",
        "sasl.pasword",
        "ssl.key.password",
        "ssl.key.pem",
        "ssl.keystore.password",
        "ssl.keystore.key",
        "sasl.jaas.config",
        "sasl.oauthbearer.client.secret",
        "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "sasl.oauthbearer.assertion.private.key.pem",
        "sasl.oauthbearer.config",
    ],
)
def test_secrets_are_recognised(name: str) -> None:
    assert is_secret(name)


def test_knobs_and_public_names_are_no_secrets() -> None:
    assert not any(entry.secret for entry in CATALOGUE if entry.role is Role.PRODUCER)
    for name in (
        "ssl.ca.location",
        "ssl.key.location",
        "sasl.username",
        "sasl.oauthbearer.token.endpoint.url",
    ):
        assert not is_secret(name)
