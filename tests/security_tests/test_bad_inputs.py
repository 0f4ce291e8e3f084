"""Bad inputs, made from good ones with a seed, give an error that names the place, and never a traceback or a hang."""

import random
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from search_spaces.errors import ConfigError, PropertiesFileError
from search_spaces.producer_config import ProducerConfig
from search_spaces.properties_file import read_properties
from tuner.model.errors import StudyError
from tuner.results.recommendation import recommendations
from tuner.results.study_results import load_results
from tuner.study_file import load_study

ROOT: Final = Path(__file__).parents[2]
KEPT: Final = ROOT / "tests" / "storage_tests" / "kept" / "sqlite-1"
STUDIES: Final = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples").glob("*.yaml"))]
PROPERTIES: Final = "linger.ms=5\nacks=all\ncompression.type=lz4\nbatch.size=100000\nenable.idempotence=true\n"
ODD: Final = (
    *(
        "",
        "null",
        "~",
        "[]",
        "{}",
        "- - - -",
        "{a: {a: {a: {}}}}",
        "'",
        '"',
        "|",
        "%",
        "*x",
        "&x [*x]",
        "!!python/object:x",
    ),
    *("1e999", "-1", "9" * 400, ".nan", "0x10", "1_000", "1e-400", "0o9", "100:1,100:2", "100:nan,2:3", "12:60"),
    *("\x00", "\x1b[31m", "\ud7ff", "🦄", "\u2028", "\t", "a" * 2_000, "${X}", "${", "2001-01-01", "true"),
)
PATIENCE_S: Final = 20.0
SHORT: Final = 300
CAMPAIGN: Final = 2_000


def flipped(r: random.Random, data: bytes, most: int) -> bytes:
    """Return the data with some bits flipped."""
    changed = bytearray(data)
    for _ in range(r.randint(1, most)):
        if changed:
            changed[r.randrange(len(changed))] ^= 1 << r.randrange(8)
    return bytes(changed)


def mutated(r: random.Random, text: str) -> bytes:
    """Return the text with wrong values, keys, lines, indents, nesting or bytes."""
    for _ in range(r.randint(1, 3)):
        lines = text.split("\n")
        at = r.randrange(len(lines))
        separator = ": " if ": " in lines[at] else "="
        key = lines[at].partition(separator)[0]
        match r.randrange(7):
            case 0:
                lines[at] = key + separator + r.choice(ODD)
            case 1:
                lines[at] = r.choice(ODD) + lines[at]
            case 2:
                lines.insert(at, r.choice(lines))
            case 3:
                del lines[at]
            case 4:
                lines[at] = " " * r.randint(0, 9) + lines[at]
            case 5:
                lines[at] = key + separator + "[" * r.choice([1, 50, 5_000])
            case _:
                return flipped(r, "\n".join(lines).encode("utf-8", "surrogatepass"), 4)
        text = "\n".join(lines)
    return text.encode("utf-8", "surrogatepass")


def check(seed: int, folder: Path) -> None:
    """Read one bad input; raise whatever is not an error that names the place."""
    r = random.Random(seed)
    kind = r.choices(("study", "properties", "record"), (6, 3, 1))[0]
    try:
        if kind == "study":
            place = folder / "bad.yaml"
            place.write_bytes(mutated(r, r.choice(STUDIES)))
            load_study(place)
        elif kind == "properties":
            place = folder / "bad.properties"
            place.write_bytes(mutated(r, PROPERTIES))
            ProducerConfig.parse(read_properties(place))
        else:
            study = shutil.copytree(KEPT, folder / "study", dirs_exist_ok=True)
            place = study / "results.db"
            place.write_bytes(flipped(r, place.read_bytes(), r.choice([1, 4, 40])))
            recommendations(load_results(study))
    except PropertiesFileError as refused:
        message, places = str(refused), [place.name]
    except ConfigError as refused:
        message, places = str(refused), [place.name] if kind == "study" else [""]  # of a config, it names the property
    except StudyError as refused:
        message, places = str(refused), [str(folder), "small", "the fact "]
    else:
        return
    assert any(each in message for each in places), message


def late(*_: object) -> None:
    """End an input that takes too long."""
    raise TimeoutError(f"an input must be read within {PATIENCE_S:.0f} s")


@pytest.fixture
def alarm() -> Iterator[None]:
    """Let the alarm clock of this process raise an error in the test."""
    before = signal.signal(signal.SIGALRM, late)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("alarm")
@pytest.mark.parametrize(
    ("first", "count"),
    [
        (0, SHORT),
        pytest.param(SHORT, CAMPAIGN - SHORT, marks=pytest.mark.campaign),
        pytest.param(CAMPAIGN, 10_000 - CAMPAIGN, marks=[pytest.mark.campaign, pytest.mark.long]),
    ],
)
def test_a_bad_input_gives_an_error_that_names_the_place(first: int, count: int, tmp_path: Path) -> None:
    for seed in range(first, first + count):
        signal.setitimer(signal.ITIMER_REAL, PATIENCE_S)
        for old in tmp_path.glob("bad.*"):
            old.unlink()
        try:
            check(seed, tmp_path)
        except BaseException as error:
            written = {path.name: path.read_bytes()[:2_000] for path in tmp_path.glob("bad.*")}
            raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}; inputs: {written}") from error
