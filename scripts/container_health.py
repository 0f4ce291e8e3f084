"""The health check of the container image. What it checks depends on the container's command.

    tuner serve         /healthz must answer on the loopback address, at --port or 8080, with or without TLS
    tuner broker run    the broker must accept connections
    anything else       always healthy while it runs: a study that can't continue ends with an error

If KAFKA_TUNER_HEALTH_URL is set, the check ignores the command, and this URL must answer. Set the variable if the
service's config file sets the port, or if the container runs MLflow.

The check runs every half minute during measurements. So it must start within a few milliseconds and needs only the
standard library (`python -I -S`). It prints one line, which `docker inspect` shows; exit status 1 means unhealthy.
"""

import http.client
import os
import socket
import ssl
import sys
import urllib.request
from collections.abc import Sequence
from pathlib import Path

_COMMAND = Path("/proc/1/cmdline")
_URL_VARIABLE = "KAFKA_TUNER_HEALTH_URL"
_TIMEOUT_S = 4.0


def main() -> int:
    """Print the result of the check and return the exit status."""
    words = _COMMAND.read_bytes().decode(errors="replace").split("\0")
    try:
        print(look(words))
    except (OSError, http.client.HTTPException) as error:
        print(f"unhealthy: {error}")
        return 1
    return 0


def look(words: Sequence[str]) -> str:
    """Check whether the service that a command line has started is healthy.

    Args:
        words: The command line of the container's first process.

    Returns:
        A sentence about the healthy service.

    Raises:
        OSError: The service does not answer.
    """
    commands = words[words.index("tuner") + 1 :][:2] if "tuner" in words else []
    url = os.environ.get(_URL_VARIABLE)
    if url is None and commands[:1] == ["serve"] and commands != ["serve", "token"]:
        url = f"http://127.0.0.1:{_option(words, '--port', '8080')}/healthz"
        try:
            return _get(url)
        except (ConnectionError, http.client.HTTPException):  # somebody listens, but not for HTTP without TLS
            url = url.replace("http://", "https://")
    if url:
        return _get(url)
    if commands == ["broker", "run"]:
        host, _, port = _option(words, "--listen", "127.0.0.1:9092").rpartition(":")
        here = {"0.0.0.0": "127.0.0.1", "[::]": "::1"}.get(host, host.strip("[]"))
        socket.create_connection((here, int(port)), timeout=_TIMEOUT_S).close()
        return f"listens at {host}:{port}"
    return "runs"


def _get(url: str) -> str:
    """Send a GET request to a URL, and return a sentence about the answer.

    Raises:
        OSError: The URL is wrong, nobody answers there, or the answer is an error.
    """
    if not url.startswith(("http://", "https://")):
        raise OSError(f"{_URL_VARIABLE} must start with http:// or https://, but is {url}")
    # The URL is on this host, so the request must not go through a proxy, and the certificate is not checked: it has
    # the name that the service's clients use, not `localhost`.
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname = False
    trusting.verify_mode = ssl.CERT_NONE
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trusting))
    with opener.open(url, timeout=_TIMEOUT_S) as answer:
        return f"{url} answers {answer.status}"


def _option(words: Sequence[str], name: str, otherwise: str) -> str:
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == name:
            return following
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
    return otherwise


if __name__ == "__main__":
    sys.exit(main())
