"""Recurrent networks: the cells' values against TensorFlow's, loops against unrolled graphs, names, shapes, bad input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from graph.control_flow.rnn_answers import ANSWERS

import actorflow as af
from actorflow import blocking, nest
from actorflow.graph.control_flow.cond import cond
from actorflow.graph.control_flow.tensor_array import TensorArray
from actorflow.graph.ops.nn.lstm import block_lstm
from actorflow.nn import rnn_cell as cells

Array = np.ndarray[Any, Any]


def fill(shape: Any, factor: float) -> Array:
    """The weights and inputs with which the answers were made."""
    count = int(np.prod(shape))
    made: Array = (np.sin(np.arange(count) * 0.7 * factor + factor) * 0.8).astype(np.float32).reshape(shape)
    return made


INPUTS = fill([2, 3, 3], 1.3)
"""[batch, time, depth]"""


def variables() -> list[af.Variable]:
    return af.global_variables()


def load() -> af.Operation:
    """Gives the variables their values."""
    return af.group(*(v.assign(fill(v.static_shape, k + 1)).op for k, v in enumerate(variables())))


def values(fetches: Any, feeds: Any = None) -> Any:
    """`fetches` with the known weights."""
    flat, rebuild = nest.parse(fetches)
    ready = load()
    with blocking.Session(graph=af.get_default_graph()) as session:
        session.run(ready)
        return rebuild(session.run(flat, feeds))


@pytest.fixture(autouse=True)
def graph() -> Any:
    with af.Graph().as_default() as made:
        yield made


def total(outputs: Any, state: Any) -> af.Tensor:
    return af.add_n([af.reduce_sum(af.square(t)) for t in nest.flatten((outputs, state))])


def close(found: Any, wanted: Any, atol: float = 2e-6) -> None:
    found, wanted = nest.flatten(found), [np.array(w) for w in wanted]
    assert [f.shape for f in found] == [w.shape for w in wanted]
    for one, other in zip(found, wanted):
        np.testing.assert_allclose(one, other, rtol=0, atol=atol)


MAKE: dict[str, Callable[[], Any]] = {
    "basic_rnn": lambda: cells.BasicRNNCell(2),
    "basic_rnn_relu": lambda: cells.BasicRNNCell(2, activation="relu"),
    "basic_lstm": lambda: cells.BasicLSTMCell(2),
    "basic_lstm_flat": lambda: cells.BasicLSTMCell(2, forget_bias=0.3, state_is_tuple=False),
    "lstm": lambda: cells.LSTMCell(2),
    "lstm_peepholes": lambda: cells.LSTMCell(2, use_peepholes=True, cell_clip=0.3),
    "lstm_proj": lambda: cells.LSTMCell(4, use_peepholes=True, num_proj=2, proj_clip=0.2, forget_bias=0.5),
    "lstm_proj_flat": lambda: cells.LSTMCell(3, num_proj=2, state_is_tuple=False),
    "gru": lambda: cells.GRUCell(2),
    "multi": lambda: cells.MultiRNNCell([cells.GRUCell(2), cells.BasicLSTMCell(2)]),
    "multi_flat": lambda: cells.MultiRNNCell([cells.GRUCell(2), cells.BasicRNNCell(2)], state_is_tuple=False),
    "residual": lambda: cells.ResidualWrapper(cells.GRUCell(3)),
}


def test_each_answer_is_used() -> None:
    assert {name for name, _ in ANSWERS} == set(MAKE)


@pytest.mark.parametrize("lengths", [None, [3, 1]], ids=["full", "lengths"])
@pytest.mark.parametrize("name", MAKE)
def test_f81_dynamic_rnn(name: str, lengths: Any) -> None:
    """Outputs, states, gradients and the variables' names are TensorFlow's."""
    answer = ANSWERS[name, lengths is not None]
    inputs = af.constant(INPUTS)
    outputs, state = af.nn.dynamic_rnn(MAKE[name](), inputs, sequence_length=lengths, dtype=af.float32)
    assert {v.op.name: v.shape.as_list() for v in variables()} == answer.variables
    assert outputs.shape.as_list() == list(np.shape(answer.outputs))
    gradients = af.gradients(total(outputs, state), [inputs, *variables()])
    found = values([outputs, nest.flatten(state), gradients])
    close(found[0], [answer.outputs])
    close(found[1], answer.state)
    close(found[2][0], [answer.d_inputs], 1e-5)
    close([g.sum() for g in found[2][1:]], answer.d_variables, 5e-5)


@pytest.mark.parametrize("lengths", [None, [2, 3]], ids=["full", "lengths"])
@pytest.mark.parametrize("name", MAKE)
def test_f81_gradients_are_those_of_the_unrolled_graph(name: str, lengths: Any) -> None:
    inputs = af.constant(INPUTS)
    cell = MAKE[name]()
    looped, last = af.nn.dynamic_rnn(cell, inputs, lengths, dtype=af.float32)
    unrolled, end = af.nn.static_rnn(cell, af.unstack(inputs, axis=1), dtype=af.float32, sequence_length=lengths)
    xs = [inputs, *variables()]
    one = af.gradients(total(looped, last), xs)
    other = af.gradients(total(unrolled, end), xs)
    found = values([looped, last, one, af.stack(unrolled, 1), end, other])
    half = len(nest.flatten(found)) // 2
    close(nest.flatten(found)[:half], nest.flatten(found)[half:], 1e-5)


def test_sizes() -> None:
    found = [(MAKE[name]().state_size, MAKE[name]().output_size) for name in ("lstm_proj", "lstm_proj_flat", "multi")]
    assert found == [(cells.LSTMStateTuple(4, 2), 2), (5, 2), ((2, cells.LSTMStateTuple(2, 2)), 2)]


def test_time_major_with_a_state() -> None:
    start = cells.LSTMStateTuple(af.constant(fill([2, 2], 3)), af.constant(fill([2, 2], 2)))
    outputs, state = af.nn.dynamic_rnn(
        cells.BasicLSTMCell(2), af.constant(INPUTS.transpose(1, 0, 2)), initial_state=start, time_major=True
    )
    found, last = values([outputs, state])
    wanted = [
        [[0.049672, -0.0066328], [-0.1859531, -0.1709343]],
        [[-0.1237317, -0.1000486], [-0.0717031, 0.0256376]],
        [[0.0180801, 0.0528665], [-0.2543438, -0.1024039]],
    ]
    close(found, [wanted])
    assert isinstance(state, cells.LSTMStateTuple)
    close(last, [[[0.1390638, 0.3316422], [-0.8897992, -0.2129627]], wanted[2]])


def test_unknown_batch_and_time() -> None:
    inputs, lengths = af.placeholder(af.float32, [None, None, 3]), af.placeholder(af.int32, [None])
    outputs, state = af.nn.dynamic_rnn(cells.GRUCell(2), inputs, lengths, dtype=af.float32)
    assert outputs.shape.as_list() == [None, None, 2] and state.shape.as_list() == [None, 2]
    slope = af.gradients(total(outputs, state), inputs)[0]
    first = [[-0.0852879, -0.0557183], [-0.5375095, 0.2432229]]
    nothing = [0.0, 0.0]
    ready = load()
    with blocking.Session(graph=af.get_default_graph()) as session:
        session.run(ready)
        found = session.run([outputs, state], {inputs: INPUTS, lengths: [2, 0]})
        close(found, [[[*first, nothing], [nothing] * 3], [first[1], nothing]])
        found = session.run([outputs, state], {inputs: INPUTS, lengths: [0, 0]})
        close(found, [[[nothing] * 3] * 2, [nothing] * 2])
        whole = session.run(outputs, {inputs: INPUTS[:1], lengths: [3]})
        close(session.run(outputs, {inputs: INPUTS[:1], lengths: [9]}), [whole])  # more than there are steps
        slopes = session.run(slope, {inputs: INPUTS, lengths: [2, 0]})
        assert np.abs(slopes[0, :2]).min() > 0 and not slopes[0, 2].any() and not slopes[1].any()
        with pytest.raises(af.errors.InvalidArgumentError, match="sequence_length"):
            session.run(outputs, {inputs: INPUTS, lengths: [3]})


def test_bidirectional_dynamic_rnn() -> None:
    outputs, states = af.nn.bidirectional_dynamic_rnn(
        cells.GRUCell(2), cells.BasicLSTMCell(2), af.constant(INPUTS), sequence_length=[3, 2], dtype=af.float32
    )
    names = [v.op.name for v in variables()]
    assert names[0] == "bidirectional_rnn/fw/gru_cell/gates/kernel"
    assert names[-1] == "bidirectional_rnn/bw/basic_lstm_cell/bias"
    forward = [
        [[-0.0852879, -0.0557183], [-0.5375095, 0.2432229], [-0.4760382, 0.4031685]],
        [[-0.3181403, -0.0685213], [-0.5822626, 0.307108], [0.0, 0.0]],
    ]
    backward = [
        [[0.3010277, -0.0792884], [0.1984114, -0.0477733], [0.1085654, -0.013355]],
        [[0.2250082, -0.0420724], [0.0911649, 0.0053849], [0.0, 0.0]],
    ]
    ends = [[-0.4760382, 0.4031685], [-0.5822626, 0.307108]], [[0.6880517, -0.2437862], [0.5154493, -0.1177449]]
    last = [[0.3010277, -0.0792884], [0.2250082, -0.0420724]]
    close(values([outputs, states]), [forward, backward, *ends, last])


@pytest.mark.parametrize("time_major", [False, True])
def test_bidirectional_without_lengths(time_major: bool) -> None:
    inputs = af.constant(INPUTS.transpose(1, 0, 2) if time_major else INPUTS)
    (_, backward), _ = af.nn.bidirectional_dynamic_rnn(
        cells.GRUCell(2), cells.BasicLSTMCell(2), inputs, dtype=af.float32, time_major=time_major
    )
    found = values(backward)
    close(found if time_major else found.swapaxes(0, 1), [[step[:, 2:] for step in STATIC_BOTH]])


STATIC_BOTH = np.array(
    [
        [[-0.0852879, -0.0557183, 0.3010277, -0.0792884], [-0.3181403, -0.0685213, 0.3001774, -0.1006319]],
        [[-0.5375095, 0.2432229, 0.1984114, -0.0477733], [-0.5822626, 0.307108, 0.1880801, -0.0626813]],
        [[-0.4760382, 0.4031685, 0.1085654, -0.013355], [-0.2656489, 0.1051371, 0.1653734, -0.0452889]],
    ]
)


def test_static_bidirectional_rnn() -> None:
    steps = af.unstack(af.constant(INPUTS), axis=1)
    outputs, forward, backward = af.nn.static_bidirectional_rnn(
        cells.GRUCell(2), cells.BasicLSTMCell(2), steps, dtype=af.float32
    )
    assert isinstance(outputs, list) and outputs[0].shape.as_list() == [2, 4]
    ends = [[-0.4760382, 0.4031685], [-0.2656489, 0.1051371]], [[0.6880517, -0.2437862], [0.7407809, -0.2809111]]
    last = [[0.3010277, -0.0792884], [0.3001774, -0.1006319]]
    close(values([outputs, forward, backward]), [*STATIC_BOTH, *ends, last])


def test_static_bidirectional_rnn_with_lengths() -> None:
    steps = af.unstack(af.constant(INPUTS), axis=1)
    outputs, _, _ = af.nn.static_bidirectional_rnn(
        cells.GRUCell(2), cells.BasicLSTMCell(2), steps, dtype=af.float32, sequence_length=[3, 2]
    )
    wanted = STATIC_BOTH.copy()
    wanted[0, 1, 2:], wanted[1, 1, 2:], wanted[2, 1] = [0.2250082, -0.0420724], [0.0911649, 0.0053849], 0
    close(values(outputs), wanted)


def test_static_rnn_with_lengths() -> None:
    steps = af.unstack(af.constant(INPUTS), axis=1)
    outputs, state = af.nn.static_rnn(cells.BasicLSTMCell(2), steps, dtype=af.float32, sequence_length=[2, 1])
    assert [v.op.name for v in variables()] == ["rnn/basic_lstm_cell/kernel", "rnn/basic_lstm_cell/bias"]
    wanted = [[[0.0168441, 0.0466735], [-0.3247427, -0.1378919]], [[-0.2565697, 0.0380282], [0, 0]], [[0, 0], [0, 0]]]
    c = [[-0.4234419, 0.0628148], [-0.6468189, -0.2232181]]
    close(values([outputs, state]), [*wanted, c, [wanted[1][0], wanted[0][1]]])


def test_raw_rnn() -> None:
    """TensorFlow's example of it: what `dynamic_rnn` does."""
    rows = TensorArray(af.float32, 3).unstack(af.constant(INPUTS.transpose(1, 0, 2)))
    cell, lengths = cells.BasicLSTMCell(2), af.constant([3, 1])

    def step(time: Any, output: Any, state: Any, count: Any) -> Any:
        finished = time >= lengths
        following = cell.zero_state(2, af.float32) if output is None else state
        given = cond(af.reduce_all(finished), lambda: af.zeros([2, 3]), lambda: rows.read(time))
        return finished, given, following, output, af.constant(10) if count is None else count + 1

    emitted, state, count = af.nn.raw_rnn(cell, step)
    outputs = emitted.stack()
    slopes = af.gradients(total(outputs, state), [v.handle for v in variables()])
    answer = ANSWERS["basic_lstm", True]
    found = values([outputs, state, count, slopes])
    close(found[0].swapaxes(0, 1), [answer.outputs])
    close(found[1], answer.state)
    assert found[2] == 13
    close([slope.sum() for slope in found[3]], answer.d_variables, 5e-5)


def test_raw_rnn_that_emits_something_else() -> None:
    cell = cells.BasicRNNCell(2)
    last = af.placeholder(af.int32, [])

    def step(time: Any, output: Any, state: Any, _: Any) -> Any:
        finished = af.fill([2], time >= last)
        given = af.ones([2, 1])
        if output is None:
            return finished, given, cell.zero_state(2, af.float32), (af.zeros([3]), af.constant(0, af.int64)), None
        emitted = (af.tile(output[:, :1], [1, 3]), af.fill([2], af.cast(time, af.int64)))
        return finished, given, state, emitted, None

    (floats, numbers), _, nothing = af.nn.raw_rnn(cell, step)
    assert nothing is None
    found = values([floats.stack(), numbers.stack()], {last: 4})
    assert found[0].shape == (4, 2, 3)
    assert found[1].tolist() == [[1, 1], [2, 2], [3, 3], [4, 4]]


def test_nested_inputs_and_outputs() -> None:
    class Two(cells.RNNCell):
        state_size = (2, af.TensorShape([2, 2]))

        @property
        def output_size(self) -> Any:
            return {"sum": 3, "flat": af.TensorShape([1, 2])}

        def call(self, inputs: Any, state: Any) -> Any:
            left, right = inputs
            a, b = state
            output = {"sum": left + right, "flat": af.expand_dims(a, 1)}
            return output, [a + left[:, :2], b + af.expand_dims(right[:, :2], 1)]

    both = (af.constant(INPUTS), af.constant(INPUTS * 2))
    outputs, state = af.nn.dynamic_rnn(Two(), both, sequence_length=[3, 2], dtype=af.float32)
    assert isinstance(state, tuple) and outputs["flat"].shape.as_list() == [2, 3, 1, 2]
    found, (a, b) = values([outputs, state])
    wanted = INPUTS * 3
    wanted[1, 2] = 0
    np.testing.assert_allclose(found["sum"], wanted, rtol=1e-6)
    np.testing.assert_allclose(found["flat"][0, 2, 0], INPUTS[0, :2, :2].sum(0), rtol=1e-6)
    np.testing.assert_allclose(a[1], INPUTS[1, :2, :2].sum(0), rtol=1e-6)
    np.testing.assert_allclose(b[0], np.tile(2 * INPUTS[0, :, :2].sum(0), [2, 1]), rtol=1e-6)


def test_second_derivatives() -> None:
    inputs = af.constant(INPUTS)
    cell = cells.GRUCell(2)
    pairs = []
    for outputs in (
        af.nn.dynamic_rnn(cell, inputs, dtype=af.float32)[0],
        af.stack(af.nn.static_rnn(cell, af.unstack(inputs, axis=1), dtype=af.float32)[0], 1),
    ):
        slope = af.gradients(af.reduce_sum(af.square(outputs)), inputs)[0]
        pairs.append(af.gradients(af.reduce_sum(af.square(slope)), inputs)[0])
    looped, unrolled = values(pairs)
    close(looped, [unrolled], 2e-5)


def test_body_reads_no_variables(graph: af.Graph) -> None:
    """The weights enter the loop once, as constants of it."""
    af.nn.dynamic_rnn(cells.BasicRNNCell(2), af.constant(INPUTS), dtype=af.float32)
    reads = [op for op in graph.get_operations() if op.type == "ReadVariableOp"]
    assert reads and all(graph.flow_of(op.name) is None for op in reads)
    assert all(graph.flow_of(v.op.name) is None for v in variables())
    matmul = graph.get_operation_by_name("rnn/while/basic_rnn_cell/MatMul")
    assert matmul.inputs[1].op.type == "Enter" and matmul.inputs[1].op.node.attrs["is_constant"]


# ---- LSTM cells by one op


class Own(cells.BasicLSTMCell):
    """A cell of the user's, which is always run in a loop."""

    def call(self, inputs: Any, state: Any) -> Any:
        return super().call(inputs, state)


STACK = cells.MultiRNNCell


@pytest.mark.parametrize("kind", [af.float32, af.float64])
@pytest.mark.parametrize(("steps", "batch", "inputs", "units"), [(4, 1, 3, 5), (3, 7, 40, 33), (1, 2, 1, 1)])
def test_one_op_gives_what_a_loop_gives(
    kind: af.DType, steps: int, batch: int, inputs: int, units: int, graph: af.Graph
) -> None:
    """Outputs, both states, all gradients, and gradients of those, of a stack from a given state."""
    sizes = [[steps, batch, inputs], *[[batch, units]] * 4]
    given = [af.constant(fill(size, k + 1).astype(kind.numpy_dtype)) for k, size in enumerate(sizes)]
    found: list[Any] = []
    for make in (cells.BasicLSTMCell, Own):
        stack = STACK([make(units, 0.7, name="first"), make(units, name="second")])
        state = (cells.LSTMStateTuple(*given[1:3]), cells.LSTMStateTuple(*given[3:]))
        with af.variable_scope("rnn", reuse=bool(found) or None) as scope:
            outputs, last = af.nn.dynamic_rnn(stack, given[0], initial_state=state, time_major=True, scope=scope)
        first = af.gradients(total(outputs, last), [*given, *variables()])
        second = af.gradients(af.add_n([af.reduce_sum(af.sin(one)) for one in first]), [*given, *variables()])
        found.append([outputs, last, first, second])
    types = {op.type for op in graph.get_operations()}
    assert len(variables()) == 4 and {"BlockLSTM", "LoopCond"} <= types
    one, other = (nest.flatten(part) for part in values(found))
    exact = 1e-10 if kind is af.float64 else 1e-4
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=exact * max(1, np.abs(b).max()))


def test_peepholes_of_one_op_have_both_derivatives_of_a_loop() -> None:
    x, start = af.constant(INPUTS.astype(np.float64)), [af.constant(fill([3, 2], k).astype(np.float64)) for k in (1, 2)]
    cell = cells.LSTMCell(2, use_peepholes=True, dtype=af.float64)
    looped, last = af.nn.dynamic_rnn(cell, x, initial_state=cells.LSTMStateTuple(*start), time_major=True)
    kernel, bias, *looks = variables()
    looks = [looks[k] for k in (1, 0, 2)]
    assert [v.op.name for v in looks] == [f"rnn/lstm_cell/w_{gate}_diag" for gate in "ifo"]
    made = block_lstm(2, x, *start, kernel, *looks, bias, cell_clip=-1.0, use_peephole=True)
    assert isinstance(last, cells.LSTMStateTuple)
    found = []
    for outputs, end in [(looped, last.c), (made[6], made[1][-1])]:
        xs = [x, *start, *variables()]
        first = af.gradients(total(outputs, end), xs)
        second = af.gradients(af.add_n([af.reduce_sum(af.sin(one)) for one in first]), xs)
        found.append([outputs, end, first, second])
    one, other = (nest.flatten(part) for part in values(found))
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_one_op_of_no_steps() -> None:
    """An unknown number of steps may be zero: then the last state is the first one."""
    x = af.placeholder(af.float32, [None, 2, 3])
    start = cells.LSTMStateTuple(af.constant(fill([2, 4], 1)), af.constant(fill([2, 4], 2)))
    outputs, last = af.nn.dynamic_rnn(cells.LSTMCell(4), x, initial_state=start, time_major=True)
    assert outputs.shape.as_list() == [None, 2, 4] and last.c.shape.as_list() == [2, 4]
    slopes = af.gradients(total(outputs, last), [*start, *variables()])
    found, end, gradients = values([outputs, last, slopes], {x: np.zeros([0, 2, 3])})
    assert found.shape == (0, 2, 4)
    close(end, [fill([2, 4], 1), fill([2, 4], 2)])
    close(gradients[:2], [2 * fill([2, 4], 1), 2 * fill([2, 4], 2)])
    assert not gradients[2].any() and not gradients[3].any()


@pytest.mark.parametrize(
    "cell",
    [
        lambda: Own(2),
        lambda: cells.BasicLSTMCell(2, activation="relu"),
        lambda: cells.BasicLSTMCell(2, state_is_tuple=False),
        lambda: cells.LSTMCell(2, cell_clip=1.0),
        lambda: cells.LSTMCell(2, use_peepholes=True),
        lambda: cells.LSTMCell(2, num_proj=1),
        lambda: STACK([cells.BasicLSTMCell(2), cells.GRUCell(2)]),
    ],
)
def test_other_cells_are_run_in_a_loop(cell: Any, graph: af.Graph) -> None:
    af.nn.dynamic_rnn(cell(), af.constant(INPUTS), dtype=af.float32)
    assert not any(op.type == "BlockLSTM" for op in graph.get_operations())


# ---- cells by themselves


def test_cells_of_one_scope_get_names_of_their_own() -> None:
    first, second, state = cells.GRUCell(2), cells.GRUCell(2), af.zeros([2, 2])
    inputs = af.constant(INPUTS[:, 0])
    for cell in (first, second, first):
        cell(inputs, state)
    assert sorted({v.op.name.split("/")[0] for v in variables()}) == ["gru_cell", "gru_cell_1"]
    assert len(variables()) == 8
    assert [v.op.name for v in first.variables] == [
        f"gru_cell/{p}/{q}" for p in ("gates", "candidate") for q in ("kernel", "bias")
    ]
    cells.GRUCell(2)(inputs, state, scope="given")
    cells.GRUCell(2, name="mine")(inputs, state)
    assert {v.op.name.split("/")[0] for v in variables()[8:]} == {"given", "mine"}


def test_variables_of_cells_inside() -> None:
    cell = cells.DropoutWrapper(
        cells.MultiRNNCell([cells.GRUCell(2), cells.ResidualWrapper(cells.BasicRNNCell(2))]), output_keep_prob=0.5
    )
    af.nn.dynamic_rnn(cell, af.constant(INPUTS), dtype=af.float32)
    names = [v.op.name for v in cell.variables]
    assert names == [v.op.name for v in variables()] == [v.op.name for v in cell.trainable_weights]
    assert names[0] == "rnn/multi_rnn_cell/cell_0/gru_cell/gates/kernel"
    assert names[-1] == "rnn/multi_rnn_cell/cell_1/basic_rnn_cell/bias"


def test_two_cells_can_not_share_a_scope_unless_asked() -> None:
    def make(cell: Any) -> None:
        af.nn.dynamic_rnn(cell, af.constant(INPUTS), dtype=af.float32)

    make(cells.GRUCell(2))
    with pytest.raises(ValueError, match="rnn/gru_cell/gates/kernel already exists"):
        make(cells.GRUCell(2))
    make(cells.GRUCell(2, reuse=True))
    with af.variable_scope("", reuse=af.AUTO_REUSE):
        make(cells.GRUCell(2))
    assert len(variables()) == 4


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("static", [False, True])
def test_a_cell_of_ones_own(old: bool, static: bool) -> None:
    def step(inputs: Any, state: Any) -> Any:
        return inputs, af.matmul(inputs, af.get_variable("w", [3, 2])) + state

    class New(cells.RNNCell):
        state_size = 2
        output_size = 3

        def call(self, inputs: Any, state: Any) -> Any:
            return step(inputs, state)

    class Old(New):
        def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
            with af.variable_scope(scope or "new"):
                return step(inputs, state)

    cell = Old() if old else New()
    inputs = af.constant(INPUTS)
    if static:
        _, state = af.nn.static_rnn(cell, af.unstack(inputs, axis=1), dtype=af.float32)
    else:
        _, state = af.nn.dynamic_rnn(cell, inputs, dtype=af.float32)
    assert [v.op.name for v in variables()] == ["rnn/new/w"]
    np.testing.assert_allclose(values(state), INPUTS.sum(1) @ fill([3, 2], 1), rtol=1e-5, atol=1e-6)


def test_zero_state() -> None:
    cell = cells.MultiRNNCell([cells.GRUCell(2), cells.BasicLSTMCell(3)])
    one, (c, h) = cell.zero_state(4, af.float64)
    assert [t.shape.as_list() for t in (one, c, h)] == [[4, 2], [4, 3], [4, 3]] and h.dtype is af.float64
    unknown = cells.BasicLSTMCell(3).zero_state(af.placeholder_with_default(5, []), af.float32)
    assert unknown.c.shape.as_list() == [None, 3]
    assert values(unknown).h.shape == (5, 3)
    assert cells.GRUCell(2).get_initial_state(af.constant(INPUTS)).shape.as_list() == [2, 2]


def test_float64() -> None:
    outputs, state = af.nn.dynamic_rnn(cells.LSTMCell(2), af.constant(INPUTS.astype(float)), dtype=af.float64)
    assert outputs.dtype is state.c.dtype is af.float64
    close(values(outputs), [ANSWERS["lstm", False].outputs])


def test_device_wrapper() -> None:
    cell = cells.DeviceWrapper(cells.GRUCell(2), "/device:CPU:0")
    outputs, _ = af.nn.dynamic_rnn(cell, af.constant(INPUTS), dtype=af.float32)
    assert {v.device for v in variables()} == {"/device:CPU:0"}
    close(values(outputs), [ANSWERS["gru", False].outputs])


# ---- dropout


def test_dropout_of_outputs(seed: int) -> None:
    af.set_random_seed(seed)
    whole = cells.GRUCell(64)
    state = af.ones([10, 64])
    inputs = af.ones([10, 3])
    plain, _ = whole(inputs, state)
    dropped, kept = cells.DropoutWrapper(whole, output_keep_prob=0.25, seed=seed)(inputs, state)
    plain, dropped, kept = values([plain, dropped, kept])
    np.testing.assert_array_equal(kept, plain)  # the state as it is
    gone = dropped == 0
    assert 0.65 < gone.mean() < 0.85
    np.testing.assert_allclose(dropped[~gone], plain[~gone] * 4, rtol=1e-6)


def test_dropout_of_inputs_and_states(seed: int) -> None:
    af.set_random_seed(seed)

    class Sum(cells.RNNCell):
        state_size = cells.LSTMStateTuple(50, 50)
        output_size = 50

        def call(self, inputs: Any, state: Any) -> Any:
            return inputs, cells.LSTMStateTuple(state.c + 1, state.h + 1)

    cell = cells.DropoutWrapper(Sum(), input_keep_prob=0.5, state_keep_prob=0.5)
    output, (c, h) = cell(af.ones([20, 50]), Sum().zero_state(20, af.float32))
    everything = cells.DropoutWrapper(Sum(), state_keep_prob=0.5, dropout_state_filter_visitor=lambda _: True)
    _, (also, _) = everything(af.ones([20, 50]), Sum().zero_state(20, af.float32))
    output, c, h, also = values([output, c, h, also])
    for dropped in (output, h, also):
        assert set(np.unique(dropped)) == {0, 2} and 0.4 < (dropped == 0).mean() < 0.6
    assert (c == 1).all(), "the cell of an LSTM is kept"


def test_variational_dropout(seed: int) -> None:
    af.set_random_seed(seed)
    cell = cells.DropoutWrapper(
        cells.BasicLSTMCell(200), 0.5, 0.5, 0.5, variational_recurrent=True, input_size=3, dtype=af.float32
    )
    outputs, _ = af.nn.dynamic_rnn(cell, af.constant(INPUTS), dtype=af.float32)
    gone = values(outputs) == 0
    assert 60 < gone[0, 0].sum() < 140
    assert (gone == gone[0, 0]).all(), "the same units in each row and step"


def test_dropout_differs_from_step_to_step(seed: int) -> None:
    af.set_random_seed(seed)
    cell = cells.DropoutWrapper(cells.BasicLSTMCell(100), output_keep_prob=0.5)
    outputs, _ = af.nn.dynamic_rnn(cell, af.constant(INPUTS), dtype=af.float32)
    gone = values(outputs) == 0
    assert (gone[:, 0] != gone[:, 1]).any() and (gone[0] != gone[1]).any()


# ---- bad input

X = INPUTS


@pytest.mark.parametrize(
    ("error", "match", "build"),
    [
        (ValueError, "dtype", lambda: af.nn.dynamic_rnn(cells.GRUCell(2), X)),
        (ValueError, r"shape \(3, 3\)", lambda: af.nn.dynamic_rnn(cells.GRUCell(2), X[0], dtype=af.float32)),
        (ValueError, "vector", lambda: af.nn.dynamic_rnn(cells.GRUCell(2), X, 3, dtype=af.float32)),
        (
            ValueError,
            "3 entries for a batch of 2",
            lambda: af.nn.dynamic_rnn(cells.GRUCell(2), X, [1, 2, 3], dtype=af.float32),
        ),
        (TypeError, "'cell'.*output_size", lambda: af.nn.dynamic_rnn(3, X, dtype=af.float32)),
        (TypeError, "'cell_bw'", lambda: af.nn.bidirectional_dynamic_rnn(cells.GRUCell(2), 3, X, dtype=af.float32)),
        (TypeError, "sequence", lambda: af.nn.static_rnn(cells.GRUCell(2), af.constant(X), dtype=af.float32)),  # type: ignore[arg-type]
        (ValueError, "empty", lambda: af.nn.static_rnn(cells.GRUCell(2), [], dtype=af.float32)),
        (ValueError, "dtype", lambda: af.nn.static_rnn(cells.GRUCell(2), [X[0]])),
        (ValueError, "at least one", lambda: cells.MultiRNNCell([])),
        (TypeError, "list or tuple", lambda: cells.MultiRNNCell(cells.GRUCell(2))),  # type: ignore[arg-type]
        (ValueError, "state_is_tuple", lambda: cells.MultiRNNCell([cells.LSTMCell(2)], state_is_tuple=False)),
        (
            ValueError,
            "depth",
            lambda: af.nn.dynamic_rnn(cells.GRUCell(2), af.placeholder(af.float32, [2, 3, None]), dtype=af.float32),
        ),
        (
            ValueError,
            "residual",
            lambda: af.nn.dynamic_rnn(cells.ResidualWrapper(cells.GRUCell(2)), X, dtype=af.float32),
        ),
        (ValueError, "output_keep_prob", lambda: cells.DropoutWrapper(cells.GRUCell(2), output_keep_prob=1.5)),
        (TypeError, "not an RNNCell", lambda: cells.DropoutWrapper(3)),
        (ValueError, "dtype", lambda: cells.DropoutWrapper(cells.GRUCell(2), 0.5, variational_recurrent=True)),
        (
            ValueError,
            "input_size",
            lambda: cells.DropoutWrapper(cells.GRUCell(2), 0.5, variational_recurrent=True, dtype=af.float32),
        ),
        (TypeError, r"pair \(c, h\)", lambda: cells.BasicLSTMCell(2)(X[:, 0], af.zeros([2, 4]))),
        (ValueError, "inner sizes", lambda: cells.GRUCell(2)(X[:, 0], af.zeros([2, 4]))),
        (ValueError, "inner sizes", lambda: af.nn.dynamic_rnn(cells.GRUCell(2), X, initial_state=af.zeros([2, 3]))),
        (
            TypeError,
            "float64",
            lambda: af.nn.dynamic_rnn(cells.GRUCell(2), X, initial_state=af.zeros([2, 2], af.float64)),
        ),
        (ValueError, "not known", lambda: cells.GRUCell(2).zero_state(None, af.float32)),
        (ValueError, "nope", lambda: cells.GRUCell(2, activation="nope")),
        (TypeError, "loop_fn", lambda: af.nn.raw_rnn(cells.GRUCell(2), 3)),  # type: ignore[arg-type]
        (
            ValueError,
            "same nested structure",
            lambda: af.nn.dynamic_rnn(cells.LSTMCell(2), X, initial_state=af.zeros([2, 2])),
        ),
        (
            ValueError,
            "several types",
            lambda: af.nn.dynamic_rnn(
                cells.LSTMCell(2), X, initial_state=(af.zeros([2, 2]), af.zeros([2, 2], af.float64))
            ),
        ),
        (
            ValueError,
            "different numbers of steps",
            lambda: af.nn.dynamic_rnn(cells.GRUCell(2), (X, X[:, :2]), dtype=af.float32),
        ),
        (ValueError, "Partitioned", lambda: cells.LSTMCell(2, num_proj_shards=2)),  # type: ignore[arg-type]
        (NotImplementedError, "state_size", lambda: cells.RNNCell().state_size),
        (TypeError, "Inconsistent", lambda: cells.LSTMStateTuple(af.zeros([1]), af.zeros([1], af.float64)).dtype),
    ],
)
def test_bad_input(error: type[Exception], match: str, build: Callable[[], Any]) -> None:
    with pytest.raises(error, match=match):
        build()
