"""Tests that a `JobQueue` must pass in every database. The tests of each database inherit them."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import ClassVar

import pytest

from tuner.service.errors import JobNotFound, NameTaken, WrongMove
from tuner.service.queue.job import JobState, QueuedJob, Submission, Task, TaskKind
from tuner.service.queue.job_queue import JobQueue

Open = Callable[[], JobQueue]
"""Opens another connection to the same queue. The fixture closes all of them after the test."""

LONG_S = 3600.0


def submission(name: str, *targets: str, digest: str = "d", text: str = "study: x\n") -> Submission:
    return Submission(name, digest, text, targets or ("lab",), "ci")


def claimed(queue: JobQueue, owner: str = "a", *, at_once: int = 1, lease_s: float = LONG_S) -> QueuedJob:
    job = queue.claim(owner, at_once=at_once, lease_s=lease_s)
    assert job is not None
    return job


class JobQueueContract:
    """The tests. A subclass names its table class in `covers` and overrides `reopen`."""

    covers: ClassVar[type]

    @pytest.fixture
    def reopen(self) -> Open:
        """Return a function that opens the queue of the test, as often as it is called."""
        raise NotImplementedError

    @pytest.fixture
    def queue(self, reopen: Open) -> JobQueue:
        return reopen()

    def test_a_new_queue_is_empty(self, queue: JobQueue) -> None:
        assert isinstance(queue._table, self.covers)
        assert queue.jobs() == []
        assert queue.counts() == {}
        assert queue.claim("a", at_once=1, lease_s=LONG_S) is None
        assert queue.renew("a", lease_s=LONG_S) == []

    def test_a_submitted_study_is_visible_to_every_other_connection(self, queue: JobQueue, reopen: Open) -> None:
        text = "study: größer\n# 🦄 ${PASSWORD}\n"
        job, new = queue.submit(submission("first", "lab", "other", text=text))
        assert new
        assert (job.number, job.name, job.state) == (1, "first", JobState.QUEUED)
        assert job.targets == ("lab", "other")
        assert (job.submitted_by, job.owner, job.crashes, job.note) == ("ci", "", 0, "")
        assert job.submitted_at == job.changed_at
        again = reopen()
        assert again.find("first") == job
        assert again.study_file("first") == text
        assert again.jobs() == [job]

    def test_submitting_the_same_study_again_changes_nothing(self, queue: JobQueue) -> None:
        first, _ = queue.submit(submission("first"))
        claimed(queue)
        again, new = queue.submit(submission("first"))
        assert not new
        assert again.number == first.number
        assert again.state is JobState.RUNNING
        assert len(queue.jobs()) == 1

    @pytest.mark.parametrize("state", [JobState.QUEUED, JobState.PAUSED, JobState.COMPLETE, JobState.FAILED])
    def test_a_study_at_rest_gets_a_changed_study_file(self, queue: JobQueue, state: JobState) -> None:
        first, _ = queue.submit(submission("first"))
        if state is not JobState.QUEUED:
            claimed(queue)
            if state is JobState.PAUSED:
                queue.move("first", JobState.PAUSING)
            queue.move("first", state, note="why", crashes=2)
        changed, new = queue.submit(submission("first", "other", digest="new", text="new"))
        assert not new
        assert (changed.number, changed.state, changed.targets) == (first.number, JobState.QUEUED, ("other",))
        assert (changed.note, changed.crashes) == ("", 0)
        assert queue.study_file("first") == "new"
        assert queue.submit(submission("first", "other", digest="new", text="new")) == (changed, False)
        assert claimed(queue).name == "first"

    @pytest.mark.parametrize("state", [JobState.RUNNING, JobState.PAUSING, JobState.CANCELLING, JobState.CANCELLED])
    def test_a_study_that_runs_or_was_cancelled_keeps_its_study_file(self, queue: JobQueue, state: JobState) -> None:
        queue.submit(submission("first"))
        before = claimed(queue)
        if state is JobState.CANCELLED:
            before = queue.move("first", JobState.CANCELLING)
        if state is not JobState.RUNNING:
            before = queue.move("first", state)
        refusal = NameTaken if state is JobState.CANCELLED else WrongMove
        with pytest.raises(refusal, match="first"):
            queue.submit(submission("first", digest="other", text="other"))
        assert queue.find("first") == before
        assert queue.study_file("first") == "study: x\n"

    @pytest.mark.parametrize("state", [JobState.QUEUED, JobState.RUNNING, JobState.COMPLETE])
    def test_a_study_that_may_not_change_keeps_its_study_file(self, queue: JobQueue, state: JobState) -> None:
        bring(queue, "first", state)
        before = queue.find("first")
        with pytest.raises(NameTaken, match="first"):
            queue.submit(submission("first", digest="other", text="other"), may_change=False)
        assert queue.find("first") == before
        assert queue.study_file("first") == "study: x\n"
        assert queue.submit(submission("first"), may_change=False) == (before, False), "it is the same study"
        assert queue.submit(submission("second"), may_change=False)[1]

    def test_unknown_names_are_refused(self, queue: JobQueue) -> None:
        for ask in (queue.find, queue.study_file, lambda name: queue.move(name, JobState.PAUSED)):
            with pytest.raises(JobNotFound, match="nobody"):
                ask("nobody")

    def test_studies_run_in_the_order_they_came(self, queue: JobQueue) -> None:
        for name in ("first", "second"):
            queue.submit(submission(name))
        job = claimed(queue)
        assert (job.name, job.state, job.owner) == ("first", JobState.RUNNING, "a")
        assert queue.claim("a", at_once=1, lease_s=LONG_S) is None
        queue.move("first", JobState.COMPLETE, owner="a")
        assert claimed(queue).name == "second"

    def test_a_target_runs_at_most_the_given_number_of_studies(self, queue: JobQueue) -> None:
        queue.submit(submission("one", "lab"))
        queue.submit(submission("both", "lab", "other"))
        queue.submit(submission("two", "other"))
        queue.submit(submission("three", "lab"))
        assert claimed(queue).name == "one"
        assert claimed(queue).name == "two"
        assert queue.claim("a", at_once=1, lease_s=LONG_S) is None
        assert claimed(queue, at_once=2).name == "both"

    @pytest.mark.parametrize("state", [JobState.PAUSING, JobState.CANCELLING])
    def test_a_stopping_study_still_occupies_its_target(self, queue: JobQueue, state: JobState) -> None:
        queue.submit(submission("first"))
        queue.submit(submission("second"))
        claimed(queue)
        queue.move("first", state)
        assert queue.claim("a", at_once=1, lease_s=LONG_S) is None

    def test_a_study_on_a_target_that_a_service_lacks_is_left(self, queue: JobQueue) -> None:
        queue.submit(submission("both", "lab", "other"))
        queue.submit(submission("one", "lab"))
        ours = queue.claim("a", at_once=1, lease_s=0.0, targets={"lab": None})
        assert ours is not None
        assert ours.name == "one"
        assert queue.claim("b", at_once=9, lease_s=LONG_S, targets=["other"]) is None, "the lease of `one` has run out"
        assert [claimed(queue, "c", at_once=9).name for _ in range(2)] == ["one", "both"]

    def test_no_study_is_claimed_twice(self, reopen: Open) -> None:
        queues = [reopen() for _ in range(4)]
        for number in range(20):
            queues[0].submit(submission(f"s{number}", f"target{number}"))

        def all_of(owner: int) -> list[str]:
            found = []
            while (job := queues[owner].claim(str(owner), at_once=1, lease_s=LONG_S)) is not None:
                assert job.owner == str(owner)
                found.append(job.name)
            return found

        with ThreadPoolExecutor(len(queues)) as pool:
            found = [name for names in pool.map(all_of, range(len(queues))) for name in names]
        assert sorted(found) == sorted(f"s{number}" for number in range(20))

    def test_of_several_concurrent_submissions_only_one_is_new(self, reopen: Open) -> None:
        queues = [reopen() for _ in range(4)]
        with ThreadPoolExecutor(len(queues)) as pool:
            outcomes = list(pool.map(lambda queue: queue.submit(submission("first")), queues))
        assert sorted(new for _, new in outcomes) == [False, False, False, True]

    def test_another_service_can_claim_a_study_whose_lease_ran_out(self, queue: JobQueue, reopen: Open) -> None:
        queue.submit(submission("first"))
        claimed(queue, "dead", lease_s=0.0)
        queue.move("first", JobState.PAUSING)
        other = reopen()
        job = claimed(other, "b")
        assert (job.name, job.state, job.owner) == ("first", JobState.PAUSING, "b")
        assert other.claim("c", at_once=1, lease_s=LONG_S) is None
        assert queue.renew("dead", lease_s=LONG_S) == []
        with pytest.raises(WrongMove, match="b"):
            queue.move("first", JobState.PAUSED, owner="dead")
        assert queue.move("first", JobState.PAUSED, owner="b").state is JobState.PAUSED

    def test_a_renewed_lease_is_kept(self, queue: JobQueue) -> None:
        for name in ("first", "second", "third"):
            queue.submit(submission(name, name))
        claimed(queue, "a", lease_s=0.0)
        assert [job.name for job in queue.renew("a", lease_s=LONG_S)] == ["first"]
        assert claimed(queue, "b").name == "second"
        assert claimed(queue, "a").name == "third"
        assert [job.name for job in queue.renew("a", lease_s=LONG_S)] == ["first", "third"]

    def test_a_study_that_has_ended_is_neither_renewed_nor_claimed(self, queue: JobQueue) -> None:
        queue.submit(submission("first"))
        claimed(queue, "a", lease_s=0.0)
        queue.move("first", JobState.COMPLETE)
        assert queue.renew("a", lease_s=LONG_S) == []
        assert queue.claim("b", at_once=1, lease_s=LONG_S) is None

    def test_a_requeued_study_waits_for_its_delay(self, queue: JobQueue) -> None:
        queue.submit(submission("first"))
        queue.submit(submission("second"))
        claimed(queue)
        job = queue.move("first", JobState.QUEUED, owner="a", note="it crashed", crashes=1, delay_s=LONG_S)
        assert (job.state, job.note, job.crashes) == (JobState.QUEUED, "it crashed", 1)
        assert claimed(queue).name == "second"
        queue.move("second", JobState.COMPLETE)
        assert queue.claim("a", at_once=1, lease_s=LONG_S) is None

    def test_a_requeued_study_keeps_its_position_and_its_crash_count(self, queue: JobQueue) -> None:
        queue.submit(submission("first"))
        queue.submit(submission("second"))
        claimed(queue)
        queue.move("first", JobState.QUEUED, note="it crashed", crashes=2)
        job = claimed(queue)
        assert (job.name, job.crashes, job.note) == ("first", 2, "")

    @pytest.mark.parametrize("to", list(JobState))
    @pytest.mark.parametrize("state", list(JobState))
    def test_only_allowed_states_can_follow_a_state(self, queue: JobQueue, state: JobState, to: JobState) -> None:
        """The allowed moves are written out here again, independently of the code."""
        allowed = {
            JobState.QUEUED: "paused cancelled failed",
            JobState.RUNNING: "queued pausing cancelling complete failed",
            JobState.PAUSING: "paused cancelling complete failed",
            JobState.PAUSED: "queued cancelled",
            JobState.CANCELLING: "cancelled complete",
            JobState.CANCELLED: "",
            JobState.COMPLETE: "",
            JobState.FAILED: "queued cancelled",
        }
        bring(queue, "first", state)
        if to is state or to in allowed[state].split():
            assert queue.move("first", to).state is to
        else:
            done = {JobState.PAUSING: "paused", JobState.CANCELLING: "cancelled"}.get(to, to)
            with pytest.raises(WrongMove, match=f"is {state}, so it can't be {done}$"):
                queue.move("first", to)
            assert queue.find("first").state is state

    def test_a_new_note_alone_does_not_change_the_state(self, queue: JobQueue) -> None:
        queue.submit(submission("first"))
        before = claimed(queue)
        after = queue.move("first", JobState.RUNNING, note="the last lines")
        assert after.note == "the last lines"
        assert after.changed_at == before.changed_at

    def test_lists_are_paged_from_the_newest(self, queue: JobQueue) -> None:
        for number in range(5):
            queue.submit(submission(f"s{number}", f"t{number}"))
        first = queue.jobs(limit=2)
        assert [job.name for job in first] == ["s4", "s3"]
        assert [job.name for job in queue.jobs(before=first[-1].number, limit=2)] == ["s2", "s1"]
        assert [job.name for job in queue.jobs(before=1)] == []
        assert queue.jobs(limit=0) == []

    def test_jobs_are_listed_and_counted_by_state(self, queue: JobQueue) -> None:
        for number in range(3):
            queue.submit(submission(f"s{number}", f"t{number}"))
        claimed(queue)
        assert [job.name for job in queue.jobs() if job.active] == ["s0"]
        assert queue.counts() == {JobState.RUNNING: 1, JobState.QUEUED: 2}

    def test_the_queue_survives_being_closed(self, queue: JobQueue, reopen: Open) -> None:
        queue.submit(submission("first"))
        claimed(queue, "a")
        queue.close()
        queue.close()
        again = reopen()
        assert again.find("first").state is JobState.RUNNING
        assert [job.name for job in again.renew("a", lease_s=LONG_S)] == ["first"]

    @pytest.mark.parametrize(
        ("state", "then"),
        [
            (JobState.COMPLETE, JobState.COMPLETE),
            (JobState.PAUSED, JobState.PAUSED),
            (JobState.FAILED, JobState.PAUSED),
        ],
    )
    def test_a_study_at_rest_gets_a_task_and_its_state_back(
        self, queue: JobQueue, reopen: Open, state: JobState, then: JobState
    ) -> None:
        bring(queue, "first", state)
        assert queue.move("first", state, note="why", crashes=2).task == Task()
        job = queue.assign("first", TaskKind.CONFIRM, {"rounds": 3})
        assert (job.state, job.note, job.crashes) == (JobState.QUEUED, "", 0)
        assert reopen().find("first").task == Task(TaskKind.CONFIRM, {"rounds": 3}, then)
        running = claimed(queue)
        assert running.task.kind is TaskKind.CONFIRM
        if then is not JobState.COMPLETE:
            with pytest.raises(WrongMove):
                queue.move("first", then)  # a client must not end what a process still does
        ended = queue.move("first", running.task.then, owner="a", task=Task())
        assert (ended.state, ended.task) == (then, Task())

    @pytest.mark.parametrize("state", [JobState.QUEUED, JobState.RUNNING, JobState.CANCELLED])
    def test_a_study_that_is_not_at_rest_gets_no_task(self, queue: JobQueue, state: JobState) -> None:
        queue.submit(submission("first"))
        if state is JobState.RUNNING:
            claimed(queue)
        elif state is JobState.CANCELLED:
            queue.move("first", state)
        with pytest.raises(WrongMove, match="to confirm, a study must be complete, paused or failed"):
            queue.assign("first", TaskKind.CONFIRM, {})
        assert queue.find("first").task == Task()
        with pytest.raises(JobNotFound):
            queue.assign("other", TaskKind.SYNC, {})

    @pytest.mark.parametrize("kind", [TaskKind.CONFIRM, TaskKind.VERIFY])
    @pytest.mark.parametrize("state", [JobState.PAUSED, JobState.FAILED])
    def test_a_task_that_has_not_ended_is_not_replaced_by_another(
        self, queue: JobQueue, kind: TaskKind, state: JobState
    ) -> None:
        task = Task(kind, {"rounds": 3})
        queue.submit(replace(submission("first"), task=task))
        claimed(queue)
        if state is JobState.PAUSED:
            queue.move("first", JobState.PAUSING)
        queue.move("first", state, owner="a")
        with pytest.raises(WrongMove, match=f"has not ended its task {kind}, which would be lost; resume first first"):
            queue.assign("first", TaskKind.SYNC, {})
        assert (queue.find("first").state, queue.find("first").task) == (state, task)
        assert queue.assign("first", kind, {"rounds": 4}).task.options == {"rounds": 4}

    @pytest.mark.parametrize("state", [JobState.COMPLETE, JobState.PAUSED])
    def test_a_study_whose_task_failed_gets_the_state_back_that_it_had_before(
        self, queue: JobQueue, state: JobState
    ) -> None:
        bring(queue, "first", state)
        for kind in (TaskKind.SYNC, TaskKind.CONFIRM, TaskKind.CONFIRM):
            assert queue.assign("first", kind, {}).task == Task(kind, {}, state)
            claimed(queue)
            queue.move("first", JobState.FAILED, owner="a")

    @pytest.mark.parametrize("kind", [TaskKind.CONFIRM, TaskKind.SYNC])
    @pytest.mark.parametrize("then", [JobState.COMPLETE, JobState.PAUSED])
    @pytest.mark.parametrize("state", [JobState.QUEUED, JobState.CANCELLING, JobState.PAUSED, JobState.FAILED])
    def test_a_cancelled_task_gives_the_study_its_state_back(
        self, queue: JobQueue, monkeypatch: pytest.MonkeyPatch, kind: TaskKind, then: JobState, state: JobState
    ) -> None:
        bring(queue, "first", then)
        queue.assign("first", kind, {})
        if state is not JobState.QUEUED:
            claimed(queue)
            queue.move("first", JobState.PAUSING if state is JobState.PAUSED else state, note="why")
            queue.move("first", state)
        with monkeypatch.context() as patch:  # the connection breaks before the first answer
            once = queue._table.change
            patch.setattr(
                queue._table,
                "change",
                lambda work: once(lambda ask, _: (work(ask, False), work(ask, True))[-1]),
            )
            cancelled = queue.move("first", JobState.CANCELLED)
        assert (cancelled.state, cancelled.note, cancelled.task) == (then, "", Task())
        assert queue.assign("first", kind, {}).state is JobState.QUEUED

    def test_a_cancelled_verification_is_cancelled_for_good(self, queue: JobQueue) -> None:
        queue.submit(replace(submission("first"), task=Task(TaskKind.VERIFY)))
        assert queue.move("first", JobState.CANCELLED).state is JobState.CANCELLED

    def test_a_changed_study_file_replaces_the_task(self, queue: JobQueue) -> None:
        queue.submit(submission("first"))
        claimed(queue)
        queue.move("first", JobState.COMPLETE)
        queue.assign("first", TaskKind.SYNC, {})
        job, _ = queue.submit(submission("first", digest="new"))
        assert job.task == Task()

    def test_a_removed_study_is_gone_and_its_name_is_free(self, queue: JobQueue, reopen: Open) -> None:
        queue.submit(submission("first"))
        queue.submit(submission("second"))
        with pytest.raises(WrongMove, match="neither waiting nor running, but first is queued"):
            queue.remove("first")
        claimed(queue)
        with pytest.raises(WrongMove, match="neither waiting nor running, but first is running"):
            queue.remove("first")
        queue.move("first", JobState.FAILED)
        queue.remove("first")
        queue.remove("first")
        assert reopen().names() == {"second"}
        again, new = queue.submit(submission("first", digest="other"))
        assert new
        assert again.number > queue.find("second").number

    def test_nobody_starts_a_study_that_is_being_removed(
        self, queue: JobQueue, reopen: Open, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        queue.submit(submission("first"))
        with pytest.raises(WrongMove, match="neither waiting nor running"), queue.removing("first"):
            pytest.fail("the study waits")
        queue.move("first", JobState.PAUSED)
        before = queue.find("first")
        with suppress(OSError), queue.removing("first") as found:
            assert found
            raise OSError("a full disk")
        assert queue.find("first") == before, "it could not be removed"
        with monkeypatch.context() as patch:  # the connection breaks before the first answer
            once = queue._table.change
            patch.setattr(queue._table, "change", lambda work: (once(work), once(work))[-1])
            with suppress(OSError), queue.removing("first"):
                raise OSError("a full disk")
        assert queue.find("first") == before
        with queue.removing("first"):
            for change in (
                lambda: reopen().move("first", JobState.QUEUED),
                lambda: reopen().assign("first", TaskKind.SYNC, {}),
                lambda: reopen().submit(submission("first", digest="other")),
            ):
                with pytest.raises((WrongMove, NameTaken)):
                    change()
            assert queue.claim("a", at_once=1, lease_s=LONG_S) is None
        with queue.removing("first") as found:
            assert not found
        assert queue.names() == set()

    def test_a_name_can_be_required_to_be_new(self, queue: JobQueue) -> None:
        made, new = queue.submit(
            Submission("first", "d", "study: x\n", ("lab",), state=JobState.PAUSED), must_be_new=True
        )
        assert (made.state, new) == (JobState.PAUSED, True)
        with pytest.raises(NameTaken, match="there is already a study first"):
            queue.submit(submission("first"), must_be_new=True)
        assert queue.claim("a", at_once=1, lease_s=LONG_S) is None


def bring(queue: JobQueue, name: str, state: JobState) -> None:
    """Submit a study and bring it into a state with allowed moves."""
    ways: dict[JobState, tuple[JobState, ...]] = {
        JobState.QUEUED: (),
        JobState.PAUSED: (JobState.PAUSED,),
        JobState.CANCELLED: (JobState.CANCELLED,),
    }
    queue.submit(submission(name))
    if state not in ways:
        claimed(queue)
        ways = {JobState.RUNNING: ()}
    for step in ways.get(state, (state,)):
        queue.move(name, step)
