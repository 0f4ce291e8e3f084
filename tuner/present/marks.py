"""Marks by which the tuner recognises the files that it wrote, and may therefore replace."""

from typing import Final

GENERATOR: Final = "kafka-tuner"
"""The program that HTML pages and pictures name as their generator."""
MARKS: Final = (
    b'<meta name="generator" content="kafka-tuner">',  # pages
    b"Software\x00kafka-tuner",  # PNG
    b"<dc:title>kafka-tuner</dc:title>",  # SVG: matplotlib writes the creator as an agent with a title
    b"/Creator (kafka-tuner)",  # PDF
    b"# kafka-tuner: study ",  # properties, environment variables, Java, Spring
    b"# kafka-tuner: translated from ",  # translated files
    b'"kind": "recommendation',  # JSON
    b" B records, goal ",  # table
    b'"kind": "experiment',  # the report of an experiment as JSON
    b",round,started_at,bound_by,error",  # as CSV
    b" | bound by |\n| --- |",  # as Markdown
    b"  bound by\n",  # as text
    b'"generator": "kafka-tuner"',  # Parquet: the attributes of the table
)
"""What each format of output contains near its beginning or its end. JSON for librdkafka is the bare config."""
