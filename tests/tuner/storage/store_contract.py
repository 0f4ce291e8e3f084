"""The contract of `ResultsStore`, as a class of tests that the tests of every implementation inherit."""

import gzip
import json
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from tests.helpers.trials import failed, trial
from tuner.model.errors import ResultsDamaged
from tuner.model.progress import Progress, StudyState
from tuner.model.trial import TrialKind
from tuner.storage.protocols import ResultsStore

Open = Callable[[], ResultsStore]
"""Opens the test's study once more, for reading; all stores are closed after the test."""

Damage = Callable[[str, Any], None]
"""Replaces the stored form of all the study's values in a table: `trials`, `attachments`, `facts` or `progress`."""

LONG = {"series": [[second / 10, second * 3.5, None] for second in range(1_000)], "text": "größer \u2028 🦄"}
WRONG_TYPES: tuple[dict[str, Any], ...] = (
    {"number": "0"}, {"number": 0.5}, {"number": True}, {"values": {"acks": 1}}, {"values": []}, {"metrics": None},
    {"metrics": {"mb_per_s": "100"}}, {"objectives": [[1.0]]}, {"objectives": {}}, {"flagged": 1}, {"error": None},
    {"course": {"mb_per_s": [None]}}, {"warnings": "one"}, {"round": "1"}, {"params": {"linger.ms": []}},
)  # fmt: skip


_DAMAGED = [b"", b"{}", b"\x1f\x8b\x08", gzip.compress(b"[1,"), gzip.compress(b"[1]")[:-5]]


class ResultsStoreContract:
    """Tests of the contract. Subclasses name the implementation in `covers` and provide the two fixtures."""

    covers: ClassVar[type]

    @pytest.fixture
    def reopen(self) -> Open:
        """Return a function that opens another store of the test's study for reading."""
        raise NotImplementedError

    @pytest.fixture
    def store(self) -> ResultsStore:
        """Return the store of the test's study, opened as its driver."""
        raise NotImplementedError

    @pytest.fixture
    def damage(self, store: ResultsStore) -> Damage:
        """Return a function that overwrites stored values."""
        raise NotImplementedError

    @pytest.mark.parametrize(
        "body",
        [
            *('{"kind":"search"', "", "null", "[]", "17", '"text"', "{}", "[" * 100_000, '{"kind": "seArch"}'),
            *(json.dumps({**trial(0).as_json(), **odd}) for odd in WRONG_TYPES),
        ],
    )
    def test_a_damaged_trial_is_named(self, store: ResultsStore, reopen: Open, damage: Damage, body: str) -> None:
        store.append(trial(0))
        damage("trials", body)
        for each in (store, reopen()):
            with pytest.raises(ResultsDamaged, match=r"row \d+ of the trials in .* is not as kafka-tuner wrote it"):
                each.trials()

    @pytest.mark.parametrize("body", _DAMAGED, ids=range(len(_DAMAGED)))
    def test_a_damaged_attachment_is_named(
        self, store: ResultsStore, reopen: Open, damage: Damage, body: bytes
    ) -> None:
        store.append(trial(0), {"saturated": LONG})
        damage("attachments", body)
        for each in (store, reopen()):
            with pytest.raises(ResultsDamaged, match=r"saturated.* is not as kafka-tuner wrote it"):
                each.attachment(trial(0), "saturated")

    @pytest.mark.parametrize("body", ["", '{"1000": 20', "[" * 100_000])
    def test_a_damaged_fact_is_named(self, store: ResultsStore, reopen: Open, damage: Damage, body: str) -> None:
        store.set_fact("rates", {"1000": 20_000.5})
        damage("facts", body)
        for each in (store, reopen()):
            with pytest.raises(ResultsDamaged, match=r"the fact 'rates' in .* is not as kafka-tuner wrote it"):
                each.facts()

    @pytest.mark.parametrize(
        "body", ["", "[]", "null", '{"state": "run', '{"state": "walking"}', '{"state": "running", "pid": "7"}']
    )
    def test_a_damaged_progress_report_is_left_out(
        self, store: ResultsStore, reopen: Open, damage: Damage, body: str
    ) -> None:
        reader = reopen()
        store.set_progress(Progress(StudyState.RUNNING))
        store.close()
        assert reader.progress() is not None
        damage("progress", body)
        assert reader.progress() is None

    def test_a_new_store_is_empty(self, store: ResultsStore) -> None:
        assert isinstance(store, self.covers)
        assert store.trials() == []
        assert store.facts() == {}
        assert store.attachment(trial(0), "saturated") is None

    def test_other_connections_see_a_trial_when_append_returns(self, store: ResultsStore, reopen: Open) -> None:
        reader = reopen()
        for number in range(3):
            store.append(trial(number))
            assert [kept for _, kept in reader.trials()] == [trial(n) for n in range(number + 1)]
        assert [kept for _, kept in reopen().trials()] == [trial(n) for n in range(3)]

    def test_trials_are_read_back_unchanged(self, store: ResultsStore, reopen: Open) -> None:
        odd = replace(
            trial(7, config={"linger.ms": "0.5"}),
            record_bytes="100:70,1000:30",
            params={"linger.ms": 0.5, "batch.size": 4096, "compression.type": "lz4"},
            warnings=("größer als erlaubt", "🦄"),
            error='"quoted"\nlines',
            sampler_state={"NSGAIISampler:generation": 3, "parents": [1, 2]},
        )
        store.append(odd)
        store.append(failed(8))
        assert [kept for _, kept in reopen().trials()] == [odd, failed(8)]

    def test_trials_are_returned_in_the_order_of_storing(self, store: ResultsStore) -> None:
        sizes = {9: "1000", 2: "100", 5: "1000", 0: "10000"}
        for number, size in sizes.items():
            store.append(replace(trial(number), record_bytes=size))
        assert [kept.key for _, kept in store.trials()] == ["1000/0009", "100/0002", "1000/0005", "10000/0000"]

    def test_only_later_trials_are_returned_on_request(self, store: ResultsStore) -> None:
        for number in (4, 1, 3):
            store.append(trial(number))
        sequences = [sequence for sequence, _ in store.trials()]
        assert sequences == sorted(set(sequences))
        assert min(sequences) > 0, "after=0 must return all trials"
        for place, sequence in enumerate(sequences):
            assert store.trials(after=sequence) == store.trials()[place + 1 :]

    def test_no_more_trials_are_read_than_requested(self, store: ResultsStore) -> None:
        for number in (4, 1, 3):
            store.append(trial(number))
        every = store.trials()
        assert store.trials(limit=2) == every[:2]
        assert store.trials(after=every[0][0], limit=1) == every[1:2]
        assert store.trials(limit=10) == every

    def test_a_second_trial_with_the_same_key_is_refused(self, store: ResultsStore, reopen: Open) -> None:
        store.append(trial(7), {"saturated": {"run": 1}})
        with pytest.raises(ValueError, match="1000/0007 is there already"):
            store.append(trial(7, 999.0), {"saturated": {"run": 2}, "paced": {"run": 2}})
        for each in (store, reopen()):
            assert [kept for _, kept in each.trials()] == [trial(7)]
            assert each.attachment(trial(7), "saturated") == {"run": 1}
            assert each.attachment(trial(7), "paced") is None
        store.append(trial(8))
        assert [kept.number for _, kept in store.trials()] == [7, 8]

    def test_trials_of_different_sizes_may_have_the_same_number(self, store: ResultsStore) -> None:
        sizes = ("1000", "100", "100:70,1000:30", "100:7,1000:3", "100,1000")
        for size in sizes:
            store.append(replace(trial(0), record_bytes=size), {"saturated": size})
        assert [kept.record_bytes for _, kept in store.trials()] == list(sizes)
        assert [store.attachment(kept, "saturated") for _, kept in store.trials()] == list(sizes)

    def test_attachments_are_stored_by_name(self, store: ResultsStore, reopen: Open) -> None:
        store.append(trial(0), {"saturated": LONG, "paced": [1, None, "two"]})
        store.append(trial(1))
        for each in (store, reopen()):
            assert each.attachment(trial(0), "saturated") == LONG
            assert each.attachment(trial(0), "paced") == [1, None, "two"]
            assert each.attachment(trial(0), "other") is None
            assert each.attachment(trial(1), "saturated") is None

    @pytest.mark.parametrize(
        "value", [None, True, 0, 0.1, "ü 🦄", ["a", None], {"rates": {"1000": 20_000.5}, "größe": []}]
    )
    def test_other_connections_see_a_fact(self, store: ResultsStore, reopen: Open, value: Any) -> None:
        reader = reopen()
        store.set_fact("größe", value)
        assert store.facts() == reader.facts() == {"größe": value}

    def test_a_fact_replaces_the_previous_value(self, store: ResultsStore, reopen: Open) -> None:
        store.set_fact("finished_at", None)
        store.set_fact("name", "overnight")
        store.set_fact("finished_at", "2026-03-02")
        assert reopen().facts() == {"name": "overnight", "finished_at": "2026-03-02"}

    def test_a_store_may_be_closed_twice(self, store: ResultsStore, reopen: Open) -> None:
        store.append(trial(0))
        store.close()
        store.close()
        assert [kept for _, kept in reopen().trials()] == [trial(0)]

    def test_large_trials_are_read_back_unchanged(self, store: ResultsStore, reopen: Open) -> None:
        window_values = {"mb_per_s": tuple(number / 7 for number in range(50_000))}
        histogram = {"counts": [number * number for number in range(400_000)]}
        large = trial(0, window_values=window_values, error="ü" * 1_000_000)
        store.append(large, {"saturated": histogram})
        assert [kept for _, kept in reopen().trials()] == [large]
        assert reopen().attachment(large, "saturated") == histogram

    def test_the_study_file_is_stored_unchanged(self, store: ResultsStore, reopen: Open) -> None:
        assert reopen().study_file() == ""
        for text in ("study: overnight\n", "study: größer 🦄\nproperties: {a: '%s'}\n"):
            store.set_study_file(text)
            assert store.study_file() == reopen().study_file() == text

    def test_the_last_progress_is_returned(self, store: ResultsStore, reopen: Open) -> None:
        reader = reopen()
        assert reader.progress() is None
        for number in range(20):
            store.set_progress(Progress(StudyState.RUNNING, trial=number, kind=TrialKind.SEARCH, message="größer"))
        store.close()
        told = reader.progress()
        assert told is not None
        assert replace(told, alive=None) == Progress(
            StudyState.RUNNING, trial=19, kind=TrialKind.SEARCH, message="größer"
        )

    def test_a_lock_is_held_by_one_until_it_is_closed(self, store: ResultsStore, reopen: Open) -> None:
        held = store.hold("mlflow-mirror")
        assert held is not None
        assert reopen().hold("mlflow-mirror") is None
        other = reopen().hold("something-else")
        assert other is not None
        held.close()
        again = reopen().hold("mlflow-mirror")
        assert again is not None
        for each in (held, again, other):
            each.close()

    def test_concurrent_readers_see_all_trials_in_order(self, store: ResultsStore, reopen: Open) -> None:
        readers, stop = [reopen() for _ in range(3)], threading.Event()
        wrong: list[str] = []

        def look(reader: ResultsStore) -> None:
            last, seen = 0, list[int]()
            while not stop.is_set() or not seen or seen[-1] != 59:
                for sequence, kept in reader.trials(after=last):
                    last = sequence
                    seen.append(kept.number)
                    if reader.attachment(kept, "paced") != [kept.number]:
                        wrong.append(f"the attachment of {kept.number} is missing")
            if seen != list(range(60)):
                wrong.append(f"a reader saw {seen}")

        threads = [threading.Thread(target=look, args=(reader,)) for reader in readers]
        for thread in threads:
            thread.start()
        for number in range(60):
            store.append(trial(number), {"paced": [number]})
        stop.set()
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads)
        assert wrong == []

    def test_only_one_of_two_threads_can_store_the_same_trial(self, store: ResultsStore) -> None:
        refused: list[int] = []

        def keep(turn: int) -> None:
            for number in range(20):
                try:
                    store.append(trial(number, float(turn)), {"paced": turn})
                except ValueError:
                    refused.append(number)

        threads = [threading.Thread(target=keep, args=(turn,)) for turn in (1, 2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert sorted(refused) == list(range(20))
        assert [kept.number for _, kept in store.trials()] == list(range(20))
