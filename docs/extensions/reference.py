"""Makes the pages of the reference from the program itself, so that they can't say anything else than it does."""

import re
from pathlib import Path
from typing import Final

from sphinx.application import Sphinx

_LINK_TO_MARKDOWN: Final = re.compile(r"\]\((?P<path>\.\./[^)#\s]+\.md)\)")


def offer_files(app: Sphinx, page: str, source: list[str]) -> None:
    """Make links to Markdown files that are no pages of the site lead to a copy of the file.

    Sphinx does so with files of all other kinds by itself, so that one link serves both the site and GitHub.
    """
    folder = Path(app.env.doc2path(page)).parent

    def marked(link: re.Match[str]) -> str:
        inside = (folder / link["path"]).resolve().is_relative_to(app.srcdir)
        return link[0] if inside else f"](path:{link['path']})"

    source[0] = _LINK_TO_MARKDOWN.sub(marked, source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Register what is here with Sphinx."""
    app.connect("source-read", offer_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
