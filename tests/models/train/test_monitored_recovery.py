"""Monitored sessions without a cluster: what their sessions, hooks and threads lose, who opens them, and how they end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import actorflow as af
import actorflow.compat.v1 as tf

LOSSES = [af.errors.AbortedError("gone"), af.errors.UnavailableError("gone")]


class FailsOnce(tf.train.SessionRunHook):
    """Raises an error at a place of the `number`th step."""

    def __init__(self, place: str, number: int, error: Exception) -> None:
        self.place, self.left, self.error = place, number, error

    def _pass(self, place: str) -> None:
        if place == self.place:
            self.left -= 1
            if self.left == 0:
                raise self.error

    def before_run(self, run_context: Any) -> None:
        self._pass("before_run")

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._pass("after_run")

    def after_create_session(self, session: Any, coord: Any) -> None:
        self._pass("after_create_session")


@pytest.mark.parametrize("error", LOSSES, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("place", ["before_run", "after_run"])
def test_a_step_whose_session_is_lost_is_made_on_a_new_one(place: str, error: Exception) -> None:
    with tf.Graph().as_default():
        step = tf.train.create_global_step().assign_add(1)
        with tf.train.MonitoredSession(hooks=[FailsOnce(place, 3, error)]) as session:
            assert [session.run(step) for _ in range(4)] == [1, 2, 1, 2]


@pytest.mark.parametrize("error", LOSSES, ids=lambda error: type(error).__name__)
def test_a_session_that_is_lost_while_it_begins_is_opened_again(error: Exception) -> None:
    calls = []

    def init(scaffold: Any, session: Any) -> None:
        calls.append(session)
        if len(calls) == 1:
            raise error

    with tf.Graph().as_default():
        v = tf.Variable(3.0)
        hook = FailsOnce("after_create_session", 1, error)
        creator = tf.train.ChiefSessionCreator(tf.train.Scaffold(init_fn=init))
        with tf.train.MonitoredSession(creator, hooks=[hook]) as session:
            assert session.run(v) == 3.0
    assert len(calls) == 3


def test_a_session_that_is_always_lost_is_an_error_after_ten() -> None:
    calls = []

    class Fails(tf.train.SessionRunHook):
        def before_run(self, run_context: Any) -> None:
            calls.append(run_context)
            raise af.errors.AbortedError("always")

    with tf.Graph().as_default():
        v = tf.Variable(3.0)
        with pytest.raises(af.errors.AbortedError, match="always"):
            with tf.train.MonitoredSession(hooks=[Fails()]) as session:
                session.run(v)
    assert len(calls) == 10


def test_a_singular_session_is_not_replaced() -> None:
    with tf.Graph().as_default():
        v = tf.Variable(3.0)
        with pytest.raises(af.errors.AbortedError):
            with tf.train.SingularMonitoredSession(hooks=[FailsOnce("before_run", 1, LOSSES[0])]) as session:
                session.run(v)


class StopsCoordinator(tf.train.SessionRunHook):
    """A thread of the coordinator reports an error."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.sessions = 0

    def after_create_session(self, session: Any, coord: Any) -> None:
        self.sessions += 1
        if self.sessions == 1:
            thread = threading.Thread(target=coord.request_stop, args=(self.error,))
            coord.register_thread(thread)
            thread.start()
            thread.join()


def test_a_thread_that_loses_the_session_has_a_new_one_made() -> None:
    with tf.Graph().as_default():
        v = tf.Variable(3.0)
        hook = StopsCoordinator(LOSSES[0])
        with tf.train.MonitoredSession(hooks=[hook]) as session:
            assert not session.should_stop()
            assert session.run(v) == 3.0
    assert hook.sessions == 2


def test_a_thread_that_fails_stops_the_training_and_its_error_is_raised_at_the_end() -> None:
    with tf.Graph().as_default():
        v = tf.Variable(3.0)
        with pytest.raises(af.errors.UnknownError, match="fatal"):
            with tf.train.MonitoredSession(hooks=[StopsCoordinator(af.errors.UnknownError("fatal"))]) as session:
                assert session.should_stop()
                assert session.run(v) == 3.0


# ---- step functions


def test_a_step_function_is_called_again_for_a_new_session() -> None:
    with tf.Graph().as_default():
        v, calls = tf.Variable(3.0), []

        def step_fn(step_context: Any) -> Any:
            calls.append(step_context.session.run(v))
            return step_context.run_with_hooks(v)

        with tf.train.MonitoredSession(hooks=[FailsOnce("before_run", 1, LOSSES[0])]) as session:
            assert session.run_step_fn(step_fn) == 3.0
    assert len(calls) == 2


class Model:
    def step_fn(self, step_context: Any) -> Any:
        return 7

    def wide_step_fn(self, step_context: Any, more: Any) -> Any: ...


WRONG: list[Callable[..., Any]] = [Model().wide_step_fn, lambda: None, lambda step_context, more: None]


@pytest.mark.parametrize("step_fn", WRONG)
def test_a_step_function_takes_one_argument(step_fn: Callable[..., Any]) -> None:
    with tf.Graph().as_default(), tf.train.MonitoredSession() as session:
        assert session.run_step_fn(Model().step_fn) == 7
        with pytest.raises(ValueError, match="`step_fn` may either have one `step_context` argument"):
            session.run_step_fn(step_fn)


def test_a_stop_in_a_step_function_ends_the_block() -> None:
    with tf.Graph().as_default():
        with tf.train.MonitoredSession() as session:
            session.run_step_fn(lambda step_context: step_context.request_stop())
            pytest.fail("the block has ended before")
        session = tf.train.MonitoredSession()
        with pytest.raises(StopIteration):
            session.run_step_fn(lambda step_context: step_context.request_stop())
        assert not session.should_stop()
        session.close()


# ---- sessions and graphs


def test_a_program_may_open_the_session_itself_and_use_it_before() -> None:
    with tf.Graph().as_default(), tf.Session() as own:
        v = tf.Variable(3.0)
        own.run(v.initializer)

        class Creator(tf.train.SessionCreator):
            def create_session(self) -> Any:
                own.run(v.assign_add(1.0))
                return own

        with tf.train.MonitoredSession(Creator(), [FailsOnce("before_run", 9, LOSSES[0])]) as session:
            assert session.run(v) == 4.0
            assert session.run_step_fn(lambda step_context: step_context.session.run(v)) == 4.0


def test_a_raw_session_is_a_tf_session_and_what_is_closed_is_not_closed_again() -> None:
    with tf.Graph().as_default():
        with tf.train.SingularMonitoredSession() as singular:
            assert isinstance(singular.raw_session(), tf.Session)
        assert singular.raw_session() is None
        with tf.train.MonitoredTrainingSession() as training:
            assert isinstance(training, tf.train.MonitoredSession)
        with pytest.raises(RuntimeError, match="Session is already closed"):
            with tf.train.MonitoredSession() as session:
                session.close()


def test_a_graph_that_is_finalized_by_a_scaffold_serves_others_and_stays_so() -> None:
    with tf.Graph().as_default() as graph:
        step = tf.train.create_global_step().assign_add(1)
        scaffold, other = tf.train.Scaffold().finalize(), tf.train.Scaffold().finalize()
        for part in ("init_op", "ready_op", "ready_for_local_init_op", "local_init_op", "saver"):
            assert getattr(scaffold, part) is getattr(other, part)
        with tf.train.MonitoredSession() as session:
            assert session.run(step) == 1
        assert graph.finalized
        with pytest.raises(RuntimeError, match="Graph is finalized and cannot be modified"):
            tf.constant(1)


# ---- session managers


@pytest.mark.parametrize("ready", ["report_uninitialized_variables", "assert_variables_initialized"])
def test_a_manager_takes_a_ready_op_that_names_variables_or_fails(ready: str) -> None:
    with tf.Graph().as_default():
        v = tf.Variable(3.0, name="v")
        manager = tf.train.SessionManager(ready_op=getattr(tf, ready)(), recovery_wait_secs=0.01)
        with manager.prepare_session("", init_op=v.initializer) as session:
            assert session.run(v) == 3.0
        with pytest.raises(RuntimeError, match="did not make model ready"):
            manager.prepare_session("", init_fn=lambda session: None)
        with pytest.raises(tf.errors.DeadlineExceededError):
            manager.wait_for_session("", max_wait_secs=0.05)


def test_a_saver_restores_in_the_session_of_another_graph_with_its_names(tmp_path: Any) -> None:
    def build() -> tuple[Any, Any, Any]:
        with tf.Graph().as_default() as graph:
            v = tf.Variable(3.0, name="v")
            return graph, v, tf.train.Saver()

    graph, v, saver = build()
    _, _, other = build()
    with tf.Session(graph=graph) as session:
        session.run(v.initializer)
        path = saver.save(session, str(tmp_path / "run"))
        session.run(v.assign(0.0))
        other.restore(session, path)
        assert session.run(v) == 3.0


def test_a_basic_train_loop_makes_an_aborted_step_again(tmp_path: Any) -> None:
    calls: list[int] = []

    def train_step(session: Any, limit: int) -> None:
        calls.append(session.run(step))
        if len(calls) == 2:
            raise tf.errors.AbortedError(None, None, "lost")
        if len(calls) == limit:
            supervisor.request_stop()

    with tf.Graph().as_default():
        step = tf.train.create_global_step().assign_add(1)
        supervisor = tf.train.Supervisor(logdir=str(tmp_path))
        tf.train.basic_train_loop(supervisor, train_step, args=[4])
    assert len(calls) == 4


def test_a_session_that_can_not_be_opened_again_at_once_is_opened_later() -> None:
    """A start that fails counts as one of the tries."""

    class Creator(tf.train.SessionCreator):
        calls = 0

        def create_session(self) -> Any:
            self.calls += 1
            if self.calls in (2, 3):
                raise af.errors.UnavailableError("still down")
            return tf.Session()

    with tf.Graph().as_default():
        three = tf.constant(3.0)
        creator, hook = Creator(), FailsOnce("after_run", 1, af.errors.AbortedError("gone"))
        with tf.train.MonitoredSession(creator, [hook]) as session:
            assert session.run(three) == 3.0
        assert creator.calls == 4


def test_a_step_function_makes_no_step_after_a_hook_asked_for_the_end() -> None:
    class Stop(tf.train.SessionRunHook):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            run_context.request_stop()

    def step(step_context: Any) -> None:
        assert step_context.run_with_hooks(three) == 3.0
        step_context.run_with_hooks(three)

    with tf.Graph().as_default():
        three = tf.constant(3.0)
        with pytest.raises(RuntimeError, match="Run called even after should_stop requested"):
            with tf.train.MonitoredSession(hooks=[Stop()]) as session:
                session.run_step_fn(step)
