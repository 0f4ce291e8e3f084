"""Output files: what is replaced, what is followed, and what is said if a file can't be written."""

import os
import shutil
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from tests.helpers.command import arguments, tuner
from tests.helpers.invented_studies import baseline, confirming, study, trial
from tests.helpers.small_experiment import run_small
from tuner.cli.commands import experiment
from tuner.cli.commands.bench import bench
from tuner.cli.commands.compare import compare
from tuner.cli.commands.init import init
from tuner.cli.commands.recommend import recommend
from tuner.cli.commands.report import report
from tuner.cli.commands.translate import translate
from tuner.cli.commands.trials import trials
from tuner.storage.locations import ROOT_VARIABLE

app = typer.Typer()
for command in (bench, compare, init, recommend, report, translate, trials):
    app.command(command.__name__)(command)
app.add_typer(experiment.app, name="experiment")

FOREIGN = "bootstrap.servers=production:9092\nclient.id=kafka-tuner\n"
WRITERS = {
    "page": ("report", "night", "--output", "out.html"),
    "fronts": ("compare", "night", "day", "--html", "out.html"),
    "png": ("compare", "night", "day", "--png", "out.png"),
    "svg": ("compare", "night", "day", "--png", "out.svg"),
    "pdf": ("compare", "night", "day", "--png", "out.pdf"),
    **{
        form: ("recommend", "night", "--format", form, "--output", f"out.{form}")
        for form in ("table", "properties", "json", "env", "java", "spring")
    },
    **{
        f"experiment as {form}": ("experiment", "report", name, "--format", form, "--output", "out.txt")
        for name, form in (("small", "text"), ("small", "markdown"), ("small", "csv"), ("small", "json"))
    },
}
"""Commands that write a file which they recognise as their own."""
writers = pytest.mark.parametrize("words", WRITERS.values(), ids=WRITERS)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two studies and an experiment, which each test copies."""
    root = tmp_path_factory.mktemp("measured")
    best = trial(1, 20.0, 10.0)
    for name in ("night", "day"):
        study(root / name, baseline(), best, *confirming(best, 2)).close()
    run_small(root / "small")
    return root


@pytest.fixture(autouse=True)
def studies(measured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The two studies and the experiment, and an empty working folder."""
    monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path / "studies"))
    shutil.copytree(measured, tmp_path / "studies")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


def ran(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def complaint(result: Result) -> str:
    """Return the message of a command that ended with an error of its own, in one line."""
    assert result.exit_code in (1, 2)
    text = result.stderr if isinstance(result.exception, SystemExit) else str(result.exception)
    return " ".join(text.replace("│", " ").split())


@writers
def test_a_file_that_the_tuner_wrote_is_replaced_and_any_other_is_not(words: tuple[str, ...]) -> None:
    out = Path(words[-1])
    for _ in range(2):
        assert ran(*words).exit_code == 0
    assert out.stat().st_size
    out.write_text(FOREIGN)
    assert "an existing file is replaced only if the tuner wrote it" in complaint(ran(*words))
    assert out.read_text() == FOREIGN
    assert ran(*words, "--force").exit_code == 0
    assert FOREIGN.encode() not in out.read_bytes()
    assert [path.name for path in Path().iterdir()] == [out.name]


def test_a_config_without_a_comment_is_not_recognised_as_the_tuners_file() -> None:
    words = ("recommend", "night", "--format", "librdkafka", "--output", "out.json")
    assert ran(*words).exit_code == 0
    assert "--force" in complaint(ran(*words))
    assert ran(*words, "--force").exit_code == 0


@pytest.mark.parametrize("kind", ["png", "properties"])
def test_an_empty_file_and_the_target_of_a_link_are_written(kind: str) -> None:
    words = WRITERS[kind]
    link, target = Path(words[-1]), Path("target")
    target.touch(mode=0o640)
    link.symlink_to(target)
    for _ in range(2):
        assert ran(*words).exit_code == 0
    assert link.is_symlink()
    assert target.stat().st_size
    assert target.stat().st_mode & 0o777 == 0o640
    target.write_text(FOREIGN)
    assert "--force" in complaint(ran(*words))
    target.unlink()
    assert ran(*words).exit_code == 0
    assert link.is_symlink()
    assert target.is_file()


@writers
def test_a_device_is_written_to_and_never_replaced(words: tuple[str, ...]) -> None:
    out = Path(words[-1])
    out.symlink_to("/dev/full")
    assert "No space left on device" in complaint(ran(*words, "--force"))
    assert out.is_char_device()
    out.unlink()
    out.symlink_to("/dev/null")
    assert ran(*words).exit_code == 0
    assert out.is_char_device()


def test_a_pipe_gets_the_whole_page() -> None:
    os.mkfifo("out.html")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(Path("out.html").read_text()))
    reader.start()
    assert ran(*WRITERS["page"]).exit_code == 0
    reader.join()
    assert read[0].rstrip().endswith("</html>")
    assert Path("out.html").is_fifo()


def test_standard_output_that_is_a_file_is_appended_to() -> None:
    with Path("all.properties").open("a") as out:
        out.write(FOREIGN)
        out.flush()
        words = arguments("recommend", "night", "--format", "properties", "--output", "/dev/stdout")
        assert subprocess.run(words, stdout=out, check=False).returncode == 0
    written = Path("all.properties").read_text()
    assert written.startswith(FOREIGN)
    assert "linger.ms=1\n" in written


@pytest.mark.parametrize(
    ("words", "content"),
    [
        (("report", "night", "--output", "-"), "</html>"),
        (("recommend", "night", "--format", "properties", "--output", "-"), "linger.ms=1\n"),
        (("experiment", "report", "small", "--format", "html", "-o", "-"), "</html>"),
        (("translate", "mine.properties", "--output", "-"), "linger.ms=1\n"),
    ],
    ids=["report", "recommend", "experiment report", "translate"],
)
def test_a_minus_means_standard_output(words: tuple[str, ...], content: str) -> None:
    Path("mine.properties").write_text("linger.ms=1\nqueue.buffering.max.kbytes=1048576\n")
    ended = ran(*words)
    assert ended.exit_code == 0
    assert content in ended.stdout
    if content == "</html>":
        assert ended.stdout.rstrip().endswith(content)
    assert not Path("-").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "night", "day", "--html", "-"),
        ("compare", "night", "day", "--png", "-"),
        ("experiment", "report", "small", "--format", "png", "-o", "-"),
        ("bench", "--png", "-"),
        ("trials", "night", "--parquet", "-"),
    ],
    ids=["compare --html", "compare --png", "experiment report", "bench", "trials"],
)
def test_a_picture_a_table_and_a_second_result_do_not_go_to_standard_output(words: tuple[str, ...]) -> None:
    assert "file" in complaint(ran(*words))
    assert not Path("-").exists()


def test_one_file_per_record_size_is_checked_before_any_is_written(tmp_path: Path) -> None:
    best = trial(1, 20.0, 10.0)
    both = (baseline(), best, *confirming(best, 2), baseline(0, "100"), trial(1, 20.0, 10.0, size="100"))
    study(tmp_path / "studies" / "two", *both, record_sizes=["1000", "100"]).close()
    words = ("recommend", "two", "--format", "properties", "--output", "out.properties")
    Path("out-100.properties").write_text(FOREIGN)
    assert "out-100.properties" in complaint(ran(*words))
    assert [path.name for path in Path().iterdir()] == ["out-100.properties"]


def test_standard_output_gets_the_configs_of_all_record_sizes(tmp_path: Path) -> None:
    both = [each for size in ("1000", "100") for each in (baseline(0, size), trial(1, 20.0, 10.0, size=size))]
    study(tmp_path / "studies" / "two", *both, record_sizes=["1000", "100"]).close()
    words = arguments("recommend", "two", "--format", "properties")
    plain = subprocess.run(words, capture_output=True, text=True, check=True)
    Path("link.properties").symlink_to("/dev/stdout")
    for output in ("/dev/stdout", "link.properties"):
        streamed = subprocess.run([*words, "--output", output], capture_output=True, text=True, check=True)
        assert streamed.stdout == plain.stdout
        assert streamed.stdout.count("linger.ms=1\n") == 2
        assert "the output holds 2 configs, one per record size" in streamed.stderr
    assert [path.name for path in Path().iterdir()] == ["link.properties"]


BAD_PLACES: dict[str, Callable[[str], str]] = {
    "below a file": lambda name: f"file/{name}",
    "missing folder": lambda name: f"missing/{name}",
    "proc": lambda name: f"/proc/{name}",
}


@pytest.mark.parametrize("place", BAD_PLACES.values(), ids=BAD_PLACES)
@pytest.mark.parametrize(
    "words",
    [WRITERS["page"], WRITERS["fronts"], WRITERS["png"], WRITERS["java"], ("bench", "--png", "x.png"), ("init", "x.y")],
    ids=["report", "compare --html", "compare --png", "recommend", "bench", "init"],
)
def test_an_output_file_that_cant_be_written_is_named(words: tuple[str, ...], place: Callable[[str], str]) -> None:
    Path("file").touch()
    out = place(words[-1])
    said = complaint(ran(*words[:-1], out))
    assert "an output must be in a folder that exists and can be written to" in said
    assert out in said


def test_a_folder_and_a_loop_of_links_are_no_outputs() -> None:
    Path("out.html").mkdir()
    assert "is a folder" in complaint(ran(*WRITERS["page"], "--force"))
    Path("out.html").rmdir()
    Path("out.html").symlink_to("out.html")
    assert "Too many levels of symbolic links" in complaint(ran(*WRITERS["page"], "--force"))


def test_the_picture_of_a_comparison_needs_a_known_ending() -> None:
    assert "must end in .png, .svg or .pdf" in complaint(ran("compare", "night", "day", "--png", "out.txt"))


SIMULATED = "workload: {record_bytes: 100}\nexecutor: {kind: simulated}\nsearch: {trials: 2}\nconfirm: {rounds: 0}\n"


@pytest.mark.parametrize("where", ["a file", "proc"])
@pytest.mark.parametrize(
    "words",
    [
        ("run", "quick.yaml"),
        ("verify", "mine.properties", "--study", "quick.yaml"),
        ("report", "quick"),
        ("recommend", "quick"),
        ("status", "quick"),
        ("confirm", "quick"),
        ("sync", "quick"),
        ("ui",),
    ],
    ids=lambda words: words[0],
)
def test_a_wrong_folder_for_studies_is_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], where: str
) -> None:
    Path("quick.yaml").write_text(SIMULATED)
    Path("mine.properties").write_text("linger.ms=5\n")
    root = {"a file": "quick.yaml", "proc": "/proc/studies"}[where]
    monkeypatch.setenv(ROOT_VARIABLE, root)
    ended = tuner(*words)
    assert ended.code in (1, 2)
    assert "Traceback" not in ended.err
    assert len([line for line in ended.err.splitlines() if line.startswith("error:")]) == 1, ended.err
    assert str(Path(root).absolute()) in ended.complaint


@pytest.mark.parametrize("variable", ["KAFKA_TUNER_HOME", "KAFKA_TUNER_CACHE"])
def test_a_wrong_folder_for_our_own_files_is_one_clear_line(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    Path("file").touch()
    monkeypatch.setenv(variable, str(Path("file").absolute()))
    ended = tuner("broker", "start")
    assert ended.code == 1
    assert "Traceback" not in ended.err
    assert str(Path("file").absolute()) in ended.complaint


def test_a_format_of_another_client_is_refused_before_it_is_written() -> None:
    told = complaint(ran("recommend", "night", "--format", "quarkus", "--output", "out.properties"))
    assert "the format quarkus is for configs of the client java only" in told
    assert "choose one of table" in told
    assert not Path("out.properties").exists()
