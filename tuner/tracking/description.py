"""The description of an MLflow experiment: a section for each study in it, and the text that users have added."""

import re
import shlex
from collections.abc import Sequence
from typing import Final

from tuner.model.facts import STUDY_ID
from tuner.tracking.study_layout import SizeRuns

# Source: MLflow's own limit for tags of experiments is 20,000; its tables of earlier releases hold 5,000.
_MOST_CHARACTERS: Final = 5_000
# A browser does not show comments in Markdown, but MLflow's list of experiments shows the text as it is. So a section
# begins with its heading. Those of earlier releases begin with the comment.
_START: Final = re.compile(r"(### Study \S+ )?<!-- kafka-tuner (\S+) -->\n")


def study_section(by_size: Sequence[SizeRuns], pictures: Sequence[str]) -> str:
    """Return the section of a study in Markdown: its recommendations, the command that prints them, and pictures.

    Args:
        by_size: The runs of each record size that has trials; at least one.
        pictures: The addresses of the pictures of the fronts.
    """
    study = by_size[0].study
    study_id, command = study.facts[STUDY_ID], shlex.join(["tuner", "recommend", study.name])
    lines = [f"### Study {study.name} <!-- kafka-tuner {study_id} -->", "", *(f"- {runs.advice}" for runs in by_size)]
    lines += ["", f"`{command}` prints the configs to paste.", "", *(f"![front]({picture})" for picture in pictures)]
    return "\n".join([*lines, f"<!-- end of {study_id} -->", ""])


def with_section(description: str, section: str) -> str:
    """Return a description in which a study's section is first, in place of its earlier section.

    Pictures of other studies are left out. The oldest sections are left out, too, if there is no room. The text of
    users is kept.
    """
    sections, theirs = _sections(description)
    ours, _ = _sections(section)
    others = [
        re.sub(r"^!\[front\].*\n", "", text + "\n", flags=re.MULTILINE)
        for study_id, text in sections.items()
        if study_id not in ours
    ]
    while others and sum(map(len, (section, *others, theirs))) + len(others) + 2 > _MOST_CHARACTERS:
        others.pop()
    return "\n".join(part for part in (section, *others, theirs) if part)


def _sections(description: str) -> tuple[dict[str, str], str]:
    """Return the sections of a description by study id, and the text outside of them, which users wrote."""
    theirs, *marked = _START.split(description)
    sections = {}
    for heading, study_id, text in zip(marked[::3], marked[1::3], marked[2::3], strict=True):
        start = f"{heading or ''}<!-- kafka-tuner {study_id} -->\n"
        section, end, behind = f"{start}{text}".partition(f"<!-- end of {study_id} -->")
        if end:
            sections[study_id] = section + end
        theirs += behind.lstrip("\n") if end else section
    return sections, theirs.strip()
