"""The text of a mistake: the right class, the node, the user's line, at most 25 lines; and the session goes on after it.

Each row makes one mistake. `# <-` marks the line that the error has to name: in its text where a node is at fault, in its
traceback where only the call is (there is no node of an unknown name).
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import probes
import pytest
from probes import probe as probe

import actorflow as af
from actorflow import errors
from actorflow.graph.ops.state.variable import variable_handle

MAX_LINES = 25
KIB = 1024
Mistake = Callable[[af.Session], Awaitable[Any]]


@dataclass(frozen=True)
class Row:
    """One mistake, and what its error is: its class, words of its text, and whether the text names the marked line."""

    mistake: Mistake
    kind: type[Exception]
    says: tuple[str, ...]
    line_in_text: bool = True
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def line(self) -> int:
        """The number of the marked line."""
        lines, first = inspect.getsourcelines(self.mistake)
        (marked,) = [first + i for i, line in enumerate(lines) if line.rstrip().endswith("# <-")]
        return marked


TABLE: list[Row] = []


def row(
    kind: type[Exception], *says: str, line_in_text: bool = True, table: list[Row] = TABLE, **options: Any
) -> Callable[[Mistake], Mistake]:
    """Adds the decorated mistake to the table; `options` are the session's."""

    def add(mistake: Mistake) -> Mistake:
        table.append(Row(mistake, kind, says, line_in_text, options))
        return mistake

    return add


class DiskError(Exception):
    """An error that only the user's program knows."""


def raises(error: Exception) -> Callable[[Any], Any]:
    def kernel(x: Any) -> Any:
        raise error

    return kernel


# ---- while the graph is built: types


@row(TypeError, "node total (Add)", "'y'", "int32", "float32", "af.cast")
async def two_types_in_one_op(session: af.Session) -> None:
    af.add(af.constant(1.0), af.constant(1), name="total")  # <-


@row(TypeError, "node prod (MatMul)", "string")
async def a_type_that_the_op_does_not_take(session: af.Session) -> None:
    af.matmul([["a"]], [["b"]], name="prod")  # <-


@row(TypeError, "node total (Add)", "'y'", "'text'", "float32")
async def a_value_that_is_no_tensor_of_the_type(session: af.Session) -> None:
    af.add(af.constant(1.0), "text", name="total")  # <-


@row(TypeError, "node total (Add)", "'y'", "None")
async def none_as_an_input(session: af.Session) -> None:
    af.add(1.0, None, name="total")  # <-


@row(ValueError, "node total (Add)", "different shapes")
async def a_ragged_list(session: af.Session) -> None:
    af.add(1.0, [[1.0], [1.0, 2.0]], name="total")  # <-


@row(TypeError, "node tower/total (Add)")
async def a_mistake_inside_a_name_scope(session: af.Session) -> None:
    with af.name_scope("tower"):
        af.add(1.0, None, name="total")  # <-


# ---- while the graph is built: shapes


@row(ValueError, "node prod (MatMul)", "3 columns of [2,3]", "2 rows of [2,4]")
async def matrices_that_do_not_fit(session: af.Session) -> None:
    a, b = af.constant(np.ones((2, 3))), af.constant(np.ones((2, 4)))
    af.matmul(a, b, name="prod")  # <-


@row(ValueError, "node total (Add)", "[2,3]", "[4]")
async def shapes_that_do_not_broadcast(session: af.Session) -> None:
    af.add(np.ones((2, 3)), np.ones(4), name="total")  # <-


@row(ValueError, "node x (Placeholder)", "(2,)", "(3,)")
async def a_shape_that_contradicts_what_is_known(session: af.Session) -> None:
    x = af.placeholder(af.float32, [2], name="x")  # <-
    x.set_shape([3])


# ---- while the graph is built: arguments


@row(TypeError, "node total (Add)", "'spice'")
async def an_unknown_attribute(session: af.Session) -> None:
    af.add(1.0, 2.0, spice=3, name="total")  # type: ignore[call-arg]  # <-


@row(TypeError, "node total (Add)", "takes 2 inputs", "3 were given")
async def too_many_inputs(session: af.Session) -> None:
    af.add(1.0, 2.0, 3.0, name="total")  # type: ignore[misc, arg-type]  # <-


@row(TypeError, "node total (Add)", "misses", "'y'")
async def too_few_inputs(session: af.Session) -> None:
    af.add(1.0, name="total")  # type: ignore[call-arg]  # <-


@row(TypeError, "node seen (TestLog)", "misses", "'tag'")
async def a_missing_attribute(session: af.Session) -> None:
    probes.log(1.0, name="seen")  # type: ignore[call-arg]  # <-


@row(TypeError, "node seen (TestLog)", "'tag'", "is a str", "7")
async def an_attribute_of_another_type(session: af.Session) -> None:
    probes.log(1.0, tag=7, name="seen")  # type: ignore[arg-type]  # <-


@row(TypeError, "node seen (TestLog)", "'tag'", "the tensor text:0")
async def an_attribute_given_as_a_tensor(session: af.Session) -> None:
    tag = af.constant("a", name="text")
    probes.log(1.0, tag=tag, name="seen")  # type: ignore[arg-type]  # <-


@row(ValueError, "node total (Add)", "far:0", "another graph")
async def a_tensor_of_another_graph_as_an_input(session: af.Session) -> None:
    with af.Graph().as_default():
        far = af.constant(1.0, name="far")
    af.add(af.constant(1.0), far, name="total")  # <-


@row(ValueError, "'_x'", "is no name for a node")
async def a_name_that_no_node_may_have(session: af.Session) -> None:
    af.constant(1.0, name="_x")  # <-


# ---- fetches


@row(KeyError, "'lost'", "Similar names: last", line_in_text=False)
async def an_unknown_operation(session: af.Session) -> None:
    af.constant(1.0, name="last")
    await session.run("lost")  # <-


@row(KeyError, "'lost'", line_in_text=False)
async def an_unknown_tensor(session: af.Session) -> None:
    await session.run("lost:0")  # <-


@row(KeyError, "'x:1'", "x:0", "node x (Const)")
async def an_output_that_a_node_does_not_have(session: af.Session) -> None:
    af.constant(1.0, name="x")  # <-
    await session.run("x:1")


@row(ValueError, "far:0", "another graph")
async def a_fetch_of_another_graph(session: af.Session) -> None:
    with af.Graph().as_default():
        far = af.constant(1.0, name="far")  # <-
    await session.run(far)


@row(TypeError, "None can't be fetched", line_in_text=False)
async def a_fetch_of_nothing(session: af.Session) -> None:
    await session.run(None)  # <-


@row(TypeError, "3.5", "float", line_in_text=False)
async def a_fetch_of_a_number(session: af.Session) -> None:
    await session.run([3.5])  # <-


@row(TypeError, "node v (Variable", "reference")
async def a_fetch_of_a_reference_that_nothing_reads(session: af.Session) -> None:
    handle = variable_handle(shape=[], dtype=af.float32, name="v")  # <-
    await session.run(handle)


# ---- feeds


@row(KeyError, "'lost:0'", line_in_text=False)
async def a_feed_of_an_unknown_name(session: af.Session) -> None:
    await session.run(af.constant(1.0), {"lost:0": 1.0})  # <-


@row(ValueError, "far:0", "another graph")
async def a_feed_of_another_graph(session: af.Session) -> None:
    with af.Graph().as_default():
        far = af.placeholder(af.float32, name="far")  # <-
    await session.run(af.constant(1.0), {far: 1.0})


@row(TypeError, "3.5", "float", line_in_text=False)
async def a_feed_of_a_number(session: af.Session) -> None:
    await session.run(af.constant(1.0), {3.5: 1.0})  # <-


@row(TypeError, "feeds is a dict", line_in_text=False)
async def feeds_that_are_no_dict(session: af.Session) -> None:
    await session.run(af.constant(1.0), [1.0])  # type: ignore[arg-type]  # <-


@row(errors.InvalidArgumentError, "node x", "The operation x can't be fed", "x:0")
async def a_feed_of_an_operation(session: af.Session) -> None:
    x = af.placeholder(af.float32, [], name="x")  # <-
    await session.run(x, {x.op: 1.0})


@row(errors.InvalidArgumentError, "node x (Placeholder)", "is text", "float32", "'one'")
async def a_feed_that_can_not_be_converted(session: af.Session) -> None:
    x = af.placeholder(af.float32, [], name="x")  # <-
    await session.run(x, {x: "one"})


@row(errors.InvalidArgumentError, "node x (Placeholder)", "float64", "int32")
async def a_feed_of_a_wrong_type(session: af.Session) -> None:
    x = af.placeholder(af.int32, [], name="x")  # <-
    await session.run(x, {x: 1.5})


@row(errors.InvalidArgumentError, "node x (Placeholder)", "(3,)", "(2, ?)")
async def a_feed_of_a_wrong_shape(session: af.Session) -> None:
    x = af.placeholder(af.float32, [2, None], name="x")  # <-
    await session.run(x, {x: [1.0, 2.0, 3.0]})


@row(errors.InvalidArgumentError, "node x (Placeholder)", "can't become an array")
async def a_feed_that_is_ragged(session: af.Session) -> None:
    x = af.placeholder(af.float32, name="x")  # <-
    await session.run(x, {x: [[1.0], [1.0, 2.0]]})


@row(errors.InvalidArgumentError, "node x (Placeholder)", "A tensor can't be fed")
async def a_feed_of_a_tensor_as_the_value(session: af.Session) -> None:
    x = af.placeholder(af.float32, name="x")  # <-
    await session.run(x, {x: af.constant(1.0)})


# ---- in a run


@row(errors.InvalidArgumentError, "node x (Placeholder)", "float32", "does not feed it")
async def a_placeholder_that_is_not_fed(session: af.Session) -> None:
    x = af.placeholder(af.float32, name="x")  # <-
    await session.run(x + 1.0)


@row(errors.InvalidArgumentError, "node total (Add)", "(2,)", "(3,)")
async def shapes_that_contradict_in_a_run(session: af.Session) -> None:
    x, y = af.placeholder(af.float32, name="x"), af.placeholder(af.float32, name="y")
    total = af.add(x, y, name="total")  # <-
    await session.run(total, {x: [1.0, 2.0], y: [1.0, 2.0, 3.0]})


@row(errors.InvalidArgumentError, "node prod (", "CPU:0", "inputs: x:0 float32 (2, 3), x:0 float32 (2, 3)")
async def matrices_that_contradict_in_a_run(session: af.Session) -> None:
    x = af.placeholder(af.float32, name="x")
    prod = af.matmul(x, x, name="prod")  # <-
    await session.run(prod, {x: np.ones((2, 3), np.float32)})


@row(errors.FailedPreconditionError, "node v", "no value")
async def a_variable_without_a_value(session: af.Session) -> None:
    v = af.Variable(1.0, name="v")  # <-
    await session.run(v)


@row(errors.InvalidArgumentError, "cycle of 2 nodes", "second <- first <- second")
async def a_cycle(session: af.Session) -> None:
    first = probes.log(1.0, tag="a", name="first")
    second = probes.log(first, tag="b", name="second")  # <-
    session.graph.add_control_input(first.op, second.op)
    await session.run(second)


@row(errors.InvalidArgumentError, "cycle of 200 nodes", "node end (TestLog)", "start")
async def a_long_cycle(session: af.Session) -> None:
    start = end = probes.log(1.0, tag="start", name="start")
    for _ in range(198):
        end = probes.log(end, tag="x")
    end = probes.log(end, tag="end", name="end")  # <-
    session.graph.add_control_input(start.op, end.op)
    await session.run(end)


@row(errors.InvalidArgumentError, "node bad (TestLog) on", "CPU:0", "ValueError: not today")
async def a_kernel_that_raises_a_value_error(session: af.Session) -> None:
    probes.current.does["bad"] = raises(ValueError("not today"))
    bad = probes.log(1.0, tag="bad", name="bad")  # <-
    await session.run(bad)


@row(errors.UnknownError, "node bad (TestLog) on", "CPU:0", "DiskError: the disk is full")
async def a_kernel_that_raises_an_error_of_its_own(session: af.Session) -> None:
    probes.current.does["bad"] = raises(DiskError("the disk is full"))
    bad = probes.log(1.0, tag="bad", name="bad")  # <-
    await session.run(bad)


@row(errors.OutOfRangeError, "node bad (TestLog) on", "CPU:0", "no more lines")
async def a_kernel_that_raises_an_op_error(session: af.Session) -> None:
    probes.current.does["bad"] = raises(errors.OutOfRangeError("no more lines"))
    bad = probes.log(1.0, tag="bad", name="bad")  # <-
    await session.run(bad)


@row(errors.UnknownError, "node bad (TestLog) on", "line 0", "lines more")
async def a_kernel_that_raises_a_long_story(session: af.Session) -> None:
    probes.current.does["bad"] = raises(DiskError("\n".join(f"line {i}" for i in range(100))))
    bad = probes.log(1.0, tag="bad", name="bad")  # <-
    await session.run(bad)


@row(errors.InvalidArgumentError, "it computes the gradient of prod", "node gradients/")
async def a_gradient_that_fails(session: af.Session) -> None:
    x = af.placeholder(af.float32, name="x")
    prod = af.matmul(x, af.constant(np.ones((3, 2), np.float32)), name="prod")
    (dx,) = af.gradients(prod, [x], [af.placeholder_with_default(np.ones((4, 4), np.float32), None)])  # <-
    await session.run(dx, {x: np.ones((2, 3), np.float32)})


@row(errors.UnimplementedError, "node moon (TestFar)", "no kernel for CPU", "FAR")
async def a_kernel_that_the_device_lacks(session: af.Session) -> None:
    moon = probes.far(1.0, name="moon")  # <-
    await session.run(moon)


@row(errors.UnimplementedError, "node void (TestKernelless)", "no kernel")
async def an_op_without_a_kernel(session: af.Session) -> None:
    void = probes.kernelless(1.0, name="void")  # <-
    await session.run(void)


@row(errors.InvalidArgumentError, "node one (Const)", "CPU:7", "there are", "CPU:0")
async def a_device_that_the_session_lacks(session: af.Session) -> None:
    with af.device("/device:CPU:7"):
        one = af.constant(1.0, name="one")  # <-
    await session.run(one)


@row(
    errors.ResourceExhaustedError,
    "node big (Fill)",
    "CPU:0",
    "budget",
    limits=af.SessionLimits(memory_budget=256 * KIB),
)
async def memory_over_the_budget(session: af.Session) -> None:
    size = af.placeholder(af.int32, [1], name="size")
    big = af.fill(size, 1.0, name="big")  # <-
    await session.run(big, {size: [KIB * KIB]})


# ---- F18: references and attributes


REFERENCES: list[Row] = []


@row(TypeError, "node total (Add)", "'x'", "q:0 is the handle of a resource", table=REFERENCES)
async def a_queue_where_a_value_is_needed(session: af.Session) -> None:
    q = af.FIFOQueue(1, af.float32, name="q")
    af.add(q.queue_ref, 1.0, name="total")  # <-


@row(TypeError, "node step (Assign", "'ref'", "takes a variable", "Const:0", table=REFERENCES)
async def a_value_where_a_reference_is_needed(session: af.Session) -> None:
    af.assign(af.constant(1.0), 2.0, name="step")  # <-


@row(TypeError, "node step (Assign", "int32", "float32", table=REFERENCES)
async def a_value_of_another_type_for_a_variable(session: af.Session) -> None:
    v = af.Variable(1.0, name="v")
    af.assign(v, af.constant(1), name="step")  # <-


@row(errors.InvalidArgumentError, "node q", "reference can't be fed: it stands for a resource", table=REFERENCES)
async def a_feed_of_a_queue(session: af.Session) -> None:
    q = af.FIFOQueue(1, af.float32, name="q")  # <-
    await session.run(af.constant(1.0), {q.queue_ref: 1.0})


# ---- the checks


def check(error: BaseException, row: Row) -> None:
    """The error's class and text are those of the row."""
    text = str(error)
    assert isinstance(error, row.kind), repr(error)
    assert [word for word in row.says if word not in text] == [], text
    lines = text.splitlines()
    assert len(lines) <= MAX_LINES, text
    assert max(map(len, lines)) <= 400, text
    here = f"{Path(__file__)}:{row.line}"
    if row.line_in_text:
        assert here in text, text
    else:
        frames = traceback.extract_tb(error.__traceback__)
        assert (__file__, row.line) in [(frame.filename, frame.lineno) for frame in frames], text


async def works(session: af.Session) -> None:
    """A run that has nothing to do with the mistake gives its value."""
    with session.graph.as_default():
        x = af.placeholder(af.float32, [2])
        assert (await session.run(x * 2.0, {x: [1.0, 2.0]})).tolist() == [2.0, 4.0]


async def make(row: Row) -> None:
    """Makes a row's mistake in a session of its own, and looks at the error and at the session after it."""
    graph = af.Graph()
    async with af.Session(graph=graph, **row.options) as session:
        with graph.as_default(), pytest.raises(Exception) as caught:
            await row.mistake(session)
        check(caught.value, row)
        await works(session)


def name_of(row: Row) -> str:
    return row.mistake.__name__


@pytest.mark.parametrize("row", TABLE, ids=name_of)
@pytest.mark.usefixtures("probe")
async def test_a_mistake_names_its_node_and_line_and_the_session_goes_on(row: Row) -> None:
    await make(row)


@pytest.mark.parametrize("row", REFERENCES, ids=name_of)
async def test_f18_references_and_values_are_kept_apart(row: Row) -> None:
    await make(row)


async def test_a_closed_session_says_so_at_every_call() -> None:
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [], name="x")
    session = af.Session(graph=graph)
    assert await session.run(x, {x: 1.0}) == 1.0
    await session.close()
    for call in (
        lambda: session.run(x, {x: 1.0}),
        lambda: session.make_callable(x, [x]),
        lambda: session.warmup(x, [x]),
        lambda: session.extend(),
        lambda: session.partial_run_setup(x, [x]),
        lambda: session.__aenter__(),
    ):
        with pytest.raises(errors.FailedPreconditionError, match="The session is closed") as caught:
            await call()
        assert "Open another one" in str(caught.value)
    with af.blocking.Session(graph=graph) as other:
        assert other.run(x, {x: 2.0}) == 2.0
    with pytest.raises(errors.FailedPreconditionError, match="closed"):
        other.run(x, {x: 2.0})


async def test_a_callable_refuses_a_value_as_run_does_and_goes_on() -> None:
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [2], name="x")
        y = x * 2.0
    async with af.Session(graph=graph) as session:
        double = await session.make_callable(y, [x])
        with pytest.raises(errors.InvalidArgumentError, match=r"node x \(Placeholder\)"):
            await double([1.0, 2.0, 3.0])
        assert (await double([1.0, 2.0])).tolist() == [2.0, 4.0]


async def test_one_node_that_can_not_run_leaves_the_rest_of_the_graph_alone() -> None:
    """The error of a node without a kernel belongs to the runs that need the node."""
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [], name="x")
        moon, y = probes.far(x, name="moon"), x + 1.0
    async with af.Session(graph=graph) as session:
        for _ in range(2):
            with pytest.raises(errors.UnimplementedError, match="node moon"):
                await session.run([moon, y], {x: 1.0})
            assert await session.run(y, {x: 1.0}) == 2.0
            assert await session.run(moon, {moon: 3.0}) == 3.0
