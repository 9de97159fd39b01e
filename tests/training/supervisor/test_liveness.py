"""When a task is live, busy or lost; when it is started again, and when a checkpoint is due. No clock, no socket."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from virtual import run

from actorflow.errors import DataLossError, InvalidArgumentError
from actorflow.training.supervisor.liveness import Connected, Ended, Life, Polled, Rules, Seen, State, observe
from actorflow.training.supervisor.recovery.epochs import FILE, EpochStore
from actorflow.training.supervisor.recovery.restarts import RestartPolicy, Restarts
from actorflow.training.supervisor.saves import SaveTimer

RULES = Rules(busy_seconds=3.0, look_seconds=0.5)

incarnations = st.integers(1, 3)
seen = st.one_of(
    st.builds(Connected, incarnations),
    st.builds(Polled, st.floats(0, 1e4)),
    st.builds(Ended, incarnations, st.just("gone")),
)
pauses = st.floats(0, 60)
histories = st.lists(st.tuples(pauses, seen), max_size=40)


def follow(life: Life, history: list[tuple[float, Seen]]) -> list[tuple[float, Seen, Life]]:
    """The life after each observation, with its time."""
    now, found = life.since, []
    for pause, one in history:
        now += pause
        life = observe(life, one, now, RULES)
        found.append((now, one, life))
    return found


# ---- the states of a task


@given(histories)
def test_f64_only_the_end_of_the_present_incarnation_makes_a_task_lost(history: list[tuple[float, Seen]]) -> None:
    before = Life()
    for _, one, after in follow(before, history):
        if after.state is State.LOST and before.state is not State.LOST:
            assert isinstance(one, Ended) and one.incarnation == before.incarnation and after.why == "gone"
        if isinstance(one, Ended) and before.is_up and one.incarnation == before.incarnation:
            assert after.state is State.LOST
        before = after


@given(histories)
def test_f64_only_a_connection_makes_a_task_live_again(history: list[tuple[float, Seen]]) -> None:
    before = Life()
    for _, one, after in follow(before, history):
        if after.is_up and not before.is_up:
            assert one == Connected(after.incarnation or 0) and after.state is State.LIVE
        if not isinstance(one, Connected):
            assert after.incarnation == before.incarnation
        before = after


@given(st.lists(pauses, max_size=200), st.booleans())
def test_f64_a_task_that_never_beats_is_busy_and_never_lost(waits: list[float], late: bool) -> None:
    """A kernel that holds the interpreter for half a minute, or for a day."""
    waits = waits if late else [min(wait, RULES.look_seconds) for wait in waits]
    life = observe(Life(), Connected(1), 0.0, RULES)
    for now, _, after in follow(life, [(wait, Polled(0.0)) for wait in waits]):
        assert after.is_up
        if not late:
            assert (after.state is State.BUSY) == (now >= RULES.busy_seconds)


@given(histories)
def test_f64_a_beat_just_now_makes_a_busy_task_live(history: list[tuple[float, Seen]]) -> None:
    lives = follow(Life(), history)
    if lives and lives[-1][2].is_up:
        now, _, life = lives[-1]
        assert observe(life, Polled(now), now, RULES).state is State.LIVE


@given(histories)
def test_f64_since_is_when_the_state_began(history: list[tuple[float, Seen]]) -> None:
    before = Life()
    for now, one, after in follow(before, history):
        assert after.since <= now
        if after.state is not before.state:
            assert after.since == now
        elif not isinstance(one, Connected):
            assert after.since == before.since
        before = after


def test_f64_an_observer_that_was_held_up_itself_blames_nobody() -> None:
    life = observe(Life(), Connected(1), 0.0, RULES)
    life = observe(life, Polled(0.4), 0.5, RULES)
    life = observe(life, Polled(0.4), 60.5, RULES)  # it has not looked for a minute; the beats wait to be read
    assert life.state is State.LIVE
    for tick in range(1, 7):
        life = observe(life, Polled(0.4), 60.5 + tick / 2, RULES)
    assert life.state is State.BUSY and life.since == 63.5


def test_f64_a_task_that_nobody_has_reached_is_starting() -> None:
    life = observe(Life(), Polled(0.0), 1e6, RULES)
    assert life == Life() and observe(life, Ended(1, "gone"), 2e6, RULES) == Life()


# ---- restarts


@given(
    st.builds(
        RestartPolicy,
        most=st.integers(0, 8),
        window_seconds=st.floats(1, 1e4),
        first_seconds=st.floats(0, 10),
        factor=st.floats(1, 4),
        longest_seconds=st.floats(0, 100),
    ),
    st.lists(st.floats(0, 100), max_size=60),
    st.randoms(use_true_random=False),
)
def test_f65_restarts_keep_to_their_budget(policy: RestartPolicy, waits: list[float], random: object) -> None:
    restarts = Restarts(policy, random.random)  # type: ignore[attr-defined]
    now, made = 0.0, []
    for wait in waits:
        now += wait
        recent = [time for time in made if now - time < policy.window_seconds]
        pause = restarts.next_pause("task", now)
        assert (pause is None) == (len(recent) >= policy.most)
        if pause is not None:
            full = min(policy.longest_seconds, policy.first_seconds * policy.factor ** len(recent))
            assert full / 2 <= pause <= full
            made.append(now)
    restarts.forget("task")
    assert (restarts.next_pause("task", now) is None) == (policy.most == 0)


def test_f65_pauses_grow_and_differ() -> None:
    policy = RestartPolicy(first_seconds=1.0, factor=2.0, longest_seconds=10.0)
    assert [policy.pause(n, 1.0) for n in range(6)] == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]
    assert policy.pause(3, 0.0) == 4.0 and policy.pause(10**9, 1.0) == 10.0


def test_f65_a_step_between_two_restarts_makes_the_next_pause_the_first_again_and_no_budget_larger() -> None:
    restarts = Restarts(RestartPolicy(most=7, first_seconds=1.0, factor=2.0), lambda: 1.0)
    assert [restarts.next_pause("a", 0.0) for _ in range(3)] == [1.0, 2.0, 4.0] and restarts.in_row("a") == 3
    assert restarts.next_pause("b", 0.0) == 1.0
    restarts.step_made(down={"b"})
    assert [restarts.next_pause("a", 1.0) for _ in range(2)] == [1.0, 2.0] and restarts.next_pause("b", 1.0) == 2.0
    for _ in range(2):
        restarts.step_made(down=())
        assert restarts.next_pause("a", 2.0) == 1.0
    assert restarts.next_pause("a", 3.0) is None
    assert restarts.next_pause("a", 600.5) == 2.0, "of which one was made within the window"


def test_f65_each_task_has_a_budget_of_its_own() -> None:
    restarts = Restarts(RestartPolicy(most=1), lambda: 0.0)
    assert restarts.next_pause("a", 0.0) is not None and restarts.next_pause("a", 1.0) is None
    assert restarts.next_pause("b", 1.0) is not None


# ---- checkpoints that are due


def saves(timer: SaveTimer, times: list[float]) -> list[int]:
    """The steps at which a loop saves whose step `n` begins at `times[n]`."""
    timer.begin(0, times[0])
    found = []
    for step, now in enumerate(times):
        if timer.is_due(step, now):
            timer.saved(step, now)
            found.append(step)
    return found


def test_f67_every_ten_steps_and_every_second() -> None:
    assert saves(SaveTimer(10, None), [0.0] * 95) == [10, 20, 30, 40, 50, 60, 70, 80, 90]
    by_time = saves(SaveTimer(None, 1.0), [n * 0.3 for n in range(19)])  # for 5.4 s
    assert len(by_time) == 5 and [math.floor(n * 0.3) for n in by_time] == [1, 2, 3, 4, 5]
    assert saves(SaveTimer(10, 1.0), [0.0] * 15 + [1.5] * 20) == [10, 15, 25]


@given(st.integers(1, 20), st.lists(st.integers(0, 5), max_size=60))
def test_f67_no_save_without_a_step_and_none_too_late(every: int, leaps: list[int]) -> None:
    """Other workers make steps as well, so that their number leaps."""
    timer, step, at = SaveTimer(every, None), 0, [0]
    timer.begin(0, 0.0)
    for leap in leaps:
        step += leap
        if timer.is_due(step, 0.0):
            timer.saved(step, 0.0)
            at.append(step)
        assert step - timer.saved_step < every
    assert all(later - earlier >= every for earlier, later in pairwise(at))


def test_f67_after_a_restore_steps_count_from_there() -> None:
    timer = SaveTimer(10, None)
    timer.begin(50, 0.0)
    assert not timer.is_due(59, 0.0) and timer.is_due(60, 0.0) and not timer.is_due(50, 1e9)


@pytest.mark.parametrize("steps, seconds", [(0, None), (None, 0.0), (-1, 1.0), (None, float("nan"))])
def test_f67_intervals_are_positive(steps: int | None, seconds: float | None) -> None:
    with pytest.raises(InvalidArgumentError, match="positive"):
        SaveTimer(steps, seconds)


# ---- epochs


def test_f65_epochs_survive_the_chief(tmp_path: Path) -> None:
    async def main() -> None:
        store = EpochStore(str(tmp_path / "new"))
        assert await store.read() == 0
        await store.write(7)
        assert await EpochStore(str(tmp_path / "new")).read() == 7
        assert await EpochStore(None).read() == 0
        await EpochStore(None).write(3)

    run(main)
    assert [file.name for file in (tmp_path / "new").iterdir()] == [FILE]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"epoch": -1}', '{"epoch": true}', '{"epoch": "1"}'])
def test_f65_a_damaged_file_of_epochs_says_what_to_do(tmp_path: Path, content: str) -> None:
    (tmp_path / FILE).write_text(content)
    with pytest.raises(DataLossError, match=r"can't be read.*\n.*") as caught:
        run(lambda: EpochStore(str(tmp_path)).read())
    assert "above all former epochs" in str(caught.value)
