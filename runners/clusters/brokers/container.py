"""A Kafka broker in a container, for hosts with a Docker engine."""

import contextlib
import importlib.util
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from runners.clusters.brokers.broker_layout import Node, broker_properties
from runners.clusters.brokers.existing import ExistingCluster
from runners.clusters.brokers.keeper_control import failure_lines
from runners.clusters.brokers.ports import free_ports
from runners.clusters.cluster import Cluster, RunningCluster
from runners.errors import BrokerDidNotStart, EmbeddedBrokerError, TargetError
from runners.reporting import Say, first_line, silent

if TYPE_CHECKING:
    from testcontainers.core.container import DockerContainer

DEFAULT_IMAGE = "apache/kafka:4.1.0"

_PORT, _CONTROLLER_PORT = 9092, 9093
_DATA = Path("/tmp/kraft")  # in the container
_START_TIMEOUT_S = 120.0  # until the broker answers, without the download of its image
_ASK_TIMEOUT_S = 3.0
_POLL_S = 0.2


class ContainerCluster(Cluster):
    """One Kafka broker in a container.

    The image of the container must read broker properties from `KAFKA_*` environment variables, as Kafka's own image
    does.

    If this process is killed, testcontainers' reaper (Ryuk) removes the container.
    """

    def __init__(
        self,
        image: str = DEFAULT_IMAGE,
        *,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        """Describe the cluster, without starting anything.

        Args:
            image: Name and tag of the image.
            properties: Broker properties that override our defaults.
        """
        self._image = image
        self._properties = dict(properties or {})
        self._container: DockerContainer | None = None

    @override
    def start(self, progress: Say = silent) -> RunningCluster:
        if importlib.util.find_spec("testcontainers") is None:
            raise EmbeddedBrokerError(
                "a broker in a container needs the package testcontainers, but it is not installed; "
                "install kafka-tuner with the extra `containers`"
            )
        from docker.errors import DockerException  # type: ignore[import-untyped]
        from testcontainers.core.container import DockerContainer

        progress(f"starting {self._image}")
        try:
            container = self._container = DockerContainer(self._image)
            host = container.get_docker_client().host()
            host = "127.0.0.1" if host == "localhost" else host
            # The broker advertises its address to clients, so the port on the host must be known before it starts.
            (port,) = free_ports("0.0.0.0", 1)
            container.with_bind_ports(_PORT, port).with_envs(**self._variables(f"{host}:{port}"))
            container.start()
            return self._await_answer(container, f"{host}:{port}")
        except DockerException as error:
            self.stop()
            raise EmbeddedBrokerError(
                f"a broker in a container needs a Docker engine and the image {self._image}, but "
                f"Docker reports: {first_line(error)}; start the engine, or check the name of the image"
            ) from None
        except BaseException:
            self.stop()
            raise

    @override
    def stop(self) -> None:
        if self._container is not None:
            from docker.errors import DockerException

            with contextlib.suppress(DockerException):  # the container, or the whole engine, is gone already
                self._container.stop()
            self._container = None

    def _variables(self, address: str) -> dict[str, str]:
        node = Node(1, "0.0.0.0", _PORT, _CONTROLLER_PORT, _DATA, _DATA / "log")
        wanted = {
            **broker_properties(node, [node], {}),
            "controller.quorum.voters": f"1@localhost:{_CONTROLLER_PORT}",
            "advertised.listeners": f"PLAINTEXT://{address}",
            **self._properties,
        }
        return {variable_name(name): value for name, value in wanted.items()}

    def _await_answer(self, container: Any, address: str) -> RunningCluster:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while True:
            try:
                found = ExistingCluster(address, timeout_s=_ASK_TIMEOUT_S).start()
                return RunningCluster(kind="container", connection=found.connection)
            except TargetError:
                # Retry also if the broker seems to refuse us. Until it listens, Docker's proxy accepts connections
                # and resets them.
                container.reload()
                ended = container.status != "running"
                if ended or time.monotonic() > deadline:
                    what = "its container ended" if ended else f"it did not answer within {_START_TIMEOUT_S:.0f} s"
                    lines = failure_lines(b"".join(container.get_logs()).decode(errors="replace"))
                    raise BrokerDidNotStart(
                        f"the broker of {self._image} does not answer at {address}: {what}; its log says:\n{lines}"
                    ) from None
            time.sleep(_POLL_S)


def variable_name(property_name: str) -> str:
    """Return the name of the environment variable from which Kafka's image reads a broker property.

    Source: docker/examples/README.md of Kafka, "Using Environment Variables".
    """
    return "KAFKA_" + property_name.replace("_", "__").replace("-", "___").replace(".", "_").upper()
