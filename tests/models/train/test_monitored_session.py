"""Hooks and monitored sessions: the order of the calls, saves, stops and recovery, with `await` and without it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow.engine.runtime.event_loops.driver import LoopDriver
from actorflow.models.train.saving.checkpoints import latest_checkpoint
from actorflow.training.monitored.commands import Await, Emit, call, iterate, perform, perform_blocking

tf = pytest.importorskip("actorflow.compat.v1")


@dataclass
class Training:
    """A graph whose loss is the square of a variable that is fed a rate, and what its observers were called for."""

    graph: af.Graph = field(default_factory=af.Graph)
    calls: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        with self.graph.as_default():
            self.rate = af.placeholder_with_default(np.float32(0.1), [], name="rate")
            self.w = af.Variable(1.0, name="w")
            self.loss = af.square(self.w, name="loss")
            step = af.train.get_or_create_global_step()
            self.train = af.train.GradientDescentOptimizer(self.rate).minimize(self.loss, global_step=step)
            self.scaffold = af.train.Scaffold()


class Observer(af.train.SessionRunHook):
    """Notes what it is called for."""

    def __init__(self, calls: list[Any], name: str = "hook") -> None:
        self.calls, self.name = calls, name

    def begin(self) -> None:
        self.calls.append(f"{self.name}.begin")

    def after_create_session(self, session: Any, coord: Any) -> None:
        self.calls.append(f"{self.name}.created")

    def before_run(self, run_context: Any) -> None:
        self.calls.append(f"{self.name}.before")

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self.calls.append(f"{self.name}.after")

    def end(self, session: Any) -> None:
        self.calls.append(f"{self.name}.end")


class Listener(af.train.CheckpointSaverListener):
    """Notes the checkpoints that it is told of, and ends the training at one of them."""

    def __init__(self, calls: list[Any], last: int | None = None) -> None:
        self.calls, self.last = calls, last

    def begin(self) -> None:
        self.calls.append("listener.begin")

    def before_save(self, session: Any, global_step_value: int) -> None:
        self.calls.append(f"before save {global_step_value}")

    def after_save(self, session: Any, global_step_value: int) -> bool:
        self.calls.append(f"after save {global_step_value}")
        return global_step_value == self.last

    def end(self, session: Any, global_step_value: int) -> None:
        self.calls.append(f"listener.end {global_step_value}")


async def awaited(training: Training, **options: Any) -> None:
    """Trains to the end with `await`."""
    with training.graph.as_default():
        async with af.train.MonitoredTrainingSession(**options) as session:
            while not session.should_stop():
                await session.run(training.train)


async def blocked(training: Training, **options: Any) -> None:
    """Trains to the end without it, on a thread, as a program does."""
    from actorflow.base.process import machine

    def work() -> None:
        with training.graph.as_default(), af.blocking.MonitoredTrainingSession(**options) as session:
            while not session.should_stop():
                session.run(training.train)

    await machine.on_thread(work)


@pytest.fixture(params=[awaited, blocked], ids=["await", "blocking"])
def to_the_end(request: pytest.FixtureRequest) -> Any:
    return request.param


def quiet(training: Training, folder: Path, **options: Any) -> dict[str, Any]:
    """A training without hooks of its own but the saver."""
    saver = af.train.CheckpointSaverHook(
        folder, save_steps=3, scaffold=training.scaffold, listeners=options.pop("listeners", [])
    )
    return {
        "checkpoint_dir": folder,
        "scaffold": training.scaffold,
        "chief_only_hooks": [saver],
        "save_checkpoint_secs": None,
        "save_summaries_steps": 0,
        "log_step_count_steps": 0,
        **options,
    }


async def test_the_order_of_calls_is_tensorflows(to_the_end: Any, tmp_path: Path) -> None:
    """The order as TensorFlow 2.15 has it for the same training."""
    training = Training()
    hooks = [Observer(training.calls), af.train.StopAtStepHook(last_step=4)]
    await to_the_end(training, **quiet(training, tmp_path, hooks=hooks, listeners=[Listener(training.calls)]))
    assert training.calls == [
        "listener.begin",
        "hook.begin",
        "before save 0",
        "after save 0",
        "hook.created",
        *["hook.before", "hook.after"] * 2,
        "hook.before",
        "before save 3",
        "after save 3",
        "hook.after",
        "hook.before",
        "hook.after",
        "before save 4",
        "after save 4",
        "listener.end 4",
        "hook.end",
    ]
    assert (latest_checkpoint(str(tmp_path)) or "").endswith("model.ckpt-4")


async def test_a_listener_ends_the_training(to_the_end: Any, tmp_path: Path) -> None:
    training = Training()
    await to_the_end(training, **quiet(training, tmp_path, listeners=[Listener(training.calls, last=6)]))
    assert [c for c in training.calls if c.startswith("after")] == ["after save 0", "after save 3", "after save 6"]


async def test_the_next_training_goes_on_from_the_checkpoint(to_the_end: Any, tmp_path: Path) -> None:
    for last in (2, 5):
        training = Training()
        await to_the_end(training, **quiet(training, tmp_path, hooks=[af.train.StopAtStepHook(last_step=last)]))
    assert af.train.load_variable(str(tmp_path), "w") == pytest.approx(0.8**5)


async def test_num_steps_counts_from_where_the_training_begins(to_the_end: Any, tmp_path: Path) -> None:
    for _ in range(2):
        training = Training()
        await to_the_end(training, **quiet(training, tmp_path, hooks=[af.train.StopAtStepHook(num_steps=2)]))
    assert af.train.load_variable(str(tmp_path), "global_step") == 4


async def test_hooks_feed_and_fetch(tmp_path: Path) -> None:
    training = Training()
    seen: list[Any] = []

    class Fetching(af.train.SessionRunHook):
        def before_run(self, run_context: Any) -> Any:
            assert run_context.original_args.fetches is training.train
            return af.train.SessionRunArgs({"loss": training.loss, "w": [training.w]})

        async def after_run(self, run_context: Any, run_values: Any) -> None:
            seen.append(set(run_values.results))
            seen.append(await run_context.session.run(training.w))  # a run of its own: no hook is called for it

    hooks = [af.train.FeedFnHook(lambda: {training.rate: np.float32(0.25)}), Fetching(), af.train.StopAtStepHook(1)]
    await awaited(training, **quiet(training, tmp_path, hooks=hooks))
    assert seen == [{"loss", "w"}, 0.5]


async def test_hooks_of_a_blocking_training_run_in_its_thread(tmp_path: Path) -> None:
    training = Training()
    seen: list[Any] = []

    class Fetching(af.train.SessionRunHook):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            seen.append(float(run_context.session.run(training.w, feed_dict={training.rate: 0.0})))

    hooks = [Fetching(), af.train.StopAtStepHook(2)]
    await blocked(training, **quiet(training, tmp_path, hooks=hooks))
    assert seen == pytest.approx([0.8, 0.64])


@pytest.mark.parametrize("who", ["two hooks", "a SessionRunHook and user"])
async def test_a_tensor_is_fed_once(who: str) -> None:
    training = Training()
    feeds = {training.rate: np.float32(1)}
    hooks = [af.train.FeedFnHook(lambda: feeds)] * (2 if who == "two hooks" else 1)
    with training.graph.as_default(), pytest.raises(RuntimeError, match=f"Same tensor is fed by {who}"):
        async with af.train.MonitoredSession(hooks=hooks) as session:
            await session.run(training.train, None if who == "two hooks" else feeds)


async def test_no_step_follows_a_stop() -> None:
    training = Training()
    with training.graph.as_default():
        async with af.train.MonitoredSession(hooks=[af.train.StopAtStepHook(num_steps=1)]) as session:
            await session.run(training.train)
            assert session.should_stop()
            with pytest.raises(RuntimeError, match="Run called even after should_stop requested"):
                await session.run(training.train)
    with pytest.raises(RuntimeError, match="Run called even after the session was closed"):
        await session.run(training.train)


async def test_the_end_of_the_input_ends_the_block_and_the_hooks_are_told() -> None:
    training, left = Training(), [2, 1]

    def feed() -> Any:
        if not left:
            raise StopIteration
        left.pop()
        return {}

    with training.graph.as_default():
        hooks = [Observer(training.calls), af.train.FeedFnHook(feed)]
        async with af.train.MonitoredSession(hooks=hooks) as session:
            while not session.should_stop():
                await session.run(training.train)
    assert training.calls[-2:] == ["hook.before", "hook.end"]


async def test_no_end_is_called_after_an_error() -> None:
    training = Training()
    with training.graph.as_default(), pytest.raises(ZeroDivisionError):
        async with af.train.MonitoredSession(hooks=[Observer(training.calls)]) as session:
            await session.run(training.train)
            raise ZeroDivisionError
    assert training.calls[-1] == "hook.after"


async def test_a_loss_that_is_no_number(tmp_path: Path) -> None:
    training = Training()
    hooks = [af.train.NanTensorHook(training.loss), af.train.FeedFnHook(lambda: {training.rate: np.float32("nan")})]
    with pytest.raises(af.train.NanLossDuringTrainingError, match=r"NaN loss during training: loss:0 is NaN in step 2"):
        await awaited(training, hooks=hooks)
    training = Training()
    hooks = [
        af.train.NanTensorHook(training.loss, fail_on_nan_loss=False),
        af.train.FeedFnHook(lambda: {training.rate: np.float32("nan")}),
        Observer(training.calls),
    ]
    await awaited(training, hooks=hooks)
    assert training.calls[-1] == "hook.end"


async def test_final_ops_are_run_at_the_end() -> None:
    training = Training()
    hook = af.train.FinalOpsHook({"w": training.w})
    await awaited(training, hooks=[hook, af.train.StopAtStepHook(3)])
    assert hook.final_ops_values["w"] == pytest.approx(0.8**3)


async def test_tensors_are_logged_every_few_steps(caplog: pytest.LogCaptureFixture) -> None:
    training = Training()
    caplog.set_level("INFO", "actorflow.training")
    hooks = [
        af.train.LoggingTensorHook({"b": "loss", "a": training.loss}, every_n_iter=2),
        af.train.LoggingTensorHook(["w:0"], at_end=True, formatter=lambda values: f"at the end {list(values)}"),
        af.train.StopAtStepHook(5),
    ]
    await awaited(training, hooks=hooks)
    values = [str(r.values) for r in caplog.records if r.getMessage().startswith("tensors")]  # type: ignore[attr-defined]
    assert sum(value.startswith("a = ") and ", b = " in value for value in values) == 3
    assert values[-1] == "at the end ['w:0']"


async def test_init_fn_runs_where_there_is_no_checkpoint(to_the_end: Any, tmp_path: Path) -> None:
    begun = []
    for _ in range(2):
        training = Training()
        with training.graph.as_default():
            double = training.w.assign(2.0)

        def init(scaffold: Any, session: Any, double: Any = double) -> Any:
            begun.append(type(session).__name__)
            return session.run(double)

        training.scaffold = af.train.Scaffold(init_fn=init)
        await to_the_end(training, **quiet(training, tmp_path, hooks=[af.train.StopAtStepHook(num_steps=1)]))
    assert len(begun) == 1
    assert af.train.load_variable(str(tmp_path), "w") == pytest.approx(2 * 0.8**2)


async def test_queue_runners_work_beside_the_steps(to_the_end: Any) -> None:
    training = Training()
    with training.graph.as_default():
        number = af.train.range_input_producer(5, num_epochs=1, shuffle=False).dequeue()
        training.train = af.group(training.train, training.w.assign_add(af.cast(number, af.float32)))
    await to_the_end(training, hooks=[Observer(training.calls)])
    assert training.calls.count("hook.after") == 5
    assert training.calls.count("hook.before") == 6
    assert training.calls[-1] == "hook.end"


async def test_step_functions() -> None:
    training = Training()
    with training.graph.as_default():
        async with af.train.MonitoredSession(hooks=[Observer(training.calls)]) as session:

            async def step(context: Any) -> Any:
                await context.session.run(training.loss)
                return await context.run_with_hooks(training.loss)

            assert await session.run_step_fn(step) == 1.0
            assert training.calls.count("hook.before") == 1
            await session.run_step_fn(lambda context: context.request_stop())
            assert session.should_stop()


async def test_the_raw_session_of_a_singular_one() -> None:
    training = Training()
    with training.graph.as_default():
        async with af.train.SingularMonitoredSession(hooks=[Observer(training.calls)]) as session:
            assert await session.raw_session().run(training.w) == 1.0
        assert session.raw_session() is None
    assert "hook.before" not in training.calls


async def test_a_session_of_the_programs_own() -> None:
    training = Training()

    class Creator(af.train.SessionCreator):
        async def create_session(self) -> af.Session:
            session = af.Session(graph=training.graph)
            await session.run(training.scaffold.init_op)
            return session

    with training.graph.as_default():
        training.scaffold.build()
        async with af.train.MonitoredSession(Creator(), [af.train.StopAtStepHook(2)]) as session:
            while not session.should_stop():
                await session.run(training.train)


def test_compat_takes_tensorflows_words(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        w = tf.get_variable("w", initializer=1.0)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(
            tf.square(w), global_step=tf.train.get_or_create_global_step()
        )
        with tf.train.MonitoredTrainingSession(
            "",
            is_chief=True,
            checkpoint_dir=str(tmp_path),
            config=tf.ConfigProto(allow_soft_placement=True),
            save_checkpoint_steps=2,
            save_summaries_steps=None,
            save_summaries_secs=None,
            log_step_count_steps=None,
            hooks=[tf.train.StopAtStepHook(last_step=3)],
        ) as session:
            while not session.should_stop():
                session.run(train)
    assert (tf.train.latest_checkpoint(str(tmp_path)) or "").endswith("-3")


def test_session_managers() -> None:
    training = Training()
    with training.graph.as_default():
        init, missing = af.global_variables_initializer(), af.report_uninitialized_variables()
        manager = tf.train.SessionManager(ready_op=missing)
        with manager.prepare_session("", init_op=init) as session:
            assert session.run(training.w) == 1.0
        with pytest.raises(RuntimeError, match=r"Init operations did not make model ready.*w, global_step"):
            manager.prepare_session("", init_op=training.graph.get_operation_by_name("rate"))
        with pytest.raises(RuntimeError, match="Model is not initialized and no init_op"):
            manager.prepare_session("")
        session, ready = manager.recover_session("")
        session.close()
        assert not ready
        with pytest.raises(af.errors.DeadlineExceededError, match="Session was not ready after waiting 0 secs"):
            tf.train.SessionManager(ready_op=missing, recovery_wait_secs=0.001).wait_for_session("", max_wait_secs=0)


REFUSALS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: af.train.StopAtStepHook(), ValueError, "One of num_steps or last_step must be specified"),
    (lambda: af.train.StopAtStepHook(1, 2), ValueError, "Only one of num_steps or last_step can be specified"),
    (lambda: af.train.SecondOrStepTimer(), ValueError, "Either every_secs or every_steps should be provided"),
    (lambda: af.train.SecondOrStepTimer(1.0, 1), ValueError, "Can not provide both every_secs and every_steps"),
    (lambda: af.train.LoggingTensorHook(["a"]), ValueError, "exactly one of every_n_iter and every_n_secs"),
    (lambda: af.train.LoggingTensorHook(["a"], 0), ValueError, "invalid every_n_iter=0"),
    (lambda: af.train.StepCounterHook(1, 1.0), ValueError, "exactly one of every_n_steps and every_n_secs"),
    (lambda: af.train.SummarySaverHook(1), ValueError, "Exactly one of scaffold or summary_op must be provided"),
    (lambda: af.train.CheckpointSaverHook("x"), ValueError, "Either every_secs or every_steps"),
    (
        lambda: af.train.CheckpointSaverHook("x", 1, saver=object(), scaffold=object()),  # type: ignore[arg-type]
        ValueError,
        "You cannot provide both saver and scaffold",
    ),
    (lambda: af.train.ChiefSessionCreator(None, "", None, "a", "b"), ValueError, "Can not provide both checkpoint_dir"),
    (lambda: af.train.Scaffold(copy_from_scaffold=1), TypeError, "copy_from_scaffold is not a Scaffold"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("make", "kind", "text"), REFUSALS)
def test_refusals_are_tensorflows(make: Callable[[], Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        make()


def test_timers_trigger_by_steps_and_by_seconds() -> None:
    now = 0.0
    timer = af.train.SecondOrStepTimer(every_secs=2.0, clock=lambda: now)
    assert timer.should_trigger_for_step(1)
    assert timer.update_last_triggered_step(1) == (None, None)
    now = 1.0
    assert not timer.should_trigger_for_step(2)
    now = 2.0
    assert timer.should_trigger_for_step(2)
    assert not timer.should_trigger_for_step(1)
    assert timer.update_last_triggered_step(5) == (2.0, 4)
    assert timer.last_triggered_step() == 5


def program() -> Iterator[Any]:
    """A program that waits, fails, and gives values."""

    async def double(x: int) -> int:
        return 2 * x

    async def fail() -> None:
        raise KeyError("here")

    yield Emit((yield Await(lambda: double(4))))
    try:
        yield Await(fail)
    except KeyError as error:
        yield Emit(error.args[0])
    yield Emit((yield from call(double, 1)))
    yield Emit((yield from call(lambda x: x, 3)))
    return "end"


async def test_programs_run_with_await_and_without() -> None:
    values = [8, "here", 2, 3]
    assert [value async for value in iterate(program())] == values  # type: ignore[arg-type]

    def work() -> Iterator[Any]:
        emitted = []
        made = program()

        def drop_values() -> Any:
            sent = None
            while True:
                try:
                    command = made.send(sent)  # type: ignore[attr-defined]
                except StopIteration as stop:
                    return stop.value
                if isinstance(command, Emit):
                    emitted.append(command.value)
                    sent = None
                else:
                    try:
                        sent = yield command
                    except KeyError as error:
                        command = made.throw(error)  # type: ignore[attr-defined]
                        emitted.append(command.value)
                        sent = None

        assert (yield from drop_values()) == "end"
        return emitted  # type: ignore[return-value]

    assert await perform(work()) == values  # type: ignore[arg-type]
    from actorflow.base.process import machine

    driver = LoopDriver()
    try:
        assert await machine.on_thread(lambda: perform_blocking(work(), driver)) == values  # type: ignore[arg-type]
    finally:
        driver.close()


def test_a_session_after_another_one_of_the_same_graph_goes_on(tmp_path: Path) -> None:
    for session_of in (
        lambda: tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path)),
        lambda: tf.train.SingularMonitoredSession(checkpoint_dir=str(tmp_path)),
        lambda: tf.train.MonitoredSession(tf.train.ChiefSessionCreator(checkpoint_dir=str(tmp_path))),
    ):
        with tf.Graph().as_default() as graph:
            step = tf.train.get_or_create_global_step()
            increase = tf.assign_add(step, 1)
            for _ in range(2):
                with session_of() as session:
                    session.run(increase)
                    assert graph.finalized
                assert not graph.finalized
                tf.no_op()


def test_a_graph_that_was_finalized_before_stays_so() -> None:
    with tf.Graph().as_default() as graph:
        v = tf.Variable(1.0)
        scaffold = tf.train.Scaffold().finalize()
        creator = tf.train.ChiefSessionCreator(scaffold)
        scaffold.model = None
        graph._unsafe_unfinalize()
        with tf.train.MonitoredSession(creator) as session:
            assert session.run(v) == 1.0
        graph.finalize()
        with tf.train.MonitoredSession(creator) as session:
            assert session.run(v) == 1.0
        assert graph.finalized


def test_a_saver_takes_a_monitored_session_for_the_one_within(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        v = tf.Variable(1.0)
        double = v.assign(v * 2.0)
        saver = tf.train.Saver()
        with tf.train.MonitoredTrainingSession() as session:
            path = saver.save(session, str(tmp_path / "m"))
            assert session.run(double) == 2.0
            saver.restore(session, path)
            assert session.run(v) == 1.0
