"""A grid of sensible values that anybody can walk through: the measure for samplers.

1,260 configs: 7 x 4 x 5 x 3 x 3 values of five knobs; the other knobs have the client's defaults. The order is fixed
and says nothing: walk it in a random one.
"""

import itertools
from typing import Final

from benchmarks.problems.nearest import Nearest
from search_spaces.domains import Domain, Numbers, ParamValue, Words
from search_spaces.producer_config import ProducerConfig
from search_spaces.space import SearchSpace

LINGER_MS: Final = ("0", "0.1", "0.5", "2", "5", "20", "100")
BATCH_BYTES: Final = ("16384", "65536", "262144", "1000000")
CODECS: Final = (
    ("none", "-1"),
    ("snappy", "-1"),
    ("lz4", "0"),
    ("zstd", "1"),
    ("gzip", "1"),
)
IN_FLIGHT: Final = ("1", "5", "1000000")
QUEUE_RECORDS: Final = ("10000", "100000", "500000")
QUEUE_KBYTES: Final = ("16384", "131072", "1048576")
"""In place of the queue's records, where a space searches its bytes: for records of 100 kB, say."""

_STICKY_MS: Final = "sticky.partitioning.linger.ms"
_MOST_STICKY_MS: Final = 200.0


def published_grid(space: SearchSpace) -> tuple[ProducerConfig, ...]:
    """The configs of the grid, each in `space` and each once, always in the same order.

    Values that the space does not have are moved to its nearest; where two become one by that, or a knob is not
    searched, the grid is smaller: 1,155 configs for records of 10 B, 945 for 100 kB.
    """
    domains = {parameter.name: parameter.domain for parameter in space.parameters}
    usual = space.params_of(ProducerConfig.parse(space.fixed)) or {}
    found: dict[ProducerConfig, None] = {}
    points = itertools.product(LINGER_MS, BATCH_BYTES, CODECS, IN_FLIGHT, zip(QUEUE_RECORDS, QUEUE_KBYTES, strict=True))
    for linger, batch, (codec, level), in_flight, (records, kbytes) in points:
        values = {
            "linger.ms": linger,
            "batch.size": batch,
            "compression.type": codec,
            f"compression.level.{codec}": level,
            "max.in.flight.requests.per.connection": in_flight,
            "queue.buffering.max.messages": records,
            "queue.buffering.max.kbytes": kbytes,
            _STICKY_MS: f"{min(2 * float(linger), _MOST_STICKY_MS):.0f}",
        }
        wanted = {**usual, **{name: _answer(domains[name], text) for name, text in values.items() if name in domains}}
        found[space.draw(Nearest(wanted))] = None
    return tuple(found)


def _answer(domain: Domain, text: str) -> ParamValue:
    answer = domain.answer(text)
    if answer is not None:
        return answer
    if isinstance(domain, Words):
        return domain.values[0]
    if isinstance(domain, Numbers):
        return domain.first + min(range(len(domain.values)), key=lambda at: abs(float(domain.values[at]) - float(text)))
    return min(domain.high, max(domain.low, float(text)))
