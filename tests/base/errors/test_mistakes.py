"""Mistakes that users make, and what Python prints for each: at most 15 lines, none of them a frame of ours, with the line of
the program that is wrong, the reason, and what to do. Each is a script that ends with an uncaught error.

In a script `# <-` marks the line that has to be named. It begins with `import actorflow as af, numpy as np, anyio`, and one that
has an `await` is the body of a coroutine that `anyio.run` runs.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent, indent

import pytest

MOST_LINES = 15
MARK = "# <-"
HEAD = "import actorflow as af, numpy as np, anyio, asyncio\n"
ASYNC_HEAD = "async def main():\n"
RUN = "anyio.run(main)\n"
RUNNER = Path(__file__).with_name("mistakes.py")
JARGON = ("gufunc", "core dimension", "operand", "broadcast together", "site-packages", "/asyncio/", "/anyio/")


@dataclass(frozen=True, slots=True)
class Mistake:
    """A script, and words that have to be in what is printed, in this order."""

    name: str
    source: str
    words: tuple[str, ...]

    @property
    def script(self) -> str:
        body = dedent(self.source).strip() + "\n"
        if re.search(r"\bawait\b|\basync with\b", body) or "af.Session(" in body:
            return f"{HEAD}{ASYNC_HEAD}{indent(body, '    ')}{RUN}"
        return HEAD + body

    @property
    def line(self) -> int | None:
        """The number of the line that has to be named."""
        lines = self.script.splitlines()
        return next((number for number, line in enumerate(lines, 1) if MARK in line), None)


def mistake(name: str, source: str, *words: str) -> Mistake:
    return Mistake(name, source, words)


SESSION = """
x = af.placeholder(af.float32, [None, 3], name="x")
y = af.reduce_sum(x, name="y")
async with af.Session() as session:
    feeds = {x: np.ones((2, 3))}
"""
BLOCKING = "session = af.blocking.Session()\n"


def within(body: str) -> str:
    """Lines inside of an open session with a placeholder `x`, a sum `y` and their `feeds`."""
    return SESSION + indent(dedent(body).strip(), "    ")


AWAIT = ("TypeError", "not awaited", "await session.run", "af.blocking.Session")

MISTAKES = [
    # ---- await and with
    mistake("await_add", within("print(session.run(y, feeds) + 1)  # <-"), *AWAIT),
    mistake("await_radd", within("print(1 + session.run(y, feeds))  # <-"), *AWAIT),
    mistake("await_numpy", within("print(np.float32(1) * session.run(y, feeds))  # <-"), *AWAIT),
    mistake("await_compare", within("print(session.run(y, feeds) < 3)  # <-"), *AWAIT),
    mistake("await_format", within("print(f'{session.run(y, feeds):.3f}')  # <-"), *AWAIT),
    mistake("await_index", within("print(session.run([y, y], feeds)[0])  # <-"), *AWAIT),
    mistake("await_unpack", within("a, b = session.run([y, y], feeds)  # <-"), *AWAIT),
    mistake(
        "await_attribute",
        within("print(session.run(x, feeds).shape)  # <-"),
        "AttributeError",
        "not awaited",
        "'shape'",
    ),
    mistake("await_float", within("print(float(session.run(y, feeds)))  # <-"), *AWAIT),
    mistake("await_if", within("if session.run(y, feeds):  # <-\n    pass"), *AWAIT),
    mistake("await_array", within("print(np.mean(session.run(x, feeds)))  # <-"), *AWAIT),
    mistake(
        "run_without_loop",
        "session = af.Session(graph=af.Graph())\ndef train():\n    return session.run('x') * 2  # <-\ntrain()",
        *AWAIT,
    ),
    mistake(
        "with", "with af.Session() as session:  # <-\n    pass", "TypeError", "`async with af.Session(", "blocking"
    ),
    mistake(
        "async_with",
        "async with af.blocking.Session() as session:  # <-\n    pass",
        *("TypeError", "`with af.blocking.Session(", "await session.run"),
    ),
    mistake(
        "await_blocking",
        "x = af.constant(1.0)\nwith af.blocking.Session() as session:\n    print(await session.run(x))  # <-",
        *("TypeError", "at once", "leave `await` out"),
    ),
    # ---- names
    mistake("range", "steps = af.range(10)  # <-", "AttributeError", "It is af.range_ here"),
    mistake("keras", "h = af.keras.Sequential()  # <-", "AttributeError", "tf.keras", "af.layers"),
    mistake("layers", "h = af.layers.dense(1.0, 10)  # <-", "ValueError", "layer dense", "min_ndim=2"),
    mistake("typo", "loss = af.reduce_mena([1.0])  # <-", "AttributeError", "Did you mean af.reduce_mean"),
    mistake("typo_of_a_class", "session = af.Sesion()  # <-", "AttributeError", "Did you mean af.Session?"),
    mistake("typo_in_nn", "p = af.nn.sofmax([1.0])  # <-", "AttributeError", "Did you mean af.nn.softmax?"),
    mistake(
        "typo_in_math", "p = af.math.reduce_men([1.0])  # <-", "AttributeError", "Did you mean af.math.reduce_mean"
    ),
    mistake(
        "typo_in_train", "o = af.train.AdamOptimiser()  # <-", "AttributeError", "Did you mean af.train.AdamOptimizer"
    ),
    mistake(
        "typo_in_blocking", "s = af.blocking.session()  # <-", "AttributeError", "Did you mean af.blocking.Session?"
    ),
    mistake("capital", "x = af.placeholder(af.Float32)  # <-", "AttributeError", "Did you mean af.float32?"),
    mistake("of_another_namespace", "h = af.relu([1.0])  # <-", "AttributeError", "There is af.nn.relu."),
    mistake("later_name", "o = af.train.Adam()  # <-", "AttributeError", "Did you mean af.train.AdamOptimizer?"),
    mistake("other_spelling", "x = af.placeholder(af.double)  # <-", "AttributeError", "tf.double is af.float64 here"),
    mistake(
        "of_compat_only", "c = af.ConfigProto()  # <-", "AttributeError", "tf.ConfigProto is in actorflow.compat.v1"
    ),
    mistake(
        "error_class", "e = af.InvalidArgumentError  # <-", "AttributeError", "There is af.errors.InvalidArgumentError."
    ),
    mistake(
        "typo_in_compat",
        "import actorflow.compat.v1 as tf\nx = tf.nn.sofmax([1.0])  # <-",
        *("AttributeError", "not in actorflow.compat.v1", "Did you mean tf.nn.softmax?"),
    ),
    # ---- shapes and types, as the graph is built
    mistake(
        "matmul_static",
        "x = af.placeholder(af.float32, [None, 3])\nw = af.ones([4, 2])\ny = x @ w  # <-",
        *("ValueError", "inner sizes", "3 columns of [?,3]", "4 rows of [4,2]"),
    ),
    mistake("add_static", "y = af.ones([2, 3]) + af.ones([4])  # <-", "ValueError", "(2, 3)", "(4,)"),
    mistake(
        "concat_static", "y = af.concat([af.ones([2, 3]), af.ones([2, 4])], 0)  # <-", "ValueError", "(2, 3)", "(2, 4)"
    ),
    mistake(
        "one_of_many",
        "y = af.concat([af.ones([2, 3]) for _ in range(30)] + [af.ones([2, 4])], 0)  # <-",
        *("ValueError", "input 30: ones_30:0 float32 (2, 4)", "29 inputs more"),
    ),
    mistake("reshape_static", "y = af.reshape(af.ones([2, 3]), [4])  # <-", "ValueError", "6", "4"),
    mistake(
        "assign_static",
        "v = af.get_variable('v', [3])\nu = v.assign(af.ones([4]))  # <-",
        *("ValueError", "[3]", "[4]"),
    ),
    mistake(
        "conv_channels",
        """
        images = af.placeholder(af.float32, [None, 28, 28, 3])
        filters = af.get_variable("w", [5, 5, 1, 8])
        y = af.nn.conv2d(images, filters, [1, 1, 1, 1], "SAME")  # <-
        """,
        *("ValueError", "Depth of input (3)", "depth of filter (1)", "filters"),
    ),
    mistake(
        "int_times_float", "n = af.constant([1, 2])\ny = n * 0.5  # <-", "TypeError", "int32", "af.cast(", "af.float32"
    ),
    mistake(
        "float_times_int", "n = af.constant([1, 2])\ny = 0.5 * n  # <-", "TypeError", "int32", "af.cast(", "af.float32"
    ),
    mistake(
        "int_and_float",
        "n = af.constant([1, 2])\nx = af.constant([1.0, 2.0])\ny = n + x  # <-",
        *("TypeError", "float32", "int32", "af.cast("),
    ),
    mistake(
        "iterate", "x = af.placeholder(af.float32, [None])\nfor row in x:  # <-\n    pass", "TypeError", "af.map_fn"
    ),
    mistake("bad_device", "with af.device('gpu0'):  # <-\n    x = af.ones([2])", "ValueError", "'gpu0'", "'/gpu:0'"),
    mistake(
        "bad_device_part", "with af.device('/gpu0'):  # <-\n    x = af.ones([2])", "ValueError", "'gpu0'", "'/gpu:0'"
    ),
    mistake(
        "two_graphs",
        """
        with af.Graph().as_default():
            a = af.ones([2])
        with af.Graph().as_default():
            b = af.ones([2])
        c = a + b  # <-
        """,
        *("ValueError", "another graph", "one graph"),
    ),
    mistake("branch", "x = af.ones([])\nif x > 0:  # <-\n    pass", "TypeError", "af.cond"),
    # ---- training
    mistake(
        "int_variable",
        """
        w = af.Variable([1, 2], name="w")
        loss = af.reduce_sum(af.cast(w, af.float32))
        train = af.train.GradientDescentOptimizer(0.1).minimize(loss)  # <-
        """,
        *("ValueError", "w:0", "int32", "floating"),
    ),
    mistake(
        "loss_without_variables",
        """
        w = af.Variable([1.0, 2.0], name="w")
        loss = af.reduce_sum(af.ones([2]))
        train = af.train.GradientDescentOptimizer(0.1).minimize(loss)  # <-
        """,
        *("ValueError", "w:0", "does not depend on it"),
    ),
    mistake(
        "no_variables",
        "loss = af.reduce_sum(af.ones([2]))\ntrain = af.train.GradientDescentOptimizer(0.1).minimize(loss)  # <-",
        *("ValueError", "No variables to optimize", "af.Variable"),
    ),
    mistake(
        "stopped_loss",
        """
        w = af.Variable([1.0, 2.0], name="w")
        loss = af.reduce_sum(af.stop_gradient(w, name="held"))
        train = af.train.GradientDescentOptimizer(0.1).minimize(loss)  # <-
        """,
        *("ValueError", "w:0", "held", "StopGradient"),
    ),
    mistake(
        "argmax_loss",
        """
        w = af.Variable([1.0, 2.0], name="w")
        loss = af.cast(af.argmax(w, name="best"), af.float32)
        train = af.train.GradientDescentOptimizer(0.1).minimize(loss)  # <-
        """,
        *("ValueError", "w:0", "best", "ArgMax"),
    ),
    mistake(
        "int_loss",
        """
        w = af.Variable([1.0, 2.0], name="w")
        loss = af.reduce_sum(af.cast(w, af.int32))
        train = af.train.GradientDescentOptimizer(0.1).minimize(loss)  # <-
        """,
        *("TypeError", "int32", "loss"),
    ),
    mistake(
        "fetch_none_gradient",
        """
        x = af.placeholder(af.float32, [2], name="x")
        z = af.placeholder(af.float32, [2], name="z")
        grads = af.gradients(af.reduce_sum(x * x), [x, z])
        with af.blocking.Session() as session:
            session.run(grads, {x: [1, 2], z: [1, 2]})  # <-
        """,
        *("TypeError", "None can't be fetched", "af.gradients", "z:0", "does not depend on it"),
    ),
    # ---- fetches and feeds
    mistake("fetch_typo", within("await session.run('yy', feeds)  # <-"), "yy", "Similar names: y"),
    mistake(
        "fetch_number", within("await session.run([y, 3], feeds)  # <-"), "TypeError", "3", "can't be fetched", "feeds"
    ),
    mistake(
        "fetch_function", within("await session.run(af.reduce_sum, feeds)  # <-"), "TypeError", "reduce_sum", "call it"
    ),
    mistake("fetch_array", within("await session.run(np.ones(2), feeds)  # <-"), "TypeError", "can't be fetched"),
    mistake("feed_typo", within("await session.run(y, {'xx:0': np.ones((2, 3))})  # <-"), "feed", "'xx:0'", "'x:0'"),
    mistake("feed_operation", within("await session.run(y, {'x': np.ones((2, 3))})  # <-"), "x:0"),
    mistake(
        "feed_number",
        within("await session.run(y, {3: np.ones((2, 3))})  # <-"),
        "TypeError",
        "3",
        "can't be a key of the feeds",
    ),
    mistake(
        "feed_array_for_dict", within("await session.run(y, np.ones((2, 3)))  # <-"), "TypeError", "feeds is a dict"
    ),
    mistake("feed_shape", within("await session.run(y, {x: np.ones((2, 4))})  # <-"), "x:0", "(2, 4)", "(?, 3)"),
    mistake("feed_ragged", within("await session.run(y, {x: [[1, 2, 3], [4, 5]]})  # <-"), "x:0", "different lengths"),
    mistake("feed_text", within("await session.run(y, {x: 'one'})  # <-"), "x:0", "is text", "float32"),
    mistake("feed_tensor", within("await session.run(y, {x: x})  # <-"), "x:0", "A tensor can't be fed"),
    mistake("unfed", within("await session.run(y)  # <-"), "x", "feed"),
    mistake(
        "feed_float_for_int",
        """
        ids = af.placeholder(af.int32, [None], name="ids")
        with af.blocking.Session() as session:
            session.run(ids + 1, {ids: [0.5]})  # <-
        """,
        *("ids:0", "float64", "int32", "astype"),
    ),
    mistake(
        "other_graphs_tensor",
        """
        with af.Graph().as_default():
            a = af.ones([2])
        async with af.Session() as session:
            await session.run(a)  # <-
        """,
        *("ValueError", "another graph", "af.Session(graph="),
    ),
    # ---- runs
    mistake(
        "matmul",
        """
        x = af.placeholder(af.float32)
        w = af.ones([4, 2])
        y = af.matmul(x, w)  # <-
        with af.blocking.Session() as session:
            session.run(y, {x: np.ones((5, 3))})
        """,
        *("InvalidArgumentError", "inner sizes", "3 columns of [5,3]", "4 rows of [4,2]"),
    ),
    mistake(
        "dense",
        """
        x = af.placeholder(af.float32)
        y = af.nn.relu(af.matmul(x, af.Variable(af.ones([4, 2]))) + af.Variable(af.ones([2])))  # <-
        with af.blocking.Session() as session:
            session.run(af.global_variables_initializer())
            session.run(y, {x: np.ones((5, 3))})
        """,
        *("InvalidArgumentError", "inner sizes", "3 columns of [5,3]", "4 rows of [4,2]"),
    ),
    mistake(
        "add",
        """
        x = af.placeholder(af.float32)
        y = af.tanh(x) + af.ones([4])  # <-
        with af.blocking.Session() as session:
            session.run(y, {x: np.ones((5, 3))})
        """,
        *("InvalidArgumentError", "(5, 3)", "(4,)"),
    ),
    mistake(
        "concat",
        """
        x = af.placeholder(af.float32)
        y = af.concat([x, af.ones([2, 4])], 0)  # <-
        with af.blocking.Session() as session:
            session.run(y, {x: np.ones((5, 3))})
        """,
        *("InvalidArgumentError", "(5, 3)", "(2, 4)"),
    ),
    mistake(
        "reshape",
        """
        x = af.placeholder(af.float32)
        y = af.reshape(x, [-1, 4])  # <-
        with af.blocking.Session() as session:
            session.run(y, {x: np.ones((5, 3))})
        """,
        *("InvalidArgumentError", "15", "4"),
    ),
    mistake(
        "conv",
        """
        x = af.placeholder(af.float32)
        y = af.nn.conv2d(x, af.ones([5, 5, 1, 8]), [1, 1, 1, 1], "SAME")  # <-
        with af.blocking.Session() as session:
            session.run(y, {x: np.ones((2, 28, 28, 3))})
        """,
        *("InvalidArgumentError", "Depth of input (3)", "depth of filter (1)"),
    ),
    mistake(
        "ids",
        """
        ids = af.placeholder(af.int32)
        y = af.nn.embedding_lookup(af.ones([10, 2]), ids)  # <-
        with af.blocking.Session() as session:
            session.run(y, {ids: [3, 10]})
        """,
        *("InvalidArgumentError", "10", "0 to 9"),
    ),
    mistake(
        "labels",
        """
        labels = af.placeholder(af.int32)
        loss = af.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=af.ones([2, 10]))  # <-
        with af.blocking.Session() as session:
            session.run(loss, {labels: [3, 10]})
        """,
        *("InvalidArgumentError", "10", "0 to 9"),
    ),
    mistake(
        "queue_shape",
        """
        queue = af.FIFOQueue(3, [af.float32], [[2]], name="queue")
        put = queue.enqueue(af.placeholder_with_default(np.ones(3, np.float32), None))  # <-
        with af.blocking.Session() as session:
            session.run(put)
        """,
        *("InvalidArgumentError", "Expected [2], got [3]", "queue"),
    ),
    mistake(
        "starvation",
        """
        queue = af.FIFOQueue(3, [af.float32], [[2]], name="queue")
        value = queue.dequeue()  # <-
        with af.blocking.Session() as session:
            session.run(value, timeout=0.2)
        """,
        *("DeadlineExceededError", "queue"),
    ),
    mistake(
        "missing_checkpoint",
        """
        v = af.Variable(1.0)
        saver = af.train.Saver()
        with af.blocking.Session() as session:
            saver.restore(session, "/nowhere/model")  # <-
        """,
        *("ValueError", "/nowhere/model", "af.train.latest_checkpoint"),
    ),
    mistake(
        "uninitialized",
        """
        v = af.Variable(1.0, name="v")  # <-
        with af.blocking.Session() as session:
            session.run(v)
        """,
        *("FailedPreconditionError", "v", "global_variables_initializer"),
    ),
    mistake(
        "py_func",
        """
        def half(x):
            return x.half()  # <-
        y = af.py_func(half, [af.ones([2])], af.float32)
        with af.blocking.Session() as session:
            session.run(y)
        """,
        *("half", "AttributeError"),
    ),
    mistake(
        "task_group",
        """
        x = af.placeholder(af.float32)
        y = af.matmul(x, af.ones([4, 2]))  # <-
        async with af.Session() as session, anyio.create_task_group() as group:
            group.start_soon(session.run, y, {x: np.ones((5, 3))})
        """,
        *("InvalidArgumentError", "inner sizes"),
    ),
    mistake(
        "compat",
        """
        import actorflow.compat.v1 as tf
        x = tf.placeholder(tf.float32)
        y = tf.matmul(x, tf.ones([4, 2]))  # <-
        with tf.Session() as sess:
            sess.run(y, feed_dict={x: np.ones((5, 3))})
        """,
        *("InvalidArgumentError", "inner sizes"),
    ),
    mistake(
        "cluster",
        """
        x = af.placeholder(af.float32)
        y = af.matmul(x, af.ones([4, 2]))  # <-
        with af.blocking.LocalCluster({"worker": 1}) as cluster, af.blocking.Session(cluster.target) as session:
            session.run(y, {x: np.ones((5, 3))})
        """,
        *("InvalidArgumentError", "inner sizes"),
    ),
    mistake(
        "cluster_kernel",
        """
        x = af.placeholder(af.float32)
        y = af.reshape(x, af.placeholder_with_default([4, 4], [2]))  # <-
        with af.blocking.LocalCluster({"worker": 1}) as cluster, af.blocking.Session(cluster.target) as session:
            session.run(y, {x: np.ones((5, 3))})
        """,
        *("InvalidArgumentError", "15", "[4,4]"),
    ),
    mistake(
        "cluster_py_func",
        """
        def half(x):
            return x.half()
        y = af.py_func(half, [af.ones([2])], af.float32)  # <-
        with af.blocking.LocalCluster({"worker": 1}) as cluster, af.blocking.Session(cluster.target) as session:
            session.run(y)
        """,
        *("FailedPreconditionError", "lives in the process", "Run it in a session without a target"),
    ),
    mistake(
        "while_body",
        "y = af.while_loop(lambda i: i < 3, lambda i: i @ af.ones([4]), [af.ones([])])  # <-",
        "ValueError",
    ),
]


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, str]]:
    """The output of each script, and its path."""
    folder = tmp_path_factory.mktemp("mistakes")
    paths = {m.name: folder / f"{m.name}.py" for m in MISTAKES}
    for each in MISTAKES:
        paths[each.name].write_text(each.script, encoding="utf-8")
    subprocess.run([sys.executable, RUNNER, *map(str, paths.values())], check=True)
    return {name: (Path(f"{path}.printed").read_text(encoding="utf-8"), str(path)) for name, path in paths.items()}


@pytest.mark.parametrize("each", MISTAKES, ids=lambda m: m.name)
def test_a_mistake_is_told_with_its_line_and_remedy(each: Mistake, printed: dict[str, tuple[str, str]]) -> None:
    text, path = printed[each.name]
    assert len(text.splitlines()) <= MOST_LINES, text
    assert f"{Path(af_folder())}/" not in text and not [word for word in JARGON if word in text], text
    position = 0
    for word in each.words:
        found = text.find(word, position)
        assert found >= 0, f"{word!r} is not there, or not in its place, in\n{text}"
        position = found
    assert each.line is not None, "the script marks no line"
    assert f'{path}", line {each.line}' in text or f"{path}:{each.line}" in text, f"line {each.line} in\n{text}"


def af_folder() -> str:
    return str(Path(__file__).parents[3] / "actorflow")
