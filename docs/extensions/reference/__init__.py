"""A Sphinx extension that makes the pages of the reference from the program, so that they always agree with it.

A page in the folder `docs/reference` is written by hand, except for one directive, such as `{study-file}`. Each time
the site is built, Sphinx calls this extension for the Markdown text that replaces the directive. The lines inside the
directive are shown only on pages that were not built, as on GitHub: they say where to find the text.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from . import command_line, knobs, python, rest, study_file

_PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "study-file": study_file.study_file,
    "service-file": study_file.service_file,
    "metrics": study_file.metrics,
    "experiment-file": study_file.experiment_file,
    "row-metrics": study_file.row_metrics,
    "command-line": command_line.commands,
    "rest": rest.resources,
    "knobs": knobs.searched,
    "producer-properties": knobs.properties,
    "java-knobs": knobs.searched_in_java,
    "java-properties": knobs.properties_in_java,
    "python-facade": python.facade,
    "python-results": python.results,
    "python-client": python.client,
    "python-errors": python.errors,
}
"""The directives by name, each with the function that returns its Markdown text."""
_FOLDER: Final = "reference/"
_LINK_TO_MARKDOWN: Final = re.compile(r"\]\((?P<path>\.\./[^)#\s]+\.md)\)")


class Generated(SphinxDirective):
    """A Sphinx directive that is replaced, with its content, by text made from the program. It takes no arguments."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the directive's text as nodes of the page."""
        return self.parse_text_to_nodes(_PAGES[self.name](), allow_section_headings=True)


def always_made_anew(_: Sphinx, env: BuildEnvironment, *__: object) -> list[str]:
    """Return the pages of the reference, which Sphinx must build every time.

    Sphinx compares the times of the page files only, so it would not notice that the program has changed.
    """
    return [page for page in env.found_docs if page.startswith(_FOLDER)]


def offer_files(app: Sphinx, page: str, source: list[str]) -> None:
    """Change each link to a Markdown file that is not a page of the site, so that it leads to a copy of the file.

    Sphinx copies linked files of all other kinds without help. With this, the same link works on the site and on
    GitHub.
    """
    folder = Path(app.env.doc2path(page)).parent

    def marked(link: re.Match[str]) -> str:
        inside = (folder / link["path"]).resolve().is_relative_to(app.srcdir)
        return link[0] if inside else f"](path:{link['path']})"

    source[0] = _LINK_TO_MARKDOWN.sub(marked, source[0])


def keep_colons(_: Sphinx, what: str, __: str, ___: object, ____: object, lines: list[str]) -> None:
    """Split the first line of a property's docstring after its first colon.

    Otherwise Sphinx's extension Napoleon would take the text before the colon for the property's type.
    """
    if what in ("attribute", "property") and lines:
        lines[:1] = re.split(r"(?<=:) ", lines[0], maxsplit=1)


def draw_dashes(_: Sphinx, page: nodes.document) -> None:
    """Replace the two hyphens that Sphinx puts between a parameter and its description by a dash."""
    for text in list(page.findall(nodes.Text)):
        if text == " -- " and text.parent is not None:
            text.parent.replace(text, nodes.Text(" \N{EN DASH} "))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives and the event handlers of this extension with Sphinx."""
    for name in _PAGES:
        app.add_directive(name, Generated)
    app.connect("source-read", offer_files)
    app.connect("autodoc-process-docstring", keep_colons, priority=100)
    app.connect("doctree-read", draw_dashes)
    app.connect("env-get-outdated", always_made_anew)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
