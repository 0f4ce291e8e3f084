"""A grid of sensible configs, with which samplers are compared.

The grid has 1,260 configs: 7 x 4 x 5 x 3 x 3 values of five knobs. The other knobs have the client's defaults. The
order of the configs is fixed but has no meaning, so try them in a random order.
"""

import itertools
from typing import Final

from benchmarks.problems.nearest import Nearest
from search_spaces.client_facts.domains import Domain, NumberList, ParamValue, WordList
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.space.search_space import SearchSpace

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
"""The values of `queue.buffering.max.kbytes`. They replace `QUEUE_RECORDS` in spaces that search the queue's bytes.

Such a space is, for example, that of records of 100 kB.
"""

_STICKY_MS: Final = "sticky.partitioning.linger.ms"
_MOST_STICKY_MS: Final = 200.0


def sensible_grid(space: SearchSpace) -> tuple[ProducerConfig, ...]:
    """Return the configs of the grid that fit a space, without duplicates and always in the same order.

    A value outside the space is replaced by the nearest value in the space. The grid has fewer configs if this makes
    two configs equal, or if the space does not search a knob: 1,155 for records of 10 B, and 945 for 100 kB.
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
    """Return the value of a domain that is nearest to a property's text."""
    answer = domain.answer(text)
    if answer is not None:
        return answer
    if isinstance(domain, WordList):
        return domain.values[0]
    if isinstance(domain, NumberList):
        return domain.first + min(range(len(domain.values)), key=lambda at: abs(float(domain.values[at]) - float(text)))
    return min(domain.high, max(domain.low, float(text)))
