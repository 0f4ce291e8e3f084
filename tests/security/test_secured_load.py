"""Both clients send a load through every way to log in, and say why they are kept out."""

from collections.abc import Callable, Iterator
from typing import Final

import pytest

from runners.clusters.brokers.existing import ExistingCluster
from runners.clusters.cluster import RunningCluster
from runners.clusters.topics.owned_topics import OwnedTopics, Topic
from runners.errors import JavaNotFound, TargetRefused
from runners.java_client.java_runner import JavaRunner
from runners.java_client.kept_jvm import end_kept_jvms
from runners.java_runtime.java import find_java
from runners.librdkafka.librdkafka_runner import LibrdkafkaRunner
from runners.runner import Runner
from runners.workload import RecordSizes, Workload
from search_spaces.client import Client, java, librdkafka
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.connection.connection_config import ConnectionConfig
from tests.security.acls import OURS, grant_only, rights
from tests.security.secured import PASSWORD, TOPIC, Secured, principal

pytestmark = pytest.mark.broker

WORKLOAD: Final = Workload(RecordSizes.fixed(100), warmup_s=0.2, measured_s=0.3, rate_records_per_s=1_000)
RUNNERS: Final[dict[str, tuple[Client, Callable[[RunningCluster, Topic], Runner]]]] = {
    "librdkafka": (librdkafka(), LibrdkafkaRunner),
    "java": (java(), lambda cluster, topic: JavaRunner(cluster, topic, warms_up=False)),
    "java 3.9.1": (java("3.9.1"), lambda cluster, topic: JavaRunner(cluster, topic, warms_up=False)),
}


@pytest.fixture(scope="module", autouse=True)
def no_java_process_is_left() -> Iterator[None]:
    yield
    end_kept_jvms()


@pytest.mark.campaign
@pytest.mark.parametrize("runner", ["librdkafka", "java", pytest.param("java 3.9.1", marks=pytest.mark.long)])
@pytest.mark.parametrize("listener", ["SCRAM", "PLAIN", "MUTUAL"])
def test_every_client_sends_through_every_login(secured: Secured, listener: str, runner: str) -> None:
    client, on = RUNNERS[runner]
    grant_only(secured.admin, rights(OURS, user=principal(listener)))
    connection = ConnectionConfig.parse(secured.ways_in()[listener]).values
    cluster = ExistingCluster(secured.address(listener), connection).start()
    with OwnedTopics(cluster) as topics:
        seen = on(cluster, topics.create()).run(ProducerConfig.parse({"acks": "all"}, client=client), WORKLOAD)
    assert seen.counts.differences() == ()
    assert seen.counts.stored == seen.counts.acknowledged > 200


@pytest.mark.long
@pytest.mark.parametrize(
    ("listener", "given", "said"),
    [
        pytest.param("SCRAM", {"sasl.password": "wrong"}, "SaslAuthenticationException", marks=pytest.mark.campaign),
        pytest.param("PLAIN", {"sasl.username": "nobody"}, "SaslAuthenticationException", marks=pytest.mark.long),
        pytest.param(
            "SCRAM", {"ssl.ca.location": "other-ca.pem"}, "SslAuthenticationException", marks=pytest.mark.long
        ),
    ],
)
def test_the_java_client_says_why_it_is_kept_out(
    secured: Secured, listener: str, given: dict[str, str], said: str
) -> None:
    properties = {**secured.ways_in()[listener], **given}
    if "ssl.ca.location" in given:
        properties["ssl.ca.location"] = str(secured.keys / given["ssl.ca.location"])
    connection = {**ConnectionConfig.parse(properties).values, "bootstrap.servers": secured.address(listener)}
    topic = Topic(TOPIC, 1, 1, owned=False)
    runner = JavaRunner(RunningCluster("existing", connection), topic, warms_up=False)
    with pytest.raises(TargetRefused, match=said) as caught:
        runner.run(ProducerConfig.parse({}, client=java()), WORKLOAD)
    assert PASSWORD not in str(caught.value)


def test_the_java_client_names_the_missing_permission(secured: Secured) -> None:
    grant_only(secured.admin, [])
    connection = ConnectionConfig.parse(secured.scram).values
    cluster = ExistingCluster(secured.address("SCRAM"), connection).start()
    runner = JavaRunner(cluster, Topic(TOPIC, 1, 1, owned=False), warms_up=False)
    with pytest.raises(TargetRefused, match="permission to write to the topic"):
        runner.run(ProducerConfig.parse({}, client=java()), WORKLOAD)


def test_an_old_client_that_can_not_log_in_on_this_java_says_so(secured: Secured) -> None:
    grant_only(secured.admin, rights(OURS))
    connection = ConnectionConfig.parse(secured.scram).values
    cluster = ExistingCluster(secured.address("SCRAM"), connection).start()
    runner = JavaRunner(cluster, Topic(TOPIC, 1, 1, owned=False), warms_up=False)
    if find_java().major < 24:
        pytest.skip("this Java runtime still has what old clients need")
    with pytest.raises(JavaNotFound, match=r"kafka-clients before 3\.9\.1 can log in with SASL only on Java below 24"):
        runner.run(ProducerConfig.parse({}, client=java("2.8.2")), WORKLOAD)


def test_an_old_client_sends_with_a_certificate(secured: Secured) -> None:
    grant_only(secured.admin, rights(OURS, user=principal("MUTUAL")))
    connection = ConnectionConfig.parse(secured.mutual()).values
    cluster = ExistingCluster(secured.address("MUTUAL"), connection).start()
    with OwnedTopics(cluster) as topics:
        runner = JavaRunner(cluster, topics.create(), warms_up=False)
        seen = runner.run(ProducerConfig.parse({}, client=java("2.8.2")), WORKLOAD)
    assert seen.counts.differences() == ()
