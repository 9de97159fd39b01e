"""Programs whose graphs TensorFlow writes in ways of its own: branches and loops as functions, arrays that change, and more.

`dump_foreign.py` runs them with several versions of TensorFlow. Each gives what is fed, which operations run first, and what is
fetched.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Program(NamedTuple):
    """The feeds of a graph, the operations that run first, and the tensors that are fetched."""

    feeds: Any
    steps: Any
    fetches: Any


def _weights(tf: Any, name: str, *shape: int) -> Any:
    start = np.linspace(-0.5, 0.5, int(np.prod(shape)), dtype=np.float32).reshape(shape)
    return tf.get_variable(name, initializer=tf.constant(start))


X = np.array([0.3, -0.2, 0.9], np.float32)


def branches(tf: Any) -> Program:
    """A branch, one within another, one of several, and their gradients."""
    x = tf.placeholder(tf.float32, [], name="x")
    v = _weights(tf, "v", 2)
    outer = tf.cond(x > 0, lambda: tf.cond(x > 1, lambda: tf.reduce_sum(v * x), lambda: v[0]), lambda: v[1] - x)
    case = tf.case([(x > 5, lambda: x * 2), (x > 1, lambda: x * 3)], default=lambda: x * 4)
    tf.identity(outer, name="outer")
    tf.identity(case, name="one_of")
    tf.identity(tf.gradients(outer, v)[0], name="slope")
    return Program({"x:0": np.float32(2)}, [], ["outer:0", "one_of:0", "slope:0"])


def loops(tf: Any) -> Program:
    """A loop that is trained through, one within another, one whose value grows."""
    x = tf.placeholder(tf.float32, [3], name="x")
    w = _weights(tf, "w", 3)
    _, y = tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, a * w + tf.sin(a)), [tf.constant(0), x])
    loss = tf.reduce_sum(y, name="loss")
    tf.identity(tf.gradients(loss, w)[0], name="slope")
    tf.train.GradientDescentOptimizer(0.1).minimize(loss, name="train")
    body = lambda i, s: (i + 1, s + tf.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t * 2.0), [0, 1.0])[1])  # noqa: E731
    tf.identity(tf.while_loop(lambda i, s: i < 4, body, [0, 0.0])[1], name="nested")
    sizes = [tf.TensorShape([]), tf.TensorShape([None])]
    grown = tf.while_loop(
        lambda i, f: i < 5, lambda i, f: (i + 1, tf.concat([f, f[-1:] + f[-2:-1]], 0)), [0, tf.constant([1, 1])], sizes
    )
    tf.identity(grown[1], name="grown")
    return Program({"x:0": X}, ["train", "train"], ["loss:0", "slope:0", "nested:0", "grown:0"])


def arrays(tf: Any) -> Program:
    """Arrays that are written, read, gathered, split and joined, with gradients; map, scan and fold."""
    x = tf.placeholder(tf.float32, [4, 3], name="x")
    w = _weights(tf, "w", 3)
    source = tf.TensorArray(tf.float32, 4, clear_after_read=False).unstack(x)
    _, made = tf.while_loop(
        lambda i, a: i < 4, lambda i, a: (i + 1, a.write(i, source.read(i) * w)), [0, tf.TensorArray(tf.float32, 4)]
    )
    rows = made.stack()
    several = {
        "rows": rows,
        "slope": tf.gradients(rows, w)[0],
        "chosen": source.gather([3, 1]),
        "joined": tf.TensorArray(tf.float32, 2, infer_shape=False).split(x[:, 0], [1, 3]).concat(),
        "mapped": tf.map_fn(lambda row: row * 2 + w, x),
        "scanned": tf.scan(lambda a, row: a + row * w, x),
        "folded": tf.foldl(lambda a, row: a * 0.5 + row, x),
    }
    for name, tensor in several.items():
        tf.identity(tensor, name=name)
    tf.identity(tf.gradients(several["mapped"], x)[0], name="mapped_slope")
    feed = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
    return Program({"x:0": feed}, [], [f"{name}:0" for name in (*several, "mapped_slope")])


def texts(tf: Any) -> Program:
    """Patterns that are constants, and a table."""
    s = tf.placeholder(tf.string, [None], name="s")
    tf.regex_replace(s, "[aeiou]", "_", name="replaced")
    tf.strings.regex_full_match(s, "h.*", name="matched")
    rows = tf.lookup.KeyValueTensorInitializer(tf.constant(["abc", "d"]), tf.constant([3, 4], tf.int64))
    tf.identity(tf.lookup.StaticHashTable(rows, -1).lookup(s), name="found")
    tf.tables_initializer(name="tables")
    tf.add_to_collection("words", "alpha")
    return Program({"s:0": np.array([b"hello", b"abc"], object)}, ["tables"], ["replaced:0", "matched:0", "found:0"])


def slices(tf: Any) -> Program:
    """A variable in slices that is trained."""
    x = tf.placeholder(tf.float32, [None, 5], name="x")
    with tf.variable_scope("p", partitioner=tf.fixed_size_partitioner(2)):
        w = tf.get_variable("w", [5, 2], initializer=tf.constant_initializer(0.5))
    loss = tf.reduce_sum(tf.square(tf.matmul(x, tf.convert_to_tensor(w))), name="loss")
    tf.train.AdagradOptimizer(0.05).minimize(loss, name="train")
    return Program({"x:0": np.ones((2, 5), np.float32)}, ["train"], ["loss:0"])


def pipeline(tf: Any) -> Program:
    """An input pipeline whose iterator is fed."""
    data = tf.data.Dataset.from_tensor_slices(np.ones((4, 2), np.float32)).map(lambda row: row * 2).shuffle(4).batch(2)
    again = tf.data.make_initializable_iterator(data)
    one_shot = tf.data.make_one_shot_iterator(tf.data.Dataset.range(3))
    x = tf.placeholder_with_default(again.get_next(), [None, 2], name="x")
    count = tf.placeholder_with_default(one_shot.get_next(), [], name="count")
    tf.multiply(tf.matmul(x, _weights(tf, "w", 2, 2)), tf.cast(count, tf.float32), name="y")
    return Program({"x:0": np.ones((1, 2), np.float32), "count:0": np.int64(3)}, [], ["y:0"])


def queues(tf: Any) -> Program:
    """A queue by priorities, and one that pads."""
    first = tf.PriorityQueue(5, [tf.string], [[]], name="first")
    first.enqueue_many([tf.constant([3, 1, 2], tf.int64), tf.constant(["c", "a", "b"])], name="fill")
    number, text = first.dequeue()
    padded = tf.PaddingFIFOQueue(10, [tf.int32], shapes=[[None]], name="padded")
    padded.enqueue([tf.constant([4, 5])], name="short")
    padded.enqueue([tf.constant([4, 5, 6])], name="long")
    tf.identity(padded.dequeue_many(2), name="rows")
    tf.identity(number, name="number")
    tf.identity(text, name="text")
    return Program({}, ["fill", "short", "long"], ["number:0", "text:0", "rows:0"])


def records(tf: Any) -> Program:
    """Examples that are parsed by many and alone, of which features are missing."""
    serialized = tf.placeholder(tf.string, [None], name="serialized")
    plan = {
        "a": tf.FixedLenFeature([2], tf.float32, default_value=[1.0, 2.0]),
        "b": tf.VarLenFeature(tf.int64),
        "c": tf.FixedLenFeature([], tf.string, default_value="none"),
    }
    many, alone = tf.parse_example(serialized, plan), tf.parse_single_example(serialized[0], plan)
    context, _ = tf.parse_single_sequence_example(
        serialized[0],
        {"z": tf.FixedLenFeature([], tf.int64, default_value=4)},
        {"q": tf.FixedLenSequenceFeature([], tf.float32, allow_missing=True)},
    )
    named = {"many_a": many["a"], "many_b": many["b"].dense_shape, "many_c": many["c"], "alone_a": alone["a"]}
    named.update(alone_c=alone["c"], z=context["z"])
    for name, tensor in named.items():
        tf.identity(tensor, name=name)
    return Program({"serialized:0": np.array([b"", b""], object)}, [], [f"{name}:0" for name in named])


def sparse(tf: Any) -> Program:
    """Rows that are combined and trained, and the boxes, counts and unique values of older and newer ops."""
    ids = tf.SparseTensor([[0, 0], [0, 2], [2, 1]], tf.constant([3, 1, 3], tf.int64), [3, 4])
    w = _weights(tf, "w", 5, 2)
    losses = []
    for combiner in ("sum", "mean", "sqrtn"):
        losses.append(tf.reduce_sum(tf.square(tf.nn.embedding_lookup_sparse(w, ids, None, combiner=combiner))))
    tf.add_n(losses, name="loss")
    tf.train.GradientDescentOptimizer(0.1).minimize(tf.add_n(losses), name="train")
    several = {
        "counts": tf.bincount(tf.constant([1, 1, 3])),
        "drawn": tf.image.draw_bounding_boxes(tf.zeros([1, 4, 4, 3]), [[[0.0, 0.0, 1.0, 1.0]]]),
        "kept": tf.image.non_max_suppression([[0.0, 0, 1, 1], [0, 0, 1, 0.9], [2, 2, 3, 3]], [0.9, 0.8, 0.7], 3),
        "third": tf.nn.top_k(tf.constant([5.0, 1.0, 3.0]), 3)[0][2],
    }
    for name, tensor in several.items():
        tf.identity(tensor, name=name)
    return Program({}, ["train", "train"], ["loss:0", *(f"{name}:0" for name in several)])


def late_reads(tf: Any) -> Program:
    """Reads that are shared, and taken behind a write: each form has a variable of its own, which goes from 2 to 6."""
    yes = tf.placeholder_with_default(True, [], name="yes")
    forms: dict[str, Any] = {}

    def form(build: Callable[[Any, Any, Any], Any]) -> None:
        v = tf.Variable(2.0, name=f"v_{build.__name__}", use_resource=False)
        forms[build.__name__] = build(v, v.value(), v.assign(6.0))

    def behind(node: Any, build: Callable[[], Any]) -> Any:
        with tf.control_dependencies([node]):
            return build()

    def branch(build: Callable[[], Any]) -> Any:
        return tf.cond(yes, build, lambda: 0.0)

    def turns(step: Callable[[Any], Any], start: Any = 0.0) -> Any:
        return tf.while_loop(lambda i, x: i < 2, lambda i, x: (i + 1, step(x)), [0, start])[1]

    @form
    def controls(v: Any, read: Any, write: Any) -> Any:
        return behind(write, lambda: tf.identity(read))

    @form
    def control_of_a_constant(v: Any, read: Any, write: Any) -> Any:
        return behind(write, lambda: read * 1.0)

    @form
    def groups(v: Any, read: Any, write: Any) -> Any:
        return behind(tf.group(tf.group(write), tf.no_op()), lambda: v * 1.0)

    @form
    def tuple_(v: Any, read: Any, write: Any) -> Any:
        return tf.tuple([read, tf.constant(1.0)], control_inputs=[write])[0] * 1.0

    @form
    def data(v: Any, read: Any, write: Any) -> Any:
        return read * behind(write, lambda: tf.to_float(yes))

    @form
    def chain_of_identities(v: Any, read: Any, write: Any) -> Any:
        return tf.identity(tf.identity(read)) * behind(write, lambda: tf.to_float(yes))

    @form
    def branch_behind_a_write(v: Any, read: Any, write: Any) -> Any:
        return behind(write, lambda: branch(lambda: v * 1.0))

    @form
    def branch_that_gives_the_read(v: Any, read: Any, write: Any) -> Any:
        return behind(write, lambda: branch(lambda: tf.identity(read)))

    @form
    def branch_in_a_branch(v: Any, read: Any, write: Any) -> Any:
        return behind(write, lambda: branch(lambda: tf.cond(yes, lambda: read * 1.0, lambda: 1.0)))

    @form
    def write_in_a_branch(v: Any, read: Any, write: Any) -> Any:
        return branch(lambda: behind(v.assign(6.0), lambda: read * 1.0))

    @form
    def behind_a_branch_that_writes(v: Any, read: Any, write: Any) -> Any:
        return behind(branch(lambda: tf.identity(v.assign(6.0))), lambda: read * 1.0)

    @form
    def predicate_behind_a_write(v: Any, read: Any, write: Any) -> Any:
        return tf.cond(behind(write, lambda: tf.identity(yes)), lambda: v * 1.0, lambda: 0.0)

    @form
    def cases(v: Any, read: Any, write: Any) -> Any:
        return behind(write, lambda: tf.case([(yes, lambda: v * 1.0)], default=lambda: 0.0))

    @form
    def loop_behind_a_write(v: Any, read: Any, write: Any) -> Any:
        return behind(write, lambda: turns(lambda x: x + read))

    @form
    def start_behind_a_write(v: Any, read: Any, write: Any) -> Any:
        return turns(lambda x: x + v, behind(write, lambda: tf.to_float(yes) * 0.0))

    @form
    def map_behind_a_write(v: Any, read: Any, write: Any) -> Any:
        return behind(write, lambda: tf.map_fn(lambda x: x + v, tf.zeros([2])))

    @form
    def write_in_a_loop(v: Any, read: Any, write: Any) -> Any:
        return turns(lambda x: behind(v.assign(x + 3.0), lambda: read * 1.0))

    @form
    def read_before_the_write_of_a_loop(v: Any, read: Any, write: Any) -> Any:
        def step(x: Any) -> Any:
            taken = x + read
            return behind(v.assign(taken + 1.0), lambda: tf.identity(taken))

        return turns(step)

    @form
    def reference_of_the_update(v: Any, read: Any, write: Any) -> Any:
        return behind(behind(write, lambda: v.assign_add(1.0)), lambda: branch(lambda: write * 1.0))

    @form
    def another_variables_write(v: Any, read: Any, write: Any) -> Any:
        other = tf.Variable(1.0, name="other", use_resource=False)
        return behind(other.assign(5.0), lambda: read * 1.0)

    for name, tensor in forms.items():
        tf.identity(tensor, name=name)
    return Program({}, [], [f"{name}:0" for name in forms])


PROGRAMS: dict[str, Callable[[Any], Program]] = {
    f.__name__: f for f in (branches, loops, arrays, texts, slices, pipeline, queues, records, sparse)
}

REFERENCES: dict[str, Callable[[Any], Program]] = {"late_reads": late_reads}
"""Programs with reference variables, which resource variables would leave to chance."""
