"""Functions that make the small pieces of Markdown of which the reference consists."""

import re
from collections.abc import Iterable
from typing import Final

# Text that is shown as code, although most of it is not marked as code in the program: marked code, quotations, YAML in
# braces, options, variables, and names that contain _ or a full stop.
_CODE: Final = re.compile(
    r"`[^`]+`"
    r'|"[^"`]+"'
    r"|\$?\{[^{}`]+\}"
    r"|(?<![\w-])--[a-z][\w-]*"
    r"|\b[A-Z]+(?:_[A-Z0-9]+)+\b"
    r"|(?<![\w/.])[a-z]+\.\*"
    r"|(?<![\w/.:-])[a-z]\w+(?:[._][a-z0-9]+)+\b(?![/:]\w)"
)
_PAGE: Final = re.compile(r"docs/([\w/-]+\.md)")
_SPECIAL: Final = re.compile(r"([\\*_<>\[\]{}#|$])")


def prose(text: str) -> str:
    """Return a text of the program as one line of Markdown, with options and variables shown as code."""
    text = " ".join(text.split())
    parts, done = [], 0
    for found in _CODE.finditer(text):
        parts += [_plain(text[done : found.start()]), code(found[0].strip("`"))]
        done = found.end()
    return "".join(parts) + _plain(text[done:])


def _plain(text: str) -> str:
    """Return a text that contains no code as Markdown. The name of a page becomes a link to the page."""
    return _PAGE.sub(r"[docs/\1](../\1)", _SPECIAL.sub(r"\\\1", text))


def sentence(text: str) -> str:
    """Return a text as Markdown that ends with a full stop."""
    text = text.strip()
    return prose(text if not text or text.endswith((".", "?", "!")) else f"{text}.")


def capital(text: str) -> str:
    """Return the text with a capital first letter."""
    return text[:1].upper() + text[1:]


def code(text: object) -> str:
    """Return a text as code in Markdown, between backticks."""
    return f"`` {text} ``" if "`" in str(text) else f"`{text}`"


def listed(words: Iterable[object], last: str = "or") -> str:
    """Return words as code, separated by commas, with `last` instead of the last comma."""
    shown = [code(word) for word in words]
    return f"{', '.join(shown[:-1])} {last} {shown[-1]}" if len(shown) > 1 else "".join(shown)


def heading(level: int, text: str) -> str:
    """Return a heading of the given level in Markdown."""
    return f"{'#' * level} {text}"


def entry(name: str, *paragraphs: str, anchor: str = "", beside: str = "") -> str:
    """Return a name with its explanation below it.

    Args:
        name: The name, which is shown as code.
        paragraphs: The paragraphs of the explanation, in Markdown. Empty paragraphs are left out.
        anchor: The anchor that links to this entry use after the `#`. It is changed to lower case, with hyphens instead
            of full stops and underscores.
        beside: Markdown that follows the name on the same line.
    """
    shown = f"[{code(name)}]{{#{re.sub('[._-]+', '-', anchor).lower()}}}" if anchor else code(name)
    first, *more = [paragraph for paragraph in paragraphs if paragraph]
    body = "\n\n".join([f": {first}", *("  " + paragraph.replace("\n", "\n  ") for paragraph in more)])
    return f"{shown}{f' {beside}' if beside else ''}\n{body}"


def fenced(language: str, text: str) -> str:
    """Return a block of code in Markdown."""
    return f"```{language}\n{text.rstrip()}\n```"


def together(*blocks: str) -> str:
    """Return blocks of Markdown with a blank line between them. Empty blocks are left out."""
    return "\n\n".join(block for block in blocks if block)
