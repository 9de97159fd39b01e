"""`tf.train.Supervisor` and `tf.train.SessionManager`, as programs of TensorFlow 1 use them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from patience import PATIENCE

import actorflow as af
import actorflow.compat.v1 as tf
from actorflow.cluster.client.inquiries import query_status


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as made:
        yield made


def counting() -> Any:
    """A step that counts, and the global step."""
    step = tf.train.get_or_create_global_step()
    tf.summary.scalar("twice", 2 * step)
    return tf.assign_add(step, 1), step


class Saved:
    """A saver that says when it has saved."""

    def __init__(self, saver: Any) -> None:
        self._saver, self.saved = saver, threading.Event()

    def save(self, *args: Any, **options: Any) -> Any:
        try:
            return self._saver.save(*args, **options)
        finally:
            self.saved.set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._saver, name)


def test_a_training_is_saved_and_goes_on_from_there(tmp_path: Path) -> None:
    logs = str(tmp_path / "logs")
    for begun in (0, 3):
        with tf.Graph().as_default():
            count, step = counting()
            saver = Saved(tf.train.Saver())
            supervisor = tf.train.Supervisor(logdir=logs, saver=saver, save_summaries_secs=0)
            with supervisor.managed_session(config=tf.ConfigProto(device_count={"CPU": 1})) as session:
                assert isinstance(session, tf.Session)
                assert saver.saved.wait(PATIENCE), "at once, and then from time to time"
                assert session.run(step) == begun
                while not supervisor.should_stop():
                    if session.run(count, feed_dict={}) == begun + 3:
                        supervisor.request_stop()
                supervisor.saver.save(session, supervisor.save_path, global_step=step)
            assert session._closed and supervisor.coord.joined
    assert tf.train.latest_checkpoint(logs) == os.path.join(logs, "model.ckpt-6")
    assert (tmp_path / "logs" / "graph.pbtxt").is_file()


def test_summaries_and_events_are_written(tmp_path: Path) -> None:
    count, _ = counting()
    supervisor = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0, save_summaries_secs=0)
    assert supervisor.summary_op is not None and supervisor.global_step is not None
    with supervisor.managed_session() as session:
        session.run(count)
        supervisor.summary_computed(session, session.run(supervisor.summary_op))
        with pytest.raises(TypeError, match="bytes or a Summary"):
            supervisor.summary_computed(session, "no summary")
    events = list(af.summary.read_events(str(tmp_path)))
    values = [(event.step, value.tag, value.simple_value) for event in events for value in event.summary.value]
    assert values == [(1, "twice", 2.0)]
    kinds = [event.session_log.status for event in events if event.HasField("session_log")]
    assert kinds == [tf.SessionLog.START, tf.SessionLog.STOP]
    assert any(event.graph_def for event in events)


def test_services_write_by_themselves(tmp_path: Path) -> None:
    count, _ = counting()
    supervisor = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0, save_summaries_secs=3600)
    with supervisor.managed_session() as session:
        session.run(count)
        supervisor.summary_writer.flush()
        supervisor._write_summaries(session)
    steps = [event.step for event in af.summary.read_events(str(tmp_path)) if event.summary.value]
    assert 1 in steps


def test_queues_are_filled_and_their_end_is_no_error(tmp_path: Path) -> None:
    value = tf.train.limit_epochs(tf.constant(7), num_epochs=3)
    queue = tf.FIFOQueue(10, tf.int32)
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(value)]))
    taken = queue.dequeue()
    found = []
    supervisor = tf.train.Supervisor(logdir=str(tmp_path), summary_op=None, saver=None)
    with supervisor.managed_session() as session:
        while not supervisor.should_stop():
            found.append(session.run(taken))
    assert found == [7, 7, 7] and supervisor.should_stop()


def test_errors_are_raised_at_the_end() -> None:
    supervisor = tf.train.Supervisor()
    with pytest.raises(KeyError, match="mine"), supervisor.managed_session():
        raise KeyError("mine")

    def fail() -> None:
        raise LookupError("of a thread")

    with pytest.raises(LookupError, match="of a thread"), supervisor.managed_session():
        supervisor.loop(60, fail)
        supervisor.wait_for_stop()


def test_parts_are_taken_from_their_collections() -> None:
    v = tf.Variable(1.0)
    init = tf.group(v.initializer, name="mine")
    tf.add_to_collection(tf.GraphKeys.INIT_OP, init)
    supervisor = tf.train.Supervisor(local_init_op=None, ready_op=None)
    assert supervisor.init_op is init and supervisor.ready_op is None
    assert supervisor.save_path is None and supervisor.summary_writer is None and supervisor.is_chief
    with supervisor.managed_session() as session:
        assert session.run(v) == 1
    with pytest.raises(RuntimeError, match="not initialized"):
        broken = tf.train.Supervisor(init_op=tf.no_op())
        broken.prepare_or_wait_for_session()


def test_initial_values_may_be_fed_or_given_by_a_function() -> None:
    x = tf.placeholder(tf.float32, [])
    v, w = tf.Variable(x), tf.Variable(0.0)
    supervisor = tf.train.Supervisor(
        init_op=v.initializer, init_feed_dict={x: 5.0}, init_fn=lambda session: session.run(w.initializer)
    )
    session = supervisor.prepare_or_wait_for_session()
    assert session.run([v, w]) == [5.0, 0.0]
    supervisor.stop()
    session.close()


def test_a_worker_waits_for_the_chief() -> None:
    with tf.train.Server.create_local_server() as server:
        with tf.device("/job:local"):
            v = tf.Variable(2.0, name="v")
        chief = tf.train.Supervisor()
        worker = tf.train.Supervisor(is_chief=False, recovery_wait_secs=0.01)
        with pytest.raises(RuntimeError, match="Only chief"):
            worker.start_standard_services(None)  # type: ignore[arg-type]
        with pytest.raises(tf.errors.DeadlineExceededError, match="not ready"):
            worker.prepare_or_wait_for_session(server.target, max_wait_secs=0.02)
        with chief.managed_session(server.target), worker.managed_session(server.target) as session:
            assert session.run(v) == 2


def by_manager(target: str, init_fn: Any) -> None:
    manager = tf.train.SessionManager(ready_op=tf.report_uninitialized_variables())
    manager.prepare_session(target, init_op=tf.global_variables_initializer(), init_fn=init_fn).close()


def by_supervisor(target: str, init_fn: Any) -> None:
    with tf.train.Supervisor(init_fn=init_fn).managed_session(target):
        pass


def by_monitored_session(target: str, init_fn: Any) -> None:
    with tf.train.MonitoredTrainingSession(target, scaffold=tf.train.Scaffold(init_fn=init_fn)):
        pass


@pytest.mark.parametrize("prepare", [by_manager, by_supervisor, by_monitored_session])
@pytest.mark.parametrize("closes", [False, True])
def test_a_chief_that_fails_says_why_until_a_chief_is_ready(prepare: Callable[[str, Any], None], closes: bool) -> None:
    error = ValueError("the disk \udcff is full")

    def fail(*arguments: Any) -> None:
        if closes and isinstance(arguments[-1], tf.Session):
            arguments[-1].close()
        raise error

    def reason(target: str) -> Any:
        return anyio.run(query_status, target.replace("grpc", "tcp"))["chief_failure"]

    tf.Variable(1.0)
    tf.train.get_or_create_global_step()
    with tf.train.Server.create_local_server() as server:
        with pytest.raises(ValueError, match="the disk") as caught:
            prepare(server.target, fail)
        assert caught.value is error
        assert closes or reason(server.target) == "ValueError: the disk \\udcff is full"
        prepare(server.target, lambda *arguments: None)
        assert reason(server.target) == ""


def test_a_workers_variables_have_devices() -> None:
    tf.Variable(1.0, name="nowhere")
    with pytest.raises(ValueError, match="all Variables must have their device set: nowhere"):
        tf.train.Supervisor(is_chief=False)


def test_a_session_manager_restores_or_initialises(tmp_path: Path) -> None:
    v = tf.Variable(1.0)
    saver = tf.train.Saver()
    manager = tf.train.SessionManager(ready_op=tf.report_uninitialized_variables())
    with pytest.raises(RuntimeError, match="Model is not initialized"):
        manager.prepare_session("", saver=saver, checkpoint_dir=str(tmp_path))
    with manager.prepare_session("", init_op=v.initializer, saver=saver, checkpoint_dir=str(tmp_path)) as session:
        assert isinstance(session, tf.Session) and session.run(v, feed_dict={}) == 1
        session.run(v.assign(3.0))
        saver.save(session, str(tmp_path / "model"))
    session, restored = manager.recover_session("", saver=saver, checkpoint_dir=str(tmp_path))
    with session:
        assert restored and v.eval() == 3
    session, restored = manager.recover_session("", saver=saver, checkpoint_dir=str(tmp_path / "none"))
    session.close()
    assert not restored
