"""The documents as readers see them: their blocks of code, and the commands in these."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.helpers.repository import ROOT

DOCUMENTS: Final = sorted(
    path.relative_to(ROOT) for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md"))
)
"""All documents, relative to the repository."""
NOT_RUN: Final = "not-run"
"""After the language of a block, keeps its commands from being run by the tests."""
_PROMPT: Final = "$ "
_TO_SERVICE: Final = "export KAFKA_TUNER_SERVER="
_BETWEEN_COMMANDS: Final = frozenset({"&&", "||", "|", ";", "&", ">", ">>", "<", "(", ")"})
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")
_COMMAND: Final = re.compile(r"(?:tuner|make|export) \S")
_TABLE: Final = re.compile(r"\S {3,}[^#\s]")
_INNER: Final = re.compile(r"\$\(([^()]*)\)")


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code.

    Attributes:
        document: Where it stands, relative to the repository.
        line: The document's line that it begins at.
        language: The first word after the fence; empty where there is none, as in indented blocks.
        words: The other words after the fence.
        text: What it holds.
    """

    document: Path
    line: int
    language: str
    words: tuple[str, ...]
    text: str

    def __str__(self) -> str:
        return f"{self.document}:{self.line}"

    @property
    def lines(self) -> list[str]:
        """The commands of the block, each on a line of its own, without prompts and without output."""
        if self.language not in ("", "console", "sh", "bash", "shell", "text"):
            return []
        lines = self.text.replace("\\\n", " ").splitlines()
        if any(line.startswith(_PROMPT) for line in lines):
            return [line.removeprefix(_PROMPT) for line in lines if line.startswith(_PROMPT)]
        return [line for line in lines if _COMMAND.match(line) and not _TABLE.search(line)]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a shell on a page.

    Attributes:
        block: The block that it stands in.
        text: The line, without a prompt.
        to_service: Whether a line before it on the page has the program speak to a service.
    """

    block: Block
    text: str
    to_service: bool

    def __str__(self) -> str:
        return f"{self.block}: {self.text}"


def lines_of(document: Path) -> Iterator[Line]:
    """Yield the lines of a shell on a page, in its order."""
    to_service = False
    for block in blocks():
        for text in block.lines if block.document == document else ():
            yield Line(block, text, to_service)
            to_service = to_service or text.startswith(_TO_SERVICE)


@cache
def blocks() -> tuple[Block, ...]:
    """Return all blocks of code of all documents."""
    return tuple(block for document in DOCUMENTS for block in _blocks_of(document))


def _blocks_of(document: Path) -> Iterator[Block]:
    for token in _tokens(document):
        if token.type in ("fence", "code_block"):
            language, *words = token.info.split() or [""]
            assert token.map is not None
            yield Block(document, token.map[0] + 1, language, tuple(words), token.content)


def is_experiment(block: Block) -> bool:
    """Return whether a block is an experiment file."""
    value = yaml.safe_load(block.text) if block.language == "yaml" else None
    return isinstance(value, dict) and "about" in value


def spans(document: Path) -> Iterator[str]:
    """Yield the code that stands inside the sentences of a document."""
    for token in _tokens(document):
        yield from (each.content for each in token.children or () if each.type == "code_inline")


@cache
def _tokens(document: Path) -> tuple[Token, ...]:
    text = (ROOT / document).read_text(encoding="utf-8")
    return tuple(MarkdownIt().enable("table").parse(text))


def calls(line: str, program: str = "tuner") -> Iterator[list[str]]:
    """Yield the words after the program's name for each time that a line of a shell calls it.

    What `docker run` has the image `kafka-tuner` do counts as a call of `tuner`.
    """
    for command in commands_in(line):
        if Path(command[0]).name == program:
            yield command[1:]
        elif program == "tuner" and command[:2] == ["docker", "run"] and "kafka-tuner" in command[:-1]:
            yield command[command.index("kafka-tuner") + 1 :]


def commands_in(line: str) -> Iterator[list[str]]:
    """Yield the words of each command in a line of a shell, those inside `$(...)` first."""
    for inner in _INNER.findall(line):
        yield from commands_in(inner)
    reader = shlex.shlex(_INNER.sub("INNER", line), posix=True, punctuation_chars=True)
    reader.whitespace_split = True
    command: list[str] = []
    for word in (*reader, ";"):
        if word not in _BETWEEN_COMMANDS:
            command.append(word)
            continue
        while command and _ASSIGNMENT.match(command[0]):
            del command[0]
        if command:
            yield command
        command = []
