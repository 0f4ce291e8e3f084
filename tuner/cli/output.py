"""How a result is put out: as JSON or text on standard output, or in a file that the user names.

A new file is written beside its place and then renamed, so that nobody finds half a file. A link is followed. A device
or a pipe, such as /dev/stdout, is written to directly, and `-` means standard output. An existing file is replaced
only if the tuner wrote it or the user gives `--force`.
"""

import json
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final

import typer

from runners.host_processes import folders
from runners.reporting import printable
from tuner.model.document import document
from tuner.model.errors import StudyError
from tuner.present.marks import MARKS

Force = Annotated[bool, typer.Option("--force", help="Replace an existing file even if the tuner did not write it.")]

STANDARD_OUTPUT: Final = Path("-")
"""The name that means standard output in place of a file, for text."""
PICTURES: Final = (".png", ".svg", ".pdf")
_STREAMS: Final = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/")
_SEARCHED_BYTES: Final = 65_536
_MODE: Final = 0o644


def is_stream(file: Path) -> bool:
    """Return whether an output is a device or a pipe, which is written to directly."""
    try:
        return _is_stream(file, _status(file))
    except OSError:  # `check_output` says what is wrong with the place
        return False


def check_output(file: Path | None, *, force: bool = False) -> None:
    """Check that an output file can be written, before the command begins its work.

    Args:
        file: The output file; None where the user asked for no file.
        force: Whether any existing file may be replaced.

    Raises:
        typer.BadParameter: The file can't be written, or it exists and the tuner did not write it.
    """
    if file in (None, STANDARD_OUTPUT):
        return
    try:
        status = _status(file)
        if _is_stream(file, status):
            return
        if status is not None and stat.S_ISDIR(status.st_mode):
            raise typer.BadParameter(f"an output must be a file, but {file} is a folder; name a file in it")
        if status is not None and not force and not _is_ours(file, status.st_size):
            raise typer.BadParameter(
                f"an existing file is replaced only if the tuner wrote it, but {file} was not written by the tuner; "
                "name another file, or add --force"
            )
        with tempfile.TemporaryFile(dir=_place(file).parent):
            pass
    except OSError as error:
        raise typer.BadParameter(
            f"an output must be in a folder that exists and can be written to, but {file} is not: {error.strerror}; "
            "name another file"
        ) from None


def check_file(file: Path | None, *, force: bool = False) -> None:
    """Check a file as `check_output` does, for content that standard output can't take: no text, or a second result.

    Raises:
        typer.BadParameter: The file is `-`, or can't be written.
    """
    if file == STANDARD_OUTPUT:
        raise typer.BadParameter("this output must be a file, but got -, which means standard output; name a file")
    check_output(file, force=force)


def file_or_none(output: Path | None) -> Path | None:
    """Return an output file; None for `-`, if the command writes to standard output without a file."""
    return None if output == STANDARD_OUTPUT else output


def write_output(file: Path, content: str | bytes, *, force: bool = False) -> None:
    """Write an output file, after checking it again as `check_output` does.

    Raises:
        typer.BadParameter: The file can't be written, or it exists and the tuner did not write it.
        StudyError: The file can't be written to its end, for example because the disk is full.
    """
    check_output(file, force=force)
    # A comment may name a file of the user, whose name need not be UTF-8.
    data = content.encode(errors="backslashreplace") if isinstance(content, str) else content
    if file == STANDARD_OUTPUT:
        typer.echo(data, nl=False)
        return
    try:
        status = _status(file)
        if _is_stream(file, status):
            with file.open("ab") as stream:
                stream.write(data)
        else:
            folders.write_atomically(_place(file), data, _MODE if status is None else stat.S_IMODE(status.st_mode))
    except OSError as error:
        raise StudyError(f"the output could not be written to {file}: {error.strerror}; name another file") from None


def check_picture(file: Path | None, *, force: bool = False) -> None:
    """Check a picture as `check_output` does, and that its name ends in the name of a format.

    Raises:
        typer.BadParameter: The file has another ending, or can't be written.
    """
    if file is not None and file.suffix.lower() not in PICTURES:
        raise typer.BadParameter(f"the picture's file name must end in .png, .svg or .pdf, but got {file}")
    check_output(file, force=force)


def write_picture(file: Path, draw: Callable[[Path], None], *, force: bool) -> None:
    """Draw a picture in a temporary folder, and write it as `write_output` does.

    Args:
        file: The output file.
        draw: Draws the picture into the file that it is given.
        force: Whether any existing file may be replaced.
    """
    with tempfile.TemporaryDirectory(prefix="tuner-picture-") as folder:
        drawn = Path(folder) / f"picture{file.suffix.lower()}"
        draw(drawn)
        write_output(file, drawn.read_bytes(), force=force)


def _status(file: Path) -> os.stat_result | None:
    try:
        return file.stat()
    except FileNotFoundError:
        return None


def _place(file: Path) -> Path:
    return Path(os.path.realpath(file))


def _is_stream(file: Path, found: os.stat_result | None) -> bool:
    if found is None or stat.S_ISDIR(found.st_mode):
        return False
    # /dev/stdout may lead to a regular file. Only its writer, the shell, may replace that file.
    return not stat.S_ISREG(found.st_mode) or str(file.absolute()).startswith(_STREAMS)


def _is_ours(file: Path, size: int) -> bool:
    """Return whether a file is empty, or has a mark of the tuner near its beginning or end."""
    with file.open("rb") as content:
        searched = content.read(_SEARCHED_BYTES)
        content.seek(max(0, size - _SEARCHED_BYTES))
        searched += content.read(_SEARCHED_BYTES)
    return not size or any(mark in searched for mark in MARKS)


def print_json(record: object, indent: int | None = 2) -> None:
    """Print a result as one JSON document."""
    typer.echo(json.dumps(record, indent=indent))


def print_text(text: str) -> None:
    """Print a result as text or CSV, without control characters that could change a terminal."""
    typer.echo(printable(text), nl=False)


def print_result(
    record: object,
    show: Callable[[], object],
    csv: Callable[[], str] = str,
    *,
    as_json: bool,
    as_csv: bool = False,
) -> None:
    """Print a result in the format that the user asked for.

    Args:
        record: The result for JSON.
        show: Prints the result as text for people.
        csv: Returns the result as CSV.
        as_json: Whether the user asked for JSON.
        as_csv: Whether the user asked for CSV.
    """
    if as_json:
        print_json(record)
    elif as_csv:
        print_text(csv())
    else:
        show()


def print_written(path: Path, *, as_json: bool) -> None:
    """Print the path of a file that the command has written; nothing if it has written to standard output."""
    if path != STANDARD_OUTPUT:
        print_result(document("written", path=str(path)), lambda: typer.echo(path), as_json=as_json)
