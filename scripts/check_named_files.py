"""Checks that all files of this repository to which the documents, the code and pyproject.toml refer exist.

It also checks the methods and attributes that the map of the code names, and the links in the documents, with their
anchors. `make docs` checks the links inside the site once more.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_FOLDERS = (
    "search_spaces",
    "runners",
    "objectives",
    "tuner",
    "tests",
    "benchmarks",
    "scripts",
    "examples",
    "docs",
    "deploy",
)
_NAMED = re.compile(
    rf"(?<![\w/.-])(?:(?:{'|'.join(_FOLDERS)})/[\w./*-]*\.(?:py|csv|yaml|json|md|png)\b"
    r"|scripts/[a-z]+(?:-[a-z]+)*(?![\w./*-]))"  # a shell script, whose name has no suffix
)
_LINK = re.compile(r"\]\((?![a-z]+:)(?P<path>[^)\s#]*)(?:#(?P<anchor>[^)\s]*))?\)")
_HEADING = re.compile(r"^#+ +(.*?) *$", re.MULTILINE)
_FENCED = re.compile(r"^(`{3,}).*?^\1`*$", re.MULTILINE | re.DOTALL)
_MEMBER = re.compile(r"`(?P<type>[A-Z]\w*[a-z]\w*)\.(?P<member>\w+)(?:\(\))?`")
_WRITTEN_IN = (".py", ".toml", ".yaml", "Dockerfile", "Makefile")


def main() -> int:
    """Print every reference to a missing file or heading, and return the exit status."""
    pages = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
    named = {
        (path.relative_to(ROOT), found)
        for path in [*pages, *_sources()]
        for found in _NAMED.findall(path.read_text(encoding="utf-8"))
    }
    gone = sorted(f"{path} names {found}, which does not exist" for path, found in named if not any(ROOT.glob(found)))
    links = [(page, link) for page in pages for link in _LINK.finditer(_without_code(page))]
    gone += sorted(wrong for page, link in links if (wrong := _wrong(page, link["path"], link["anchor"])))
    gone += _unknown_members(ROOT / "docs" / "ARCHITECTURE.md")
    print("\n".join(gone) if gone else f"named files: all {len(named)} named files and {len(links)} links exist")
    return bool(gone)


def _sources() -> Iterator[Path]:
    """Yield the files, in addition to the documents, whose text may name other files: code, YAML, TOML, Makefile."""
    paths = [*ROOT.iterdir(), *(path for folder in _FOLDERS for path in (ROOT / folder).rglob("*"))]
    yield from (path for path in paths if path.name.endswith(_WRITTEN_IN) and path.is_file())


def _unknown_members(page: Path) -> list[str]:
    """Return a sentence for each method or attribute, such as `Bench.close`, that a page names and no code has."""
    sources = [path for folder in _FOLDERS for path in (ROOT / folder).rglob("*")]
    files = {path.name for path in sources}
    code = "\n".join(path.read_text(encoding="utf-8") for path in sources if path.suffix == ".py")
    named = {
        (match["type"], match["member"])
        for match in _MEMBER.finditer(page.read_text(encoding="utf-8"))
        if f"{match['type']}.{match['member']}" not in files
    }
    return [
        f"{page.relative_to(ROOT)} names {type_}.{member}, which does not exist"
        for type_, member in sorted(named)
        if not (re.search(rf"\bclass {type_}\b", code) and re.search(rf"\b{member}\b", code))
    ]


def _wrong(page: Path, path: str, anchor: str | None) -> str:
    """Return a sentence that says why a link on a page is wrong, or an empty string if the link is right."""
    target = (page.parent / path).resolve() if path else page
    if not target.exists():
        return f"{page.relative_to(ROOT)} links to {path}, which does not exist"
    # The anchors of the reference are made when the site is built, so they can't be checked here.
    if not anchor or target.suffix != ".md" or target.parent == ROOT / "docs" / "reference":
        return ""
    if anchor not in {_slug(heading) for heading in _HEADING.findall(_without_code(target))}:
        return f"{page.relative_to(ROOT)} links to {path}#{anchor}, but that page has no heading with this anchor"
    return ""


def _without_code(page: Path) -> str:
    """Return a page without its blocks of code, because a # or a ( ) in code is neither a heading nor a link."""
    return _FENCED.sub("", page.read_text(encoding="utf-8"))


def _slug(heading: str) -> str:
    """Return the anchor that GitHub and the site give to a heading."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


if __name__ == "__main__":
    sys.exit(main())
