"""Small pieces of Markdown that the pages of the reference are made of."""

import re
from collections.abc import Iterable
from typing import Final

# What is code, mostly without saying so: marked code, quotations, YAML in braces, options, variables, names with _ or .
_CODE: Final = re.compile(
    r"`[^`]+`"
    r'|"[^"`]+"'
    r"|\$?\{[^{}`]+\}"
    r"|(?<![\w-])--[a-z][\w-]*"
    r"|\b[A-Z]+(?:_[A-Z0-9]+)+\b"
    r"|(?<![\w/.])[a-z]+\.\*"
    r"|(?<![\w/.:])[a-z]\w+(?:[._][a-z0-9]+)+\b(?![/:]\w)"
)
_PAGE: Final = re.compile(r"docs/([\w/-]+\.md)")
_SPECIAL: Final = re.compile(r"([\\*_<>\[\]{}#|$])")


def prose(text: str) -> str:
    """Return a text of the program as Markdown of one line, with options and variables shown as code."""
    text = " ".join(text.split())
    parts, done = [], 0
    for found in _CODE.finditer(text):
        parts += [_plain(text[done : found.start()]), code(found[0].strip("`"))]
        done = found.end()
    return "".join(parts) + _plain(text[done:])


def _plain(text: str) -> str:
    """Return a text without code as Markdown; the names of pages become links, from a page of the reference."""
    return _PAGE.sub(r"[docs/\1](../\1)", _SPECIAL.sub(r"\\\1", text))


def sentence(text: str) -> str:
    """Return a text as Markdown that ends with a full stop."""
    text = text.strip()
    return prose(text if not text or text.endswith((".", "?", "!")) else f"{text}.")


def capital(text: str) -> str:
    """Return a text that begins with a capital letter."""
    return text[:1].upper() + text[1:]


def code(text: object) -> str:
    """Return a text shown as code."""
    return f"`` {text} ``" if "`" in str(text) else f"`{text}`"


def listed(words: Iterable[object], last: str = "or") -> str:
    """Return words as code with commas between them, and `last` before the last one."""
    shown = [code(word) for word in words]
    return f"{', '.join(shown[:-1])} {last} {shown[-1]}" if len(shown) > 1 else "".join(shown)


def heading(level: int, text: str) -> str:
    """Return a heading."""
    return f"{'#' * level} {text}"


def entry(name: str, *paragraphs: str, anchor: str = "", beside: str = "") -> str:
    """Return a name with its explanation below it.

    Args:
        name: The name, which is shown as code.
        paragraphs: The explanation, in Markdown; empty ones are left out.
        anchor: What links to this entry end with, after the `#`; it is written small, with hyphens in place of
            full stops and underscores.
        beside: Markdown on the name's line.
    """
    shown = f"[{code(name)}]{{#{re.sub('[._-]+', '-', anchor).lower()}}}" if anchor else code(name)
    first, *more = [paragraph for paragraph in paragraphs if paragraph]
    body = "\n\n".join([f": {first}", *("  " + paragraph.replace("\n", "\n  ") for paragraph in more)])
    return f"{shown}{f' {beside}' if beside else ''}\n{body}"


def fenced(language: str, text: str) -> str:
    """Return a block of code."""
    return f"```{language}\n{text.rstrip()}\n```"


def together(*blocks: str) -> str:
    """Return blocks with a blank line between them; empty ones are left out."""
    return "\n\n".join(block for block in blocks if block)
