"""The container image's health check: is what this container was started for at work?

    tuner serve         /healthz answers on loopback, at --port or 8080
    tuner broker run    the broker listens
    anything else       it runs: a study that can't go on ends, and says why

Where KAFKA_TUNER_HEALTH_URL is set, that is asked, whatever runs: for a port of the configuration file, or MLflow's.

It runs every half minute beside measurements, so it starts in a few milliseconds and needs the standard library only
(`python -I -S`). Its one line is what `docker inspect` shows; exit status 1 means ill.
"""

import http.client
import os
import socket
import sys
import urllib.request
from collections.abc import Sequence
from pathlib import Path

_COMMAND = Path("/proc/1/cmdline")
_URL_VARIABLE = "KAFKA_TUNER_HEALTH_URL"
_TIMEOUT_S = 4.0


def main() -> int:
    """Look; the exit status."""
    words = _COMMAND.read_bytes().decode(errors="replace").split("\0")
    try:
        print(look(words))
    except (OSError, http.client.HTTPException) as error:
        print(f"ill: {error}")
        return 1
    return 0


def look(words: Sequence[str]) -> str:
    """Ask what the command line stands for.

    Args:
        words: Of the container's first process.

    Returns:
        What was found.

    Raises:
        OSError: It does not answer.
    """
    verbs = words[words.index("tuner") + 1 :][:2] if "tuner" in words else []
    url = os.environ.get(_URL_VARIABLE)
    if url is None and verbs[:1] == ["serve"] and verbs != ["serve", "token"]:
        url = f"http://127.0.0.1:{_option(words, '--port', '8080')}/healthz"
    if url:
        # Never by way of a proxy: it asks its own host.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(_checked(url), timeout=_TIMEOUT_S) as answer:
            return f"{url} answers {answer.status}"
    if verbs == ["broker", "run"]:
        host, _, port = _option(words, "--listen", "127.0.0.1:9092").rpartition(":")
        here = {"0.0.0.0": "127.0.0.1", "[::]": "::1"}.get(host, host.strip("[]"))
        socket.create_connection((here, int(port)), timeout=_TIMEOUT_S).close()
        return f"listens at {host}:{port}"
    return "runs"


def _checked(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise OSError(f"{_URL_VARIABLE} must begin with http:// or https://, but is {url}")
    return url


def _option(words: Sequence[str], name: str, otherwise: str) -> str:
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == name:
            return following
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
    return otherwise


if __name__ == "__main__":
    sys.exit(main())
