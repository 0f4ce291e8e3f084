"""The options of `tuner predict` that it has with and without a service."""

from typing import Annotated

import typer

Pairs = Annotated[
    list[str] | None,
    typer.Option(
        "-X", metavar="KEY=VALUE", help="A producer property to change, such as linger.ms=20. It may be repeated."
    ),
]
RecordBytes = Annotated[
    str | None, typer.Option(metavar="N", help="Bytes of a record's value.", show_default="the first of the study")
]
Rate = Annotated[
    float | None,
    typer.Option(min=1, metavar="N", help="Records per second, for the latency.", show_default="the study's"),
]
Partitions = Annotated[int | None, typer.Option(min=1, metavar="N", help="Partitions of the topic.")]
Replication = Annotated[int | None, typer.Option(min=1, metavar="N", help="Replicas of each partition.")]
Compressibility = Annotated[
    float | None,
    typer.Option(min=0, max=0.99, metavar="RATIO", help="Share of each value that compression removes."),
]
