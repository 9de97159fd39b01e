"""A process ends when its program has, whatever threads the program's functions, generators and files still hold."""

from __future__ import annotations

import textwrap

import pytest
from engine.session.forked_programs import Outcome, outcomes

pytestmark = pytest.mark.timeout(900)  # the first test waits for all programs, each of which has a limit of its own

PRELUDE = '''
import asyncio, os, signal, sys, tempfile, threading
import anyio
import numpy as np
import actorflow as af
import actorflow.compat.v1 as tf

def forever(*_):
    threading.Event().wait()

def interrupted(*_):
    os.kill(os.getpid(), signal.SIGINT)
    threading.Event().wait()

def unseen(*_):
    """As interrupted, by a signal that does not wake the main thread."""
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)
    threading.Event().wait()

def three():
    yield from [1, 2, 3]

def three_and_then_waits():
    yield from [1, 2, 3]
    threading.Event().wait()

def element(generator=three, dtype=af.int64, shape=(), change=lambda dataset: dataset):
    return change(af.data.Dataset.from_generator(generator, dtype, shape)).make_one_shot_iterator().get_next()

def refused(run):
    try:
        run()
    except af.errors.OpError as error:
        print(type(error).__name__)

def blocking(fetch, **options):
    with af.blocking.Session() as session:
        return session.run(fetch, **options)

def compat(fetch):
    with tf.Session() as session:
        return session.run(fetch)

def asynchronous(fetch, runner=anyio.run, **options):
    async def main():
        async with af.Session() as session:
            await session.run(fetch, **options)
    runner(main)

def waits(function):
    with af.control_dependencies([af.py_func(function, [], [])]):
        return af.constant(1.0)
'''

ENDS = {
    "a generator that was not read to its end": "blocking(element())",
    "the same in a session of TensorFlow's": "compat(element())",
    "the same in an event loop of anyio's": "asynchronous(element())",
    "the same in an event loop of asyncio's": "asynchronous(element(), runner=lambda main: asyncio.run(main()))",
    "the same in a session that no one closes": "session = af.blocking.Session(); session.run(element())",
    "a generator that was read to its end": """
        fetch = element()
        with af.blocking.Session() as session:
            for _ in range(3):
                session.run(fetch)
            refused(lambda: session.run(fetch))
    """,
    "a generator that waits behind what was read": "blocking(element(three_and_then_waits))",
    "the same, and no one closes the session": """
        session = af.blocking.Session()
        session.run(element(three_and_then_waits))
    """,
    "a generator that waits in its first element": """
        refused(lambda: blocking(element(lambda: iter(forever, None)), timeout=0.1))
    """,
    "a generator that waits in its first element, in an event loop": """
        refused(lambda: asynchronous(element(lambda: iter(forever, None)), timeout=0.1))
    """,
    "a generator that is cleaned up late": """
        def generator():
            try:
                yield 1
                yield 2
            finally:
                forever()
        blocking(element(generator))
    """,
    "a generator's numbers in place of text": "refused(lambda: compat(element(dtype=af.string)))",
    "a generator's text in place of numbers": "refused(lambda: compat(element(lambda: iter(['x']), af.int32)))",
    "a generator's element of another shape": "refused(lambda: compat(element(lambda: iter([[1, 2]]), shape=[3])))",
    "a generator's None": "refused(lambda: compat(element(lambda: iter([None]))))",
    "a generator that raises": """
        def generator():
            yield 1
            raise ValueError
        fetch = element(generator)
        with tf.Session() as session:
            session.run(fetch)
            refused(lambda: session.run(fetch))
    """,
    "a generator behind a prefetch": """
        compat(element(three_and_then_waits, change=lambda dataset: dataset.prefetch(1)))
    """,
    "a generator behind a shuffle": "compat(element(change=lambda dataset: dataset.repeat().shuffle(3)))",
    "generators behind an interleave": """
        compat(element(change=lambda dataset: dataset.repeat().interleave(lambda x: af.data.Dataset.from_generator(
            three_and_then_waits, af.int64, []), cycle_length=3)))
    """,
    "a generator that a client iterates over": """
        for value in af.data.Dataset.from_generator(three_and_then_waits, af.int64, []):
            break
    """,
    "a generator that a client of an event loop iterates over": """
        async def main():
            async for value in af.data.Dataset.from_generator(three_and_then_waits, af.int64, []):
                break
        anyio.run(main)
    """,
    "an iterator that is initialized twice": """
        iterator = af.data.Dataset.from_generator(three, af.int64, []).make_initializable_iterator()
        fetch = iterator.get_next()
        with af.blocking.Session() as session:
            for _ in range(2):
                session.run(iterator.initializer)
                session.run(fetch)
    """,
    "an estimator with a generator": """
        def model_fn(features, labels, mode):
            loss = af.reduce_mean(af.get_variable("v", []) * features)
            step = af.train.GradientDescentOptimizer(0.1).minimize(loss, af.train.get_global_step())
            return af.estimator.EstimatorSpec(mode, loss=loss, train_op=step)
        def inputs():
            return af.data.Dataset.from_generator(three_and_then_waits, af.float32, [])
        with tempfile.TemporaryDirectory() as folder:
            tf.estimator.Estimator(model_fn, folder).train(inputs, steps=2)
    """,
    "a function that waits when the time is up": "refused(lambda: blocking(waits(forever), timeout=0.1))",
    "a function that waits when the time is up, in an event loop": "refused(lambda: asynchronous(waits(forever), timeout=0.1))",
    "a function that waits while another node fails": """
        refused(lambda: blocking([waits(forever), af.check_numerics(af.constant(np.nan), "fails")]))
    """,
    "a function of a map that waits": """
        change = lambda dataset: dataset.map(lambda x: af.py_func(lambda x: forever(), [x], af.int64))
        refused(lambda: blocking(element(change=change), timeout=0.1))
    """,
    "a function of a parallel map that waits": """
        change = lambda dataset: dataset.map(lambda x: af.py_func(lambda x: forever(), [x], af.int64), 3)
        refused(lambda: blocking(element(change=change), timeout=0.1))
    """,
    "a function of a filter that waits": """
        change = lambda dataset: dataset.filter(lambda x: af.py_func(lambda x: forever(), [x], af.bool))
        refused(lambda: blocking(element(change=change), timeout=0.1))
    """,
    "a function in a loop that waits": """
        body = lambda i: af.ensure_shape(af.py_func(lambda i: forever(), [i], af.int32), [])
        loop = af.while_loop(lambda i: i < 3, body, [0])
        refused(lambda: blocking(loop, timeout=0.1))
    """,
    "a function called eagerly in an event loop that waits": """
        async def main():
            async with af.eager():
                with anyio.move_on_after(0.1):
                    await af.function(lambda: waits(forever)).run()
        anyio.run(main)
    """,
    "a file that waits for a writer": """
        with tempfile.TemporaryDirectory() as folder:
            os.mkfifo(path := os.path.join(folder, "fifo"))
            refused(lambda: blocking(af.read_file(path), timeout=0.1))
    """,
    "a dataset of a file that waits for a writer": """
        with tempfile.TemporaryDirectory() as folder:
            os.mkfifo(path := os.path.join(folder, "fifo"))
            fetch = af.data.TextLineDataset([path]).make_one_shot_iterator().get_next()
            refused(lambda: blocking(fetch, timeout=0.1))
    """,
    "a step of a daemon that waits for a queue": """
        fetch, begun = af.FIFOQueue(1, [af.float32], [[]]).dequeue(), threading.Event()
        with af.control_dependencies([af.py_func(begun.set, [], [])]):
            fetch = [fetch, af.no_op()]
        session = af.blocking.Session()
        threading.Thread(target=session.run, args=[fetch], daemon=True).start()
        begun.wait()
    """,
    "queue runners that no one stops": """
        queue = tf.train.input_producer(tf.constant([1.0, 2.0]))
        value = queue.dequeue()
        session = tf.Session()
        session.run(tf.global_variables_initializer())
        session.run(tf.local_variables_initializer())
        tf.train.start_queue_runners(session)
        session.run(value)
    """,
    "queue runners whose session is closed": """
        queue = tf.train.input_producer(tf.constant([1.0, 2.0]))
        value = queue.dequeue()
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(tf.local_variables_initializer())
            coordinator = tf.train.Coordinator()
            tf.train.start_queue_runners(session, coordinator, daemon=False)
            session.run(value)
            coordinator.request_stop()
    """,
    "a writer of summaries that no one closes": """
        with tempfile.TemporaryDirectory() as folder:
            writer = af.summary.FileWriter(folder)
            writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=1.0)]), 1)
    """,
}
"""Programs, and they end with status 0."""

INTERRUPTED = {
    "a function that waits": "blocking(waits(interrupted))",
    "a function in a session of TensorFlow's": "compat(waits(interrupted))",
    "a function in an event loop of anyio's": "asynchronous(waits(interrupted))",
    "a function in an event loop of asyncio's": "asynchronous(waits(interrupted), lambda main: asyncio.run(main()))",
    "a function of a map": """
        change = lambda dataset: dataset.map(lambda x: af.py_func(lambda x: interrupted(), [x], af.int64))
        compat(element(change=change))
    """,
    "a generator": "compat(element(lambda: iter(interrupted, None)))",
    "a generator in an event loop": "asynchronous(element(lambda: iter(interrupted, None)))",
    "a generator that a client iterates over": """
        for value in af.data.Dataset.from_generator(lambda: iter(interrupted, None), af.int64, []):
            pass
    """,
    "a blocking session inside of an event loop": """
        async def main():
            blocking(waits(interrupted))
        asyncio.new_event_loop().run_until_complete(main())  # as a notebook does
    """,
    "a function of a session that no one closes": "af.blocking.Session().run(waits(interrupted))",
    "a function whose signal wakes no loop": "blocking(waits(unseen))",
    "a function of TensorFlow's session whose signal wakes no loop": "compat(waits(unseen))",
    "a function whose signal wakes no loop of anyio's": "asynchronous(waits(unseen))",
    "a function whose signal wakes no loop of asyncio's": "asynchronous(waits(unseen), lambda main: asyncio.run(main()))",
    "a generator whose signal wakes no loop": "compat(element(lambda: iter(unseen, None)))",
    "a function of a map whose signal wakes no loop": """
        change = lambda dataset: dataset.map(lambda x: af.py_func(lambda x: unseen(), [x], af.int64))
        compat(element(change=change))
    """,
    "a queue": """
        threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGINT]).start()
        compat(af.FIFOQueue(1, [af.float32], [[]]).dequeue())
    """,
}
"""Programs that are interrupted where they wait, and they end by that."""


@pytest.fixture(scope="module")
def ended() -> dict[str, Outcome]:
    programs = {f"{name}, interrupted": text for name, text in INTERRUPTED.items()} | ENDS
    return outcomes({name: PRELUDE + textwrap.dedent(text) for name, text in programs.items()})


@pytest.mark.parametrize("name", ENDS)
def test_a_process_ends_after(ended: dict[str, Outcome], name: str) -> None:
    assert ended[name].status == 0, ended[name].output


@pytest.mark.parametrize("name", INTERRUPTED)
def test_an_interrupted_process_ends_in(ended: dict[str, Outcome], name: str) -> None:
    outcome = ended[f"{name}, interrupted"]
    assert outcome.status in (1, -2) and "KeyboardInterrupt" in outcome.output, outcome
