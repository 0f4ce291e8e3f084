"""At the end of a study, its mirror hears how the study has ended."""

import pytest

from tuner.course.mirroring import SyncOutcome, finish_mirror
from tuner.model.errors import DeadlinePassed, TooManyFailures
from tuner.model.progress import StudyState


class Listening:
    """A mirror that keeps what it hears at the end."""

    def __init__(self) -> None:
        self.heard: list[StudyState] = []

    def start(self, remember: object) -> None:
        """Do nothing."""

    def poke(self) -> None:
        """Do nothing."""

    def behind(self, on_record: int) -> int:
        return on_record

    def finish(self, timeout_s: float, state: StudyState) -> SyncOutcome:
        assert timeout_s > 0
        self.heard.append(state)
        return SyncOutcome(0, 0, "nowhere", None)


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (None, StudyState.FINISHED),
        (TooManyFailures, StudyState.FAILED),
        (KeyboardInterrupt, StudyState.INTERRUPTED),
        (DeadlinePassed, StudyState.INTERRUPTED),
    ],
)
def test_a_mirror_hears_how_the_study_has_ended(error: type[BaseException] | None, state: StudyState) -> None:
    mirror = Listening()
    finish_mirror(mirror, "night", print, error)
    assert mirror.heard == [state]
