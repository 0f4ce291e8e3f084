"""One attempt after the other to make MLflow show a study, with what came of them."""

from collections.abc import Callable
from pathlib import Path

from tuner.model.spec import TrackingSpec
from tuner.storage.protocols import ResultsStore
from tuner.tracking.errors import ReportFailed
from tuner.tracking.session import Report, Session


class CatchingUp:
    """Keeps a session between attempts as long as it is good.

    Args:
        store: The study's record.
        folder: Where it lies.
        tracking: Where MLflow is.
        report: Makes the report that is put beside the runs; may be None.
        on_progress: Told how many trials are shown, and of how many.
        goes_on: Asked before each run whether to go on.

    Attributes:
        shown: Trials that MLflow is known to show.
        written: Keys of the runs made or changed.
    """

    def __init__(
        self,
        store: ResultsStore,
        folder: Path,
        tracking: TrackingSpec,
        report: Report | None,
        on_progress: Callable[[int, int], None] = lambda _, __: None,
        goes_on: Callable[[], bool] = lambda: True,
    ) -> None:
        self._store, self._folder, self._tracking, self._report = store, folder, tracking, report
        self._on_progress, self._goes_on = on_progress, goes_on
        self._session: Session | None = None
        self.shown = 0
        self.written: set[str] = set()

    def attempt(self, *, settle: bool) -> Exception | None:
        """Try once.

        Args:
            settle: Look at every run, and put the report beside them.

        Returns:
            Why MLflow does not show everything; None if it does.
        """
        try:
            if self._session is None:
                self._session = Session(self._store, self._folder, self._tracking, self._goes_on)
            self._session.catch_up(settle=settle, on_progress=self._progress)
            if settle and self._report is not None:
                self._session.add_report(self._report)
        except ReportFailed as error:
            return error
        except Exception as error:  # noqa: BLE001 - whatever MLflow, its database or the network do, a study goes on
            self.close()
            return error
        finally:
            if self._session is not None:
                self.written |= self._session.written
        return None

    def close(self) -> None:
        """Let go of MLflow; another attempt reads anew what it holds."""
        if self._session is not None:
            self.written |= self._session.written
            self._session.close()
            self._session = None

    def _progress(self, shown: int, total: int) -> None:
        self.shown = max(self.shown, shown)
        self._on_progress(shown, total)
