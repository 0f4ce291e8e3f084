"""Writes the list of the Java producer's properties, as releases of kafka-clients list them themselves.

Their descriptions go to a file of their own, which only the documentation reads.

    python -m scripts.make_java_catalogue

The list has one row for each property and each span of releases in which its type, range and default are the same. The
jars and the Eclipse compiler come from Maven. Afterwards, review the difference: a new property needs a role in
`search_spaces/java_client/roles.py`.
"""

import json
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Final

from jgo.maven import MavenContext

from runners.java_runtime.java import find_java

REPOSITORY: Final = Path(__file__).parent.parent
TARGET: Final = REPOSITORY / "search_spaces" / "java_client" / "properties.json"
DESCRIPTIONS: Final = REPOSITORY / "docs" / "extensions" / "reference" / "descriptions" / "java.json"
SOURCE: Final = Path(__file__).parent / "java_configs" / "Configs.java"
COMPILER: Final = "org.eclipse.jdt:ecj:3.42.0"
# One release of each minor version, because defaults and ranges change with minor versions only. There is one known
# exception, which `search_spaces/java_client/derived.py` handles.
RELEASES: Final = (
    "2.8.2",
    "3.0.2",
    "3.1.2",
    "3.2.3",
    "3.3.2",
    "3.4.1",
    "3.5.2",
    "3.6.2",
    "3.7.2",
    "3.8.1",
    "3.9.1",
    "4.0.1",
    "4.1.1",
    "4.2.0",
    "4.3.1",
)
_INTEGERS: Final = {"SHORT": 15, "INT": 31, "LONG": 63}
_KINDS: Final = {"BOOLEAN": "bool", "SHORT": "int", "INT": "int", "LONG": "int", "DOUBLE": "float"}
_RANGE: Final = re.compile(r"\[(?P<low>-?\d+)?(?:,?\.\.\.,?)(?P<high>-?\d+)?\]")
_WORDS: Final = re.compile(r"^(?:\(case insensitive\) )?\[(?P<words>[^\]]*)\]$")
_HTML: Final = re.compile(r"<[^>]+>")


class Clients:
    """Runs the class `Configs` with releases of kafka-clients."""

    def __init__(self, folder: Path) -> None:
        """Remember the folder in which the jars and the compiled classes are kept."""
        self._folder = folder
        self._maven = MavenContext(repo_cache=folder / "jars")
        self._java = str(find_java().path)

    def command(self, release: str, mode: str) -> list[str]:
        """Return the command line that runs `Configs` with a release of kafka-clients, after compiling it."""
        jars = [str(path) for path in self._jars(f"org.apache.kafka:kafka-clients:{release}")]
        classes = self._folder / f"classes-{release}"
        compiler = str(self._jars(COMPILER)[0])
        line = [self._java, "-jar", compiler, "-17", "-nowarn", "-proc:none", "-cp", ":".join(jars), "-d", str(classes)]
        subprocess.run([*line, str(SOURCE)], check=True)
        flags = ["-XX:-UsePerfData", "-Xmx512m", "-XX:TieredStopAtLevel=1"]
        return [self._java, *flags, "-cp", ":".join([str(classes), *jars]), "Configs", mode]

    def _jars(self, coordinate: str) -> list[Path]:
        inputs, transitive = self._maven.resolver.resolve([self._maven.create_dependency(coordinate)])
        return [jar.artifact.resolve() for jar in (*inputs, *transitive) if jar.scope in (None, "compile", "runtime")]


def described(lines: str) -> dict[str, dict[str, Any]]:
    """Return the properties that `Configs describe` printed, by name."""
    found = {}
    for line in lines.splitlines():
        name, kind, default, allowed, text = line.split("\t")
        found[name] = {
            **_values(name, kind, allowed),
            "default": default.removeprefix("=") if default else None,
            "description": _first_sentence(text),
        }
    return found


def _values(name: str, kind: str, allowed: str) -> dict[str, Any]:
    low = high = choices = None
    if kind in _INTEGERS:
        low, high = -(2 ** _INTEGERS[kind]), 2 ** _INTEGERS[kind] - 1
        span = _RANGE.search(allowed)
        if span is not None:
            low = int(span["low"] or low)
            high = int(span["high"] or high)
        elif allowed:
            print(f"the range of {name} is not understood: {allowed}")
    elif _WORDS.match(allowed) and kind in ("STRING", "LIST") and name != "security.protocol":
        words = _WORDS.match(allowed)
        assert words is not None
        choices = [word.strip() for word in words["words"].split(",")]
    return {"type": "enum" if choices else _KINDS.get(kind), "low": low, "high": high, "choices": choices}


def _first_sentence(text: str) -> str:
    plain = re.sub(r"\s+", " ", _HTML.sub("", text)).strip()
    return re.split(r"(?<=[^.\s]{2}[.])\s(?=[A-Z])", plain, maxsplit=1)[0]


def rows(by_release: dict[str, dict[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the rows of the catalogue. A property has one row, and a further row for each release that changed it."""
    minors = {release: _minor(release) for release in by_release}
    names = sorted({name for found in by_release.values() for name in found})
    result: list[dict[str, Any]] = []
    for name in names:
        row: dict[str, Any] | None = None
        for release, found in by_release.items():
            facts = found.get(name)
            if row is not None and (facts is None or any(row[key] != value for key, value in facts.items())):
                row = None
            if facts is not None and row is None:
                row = {"name": name, "since": minors[release], "until": minors[release], **facts}
                result.append(row)
            elif row is not None:
                row["until"] = minors[release]
    return result


def as_json(releases: tuple[str, ...], found: list[dict[str, Any]]) -> str:
    """Return the text of the catalogue: one line for each row.

    It leaves out what the property does not have, the type of a text, `since` in the oldest release, and `until` in the
    newest one.
    """
    ends = (("since", _minor(releases[0])), ("until", _minor(releases[-1])))
    stated = [
        {key: value for key, value in row.items() if value is not None and (key, value) not in ends} for row in found
    ]
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in stated)
    return f'{{\n  "releases": {json.dumps(releases)},\n  "properties": [\n{lines}\n]}}\n'


def _minor(release: str) -> str:
    return ".".join(release.split(".")[:2])


def main() -> None:
    """Read the properties of all releases, and write the catalogue and the descriptions."""
    with tempfile.TemporaryDirectory() as folder:
        clients = Clients(Path(folder))
        by_release = {}
        for release in RELEASES:
            ran = subprocess.run(clients.command(release, "describe"), check=True, capture_output=True, text=True)
            by_release[release] = described(ran.stdout)
            print(f"{release}: {len(by_release[release])} properties")
    # Of the descriptions in several releases, that of the newest is kept.
    descriptions = {name: facts.pop("description") for found in by_release.values() for name, facts in found.items()}
    DESCRIPTIONS.write_text(
        json.dumps(descriptions, ensure_ascii=False, indent=1, sort_keys=True) + "\n", encoding="utf-8"
    )
    TARGET.write_text(as_json(RELEASES, rows(by_release)), encoding="utf-8")


if __name__ == "__main__":
    main()
