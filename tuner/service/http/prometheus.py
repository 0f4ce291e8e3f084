"""Metrics of the running service, in the text format that Prometheus reads.

Source: "Exposition formats" of the Prometheus documentation, text format 0.0.4.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Final

PROMETHEUS_TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"
_PREFIX: Final = "kafka_tuner_"
_BOUNDS_S: Final = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)

Labels = tuple[tuple[str, str], ...]


class Requests:
    """Counts requests by route, method and status, and records how long they took. Use it in one event loop."""

    def __init__(self) -> None:
        self._counts: Counter[Labels] = Counter()
        self._buckets: defaultdict[str, list[int]] = defaultdict(lambda: [0] * (len(_BOUNDS_S) + 1))
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def note(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request.

        Args:
            route: The pattern of the route, such as `/v1/studies/{study}`. The pattern contains no study's
                name, so that the number of labels stays small.
            method: The HTTP method.
            status: The HTTP status.
            seconds: The time from the first byte of the request to the last byte of the response.
        """
        labels = (("method", method), ("route", route), ("status", str(status)))
        self._counts[labels] += 1
        self._buckets[route][bisect_left(_BOUNDS_S, seconds)] += 1
        self._seconds[route] += seconds

    def lines(self) -> Iterable[str]:
        """Yield the lines of the text format."""
        yield from family("http_requests_total", "counter", "Requests that were answered.", self._counts)
        name = f"{_PREFIX}http_request_seconds"
        yield f"# HELP {name} Seconds from the first byte of a request to the last byte of its response."
        yield f"# TYPE {name} histogram"
        for route, buckets in sorted(self._buckets.items()):
            totals = list(accumulate(buckets))
            for bound, total in zip((*map(str, _BOUNDS_S), "+Inf"), totals, strict=True):
                yield f"{name}_bucket{_labels((('route', route), ('le', bound)))} {total}"
            yield f"{name}_sum{_labels((('route', route),))} {self._seconds[route]:.6f}"
            yield f"{name}_count{_labels((('route', route),))} {totals[-1]}"


def family(name: str, kind: str, text: str, values: Mapping[Labels, float]) -> Iterable[str]:
    """Yield the lines of one metric, with its value for each set of labels."""
    yield f"# HELP {_PREFIX}{name} {text}"
    yield f"# TYPE {_PREFIX}{name} {kind}"
    for labels, value in sorted(values.items()):
        yield f"{_PREFIX}{name}{_labels(labels)} {value:g}"


def _labels(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
