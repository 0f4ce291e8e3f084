"""Settings of Sphinx, which makes the documentation site: `make docs`."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# The extension, and the program that it describes.
sys.path[:0] = [str(ROOT / "docs" / "extensions"), str(ROOT)]

project = "kafka-tuner"
copyright = "the authors of kafka-tuner, Apache-2.0"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "reference"]
exclude_patterns = ["extensions"]
# A block that names no language is shown as it stands: most are output of commands.
highlight_language = "none"
# `--option` is no dash, and a quotation mark in a command is no quotation mark of print.
smartquotes = False
# `text` in a docstring is code.
default_role = "code"

myst_enable_extensions = ["attrs_inline", "deflist", "fieldlist"]
# Links such as `page.md#a-heading` lead to headings as GitHub names them.
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True

nitpicky = True
# Types of other projects, whose pages are not here, and types in signatures that the Python page does not describe.
nitpick_ignore_regex = [
    (
        "py:class",
        r"(collections|dataclasses|enum|optuna|pathlib|pd|typing)\..*|BaseStorage|ExperimentSpec|OwnSampler|Path|StudySpec",
    ),
    ("py:class", r"(objectives|runners|search_spaces|tuner)\..*"),
]

html_theme = "furo"
html_title = "kafka-tuner"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
