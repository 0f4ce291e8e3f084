"""Makes the reference of the knobs that a search may change, and of all producer properties of the clients."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from search_spaces import Client, Property, java, librdkafka
from search_spaces.client_facts.domains import Domain, Range
from search_spaces.client_facts.knobs import Knob, Stage
from search_spaces.client_facts.sizes import DEFAULT_MAX_MESSAGE_BYTES, Sizes

from .markdown import capital, code, entry, listed, sentence, together

_DESCRIPTIONS: Final = Path(__file__).parent / "descriptions"
"""What the clients say of each of their properties, as the scripts that make the catalogues write it."""
_SIZES: Final = (100, 1_000, 10_000, 100_000)
_QUEUE_BYTES: Final = 2**30
_STAGES: Final[Mapping[Stage, str]] = {
    Stage.FIRST: "from the beginning",
    Stage.SECOND: "once the first knobs have been tried",
    Stage.LAST: "last",
}


def searched() -> str:
    """Return the knobs of librdkafka with their ranges, in Markdown."""
    return together(*(_knob(librdkafka(), knob, "knob") for knob in librdkafka().knobs))


def searched_in_java() -> str:
    """Return the knobs of the Java client with their ranges, in Markdown."""
    return together(*(_knob(java(), knob, "java-knob") for knob in java().knobs))


def properties_in_java() -> str:
    """Return all properties that a config of the Java client may have, in Markdown."""
    return together(*(_property(java(), name, "java-") for name in sorted(java().producer_names)))


def properties() -> str:
    """Return all properties that a config of librdkafka may have, in Markdown."""
    return together(*(_property(librdkafka(), name) for name in sorted(librdkafka().producer_names)))


def _knob(client: Client, knob: Knob, prefix: str) -> str:
    return entry(
        knob.name,
        _description(client, knob.sets),
        _range(client, knob),
        f"*Client's default:* {_default(client.catalogue.find(knob.sets))}. *Searched:* {_when(client, knob)}.",
        f"*Source:* {sentence(knob.source)}",
        anchor=f"{prefix}-{knob.name}",
    )


def _range(client: Client, knob: Knob) -> str:
    """Return the range of a knob in Markdown, or a list of ranges if the range depends on the record size."""
    texts: dict[str, list[int]] = {}
    for size in _SIZES:
        texts.setdefault(_domain(knob.domain(_sizes(client, size)), knob.unit), []).append(size)
    logarithmic = getattr(knob.domain(_sizes(client, _SIZES[0])), "log", False)
    opening = "*Range, searched on a logarithmic scale:*" if logarithmic else "*Range:*"
    if len(texts) == 1:
        return f"{opening} {next(iter(texts))}."
    return "\n".join([opening, "", *(f"- records of {_words(sizes)}: {text}" for text, sizes in texts.items())])


def _domain(domain: Domain, unit: str) -> str:
    """Return the values that a knob may have, in words."""
    if not isinstance(domain, Range):
        return listed(domain.text.split(", "))
    text = f"{domain.low:,.10g} to {domain.high:,.10g}{f' {unit}' if unit else ''}"
    return text if domain.special is None else f"{text}, or {domain.special:,.10g}"


def _when(client: Client, knob: Knob) -> str:
    """Return in words from when on a search changes a knob that the study file does not name, and for which sizes."""
    default = client.effective_values({})
    sizes = [size for size in _SIZES if knob.searched(_sizes(client, size), default)]
    if not sizes:
        return "only if the study file names it"
    where = "" if len(sizes) == len(_SIZES) else f", for records of {_words(sizes)}"
    return f"{_STAGES[knob.stage]}{where}"


def _words(sizes: list[int]) -> str:
    shown = [f"{size:,} B" for size in sizes]
    return f"{', '.join(shown[:-1])} or {shown[-1]}" if len(shown) > 1 else shown[0]


def _sizes(client: Client, record_bytes: int) -> Sizes:
    framing_bytes = client.limits.framing_bytes(record_bytes, 0)
    return Sizes(record_bytes, 0, 3, DEFAULT_MAX_MESSAGE_BYTES, _QUEUE_BYTES, framing_bytes, float(record_bytes))


def _property(client: Client, name: str, prefix: str = "") -> str:
    found = client.catalogue.find(name)
    facts = f"Takes {_takes(found)}. Default: {_default(found)}."
    return entry(name, _description(client, name), facts, anchor=f"{prefix}{name}")


def _description(client: Client, name: str) -> str:
    """Return the first sentence of the client's own description of a property, in Markdown."""
    texts = json.loads((_DESCRIPTIONS / f"{client.kind}.json").read_text(encoding="utf-8"))
    return sentence(capital(texts[name]))


def _takes(found: Property) -> str:
    if found.choices is not None:
        return listed(found.choices)
    match found.kind:
        case "bool":
            return f"{code('true')} or {code('false')}"
        case "int" | "float":
            noun = "a whole number" if found.kind == "int" else "a number"
            return f"{noun} from {found.low:,g} to {found.high:,.10g}"
        case _:
            return "a text"


def _default(found: Property) -> str:
    if found.default is None:
        return "none"
    return code("all" if found.name == "acks" and found.default == "-1" else found.default)
