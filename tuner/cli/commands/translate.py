"""`tuner translate` translates a producer's properties file for the other client. It needs no cluster."""

from pathlib import Path
from typing import Annotated

import typer

from search_spaces.client import ClientKind
from search_spaces.errors import UnknownClient
from search_spaces.files.file_translation import translate_file
from search_spaces.files.producer_file import FileClient
from tuner.cli.options import common_options
from tuner.cli.output import Force, check_output, file_or_none, print_json, print_text, write_output
from tuner.present.console import ERR, OUT, say
from tuner.present.producer_files import translated_text, translation_json, translation_lines


def translate(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Properties file of a producer, such as your own.")],
    written_for: Annotated[
        FileClient,
        typer.Option(
            "--from",
            help="The client that FILE is for. auto: the client that the properties in FILE show, or else the one that "
            "--to does not name.",
        ),
    ] = FileClient.AUTO,
    target: Annotated[
        ClientKind | None, typer.Option("--to", help="The client to translate for.", show_default="the other one")
    ] = None,
    client_version: Annotated[
        str | None,
        typer.Option(
            metavar="VERSION",
            help="The version of the Java client that FILE is for or is translated for, such as 3.9.1 or 3.9.",
            show_default="the newest that is known",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the translated file here instead of to standard output."),
    ] = None,
    force: Force = False,
    as_json: common_options.Json = False,
) -> None:
    """Translate a producer's properties file from librdkafka to the Java client, or back.

    The two clients have different defaults. If FILE leaves a property at its default, and the other client has another
    default, the command writes the property out. So the translation gives at least the guarantee that FILE gives
    about lost, reordered and duplicate records. Addresses, logins and serializers are not translated.

    The command writes the translated file to standard output. To standard error it writes the guarantee before and
    after, and a table with the counterpart of each property in the other client. With --output, the table goes to
    standard output. The translation is not measured: `tuner verify` does that.

    \b
    Examples:
        tuner translate producer.properties --from librdkafka --to java
        tuner translate producer.properties --from java --client-version 3.6 > librdkafka.properties
        tuner translate producer.properties --to java --output java.properties
        tuner translate producer.properties --from java --json
    """
    output = file_or_none(output)
    check_output(output, force=force)
    with common_options.as_usage_error(UnknownClient, option="--client-version"):
        translation = translate_file(file, written_for, target, client_version)
    text = translated_text(translation, file, output)
    if output is not None:
        write_output(output, text, force=force)
    if as_json:
        print_json(translation_json(translation, file))
    else:
        table = ERR if output is None else OUT
        table.show(*translation_lines(translation, file))
        if output is None:
            print_text(text)
    if output is not None:
        say(f"written to {output}")
