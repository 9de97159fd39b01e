"""Programs of eager mode, as functions of the library: run by TensorFlow 2.15 (`dump_eager.py`) and by us, by the same code.

A program gives values, or ends with an error. `outcome` makes of it what JSON holds: numbers, and the classes of errors.
"""

from __future__ import annotations

import collections
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

Program = Callable[[Any], Any]
PROGRAMS: dict[str, dict[str, Program]] = {"tape": {}, "function": {}, "refusal": {}}
RANDOM = 60
"""How many random programs of tapes there are."""


def tape(program: Program) -> Program:
    PROGRAMS["tape"][program.__name__] = program
    return program


def function(program: Program) -> Program:
    PROGRAMS["function"][program.__name__] = program
    return program


def refusal(program: Program) -> Program:
    PROGRAMS["refusal"][program.__name__] = program
    return program


def outcome(program: Program, lib: Any) -> Any:
    """The values of a program in terms of JSON, or the classes of its error."""
    try:
        return {"values": shown(program(lib))}
    except Exception as error:
        return {"error": [kind.__name__ for kind in type(error).__mro__ if kind not in (object, BaseException)]}


def shown(value: Any) -> Any:
    """A value in terms of JSON: numbers rounded to what float32 holds."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, dict):
        return {str(key): shown(value[key]) for key in sorted(value)}
    if isinstance(value, (list, tuple)):
        return [shown(part) for part in value]
    if hasattr(value, "values") and hasattr(value, "indices"):
        return {"indices": shown(value.indices), "values": shown(value.values)}
    array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
    if array.dtype.kind in "SO":
        return [str(array.dtype), [shown(part) for part in array.reshape(-1).tolist()]]
    numbers = array.reshape(-1).tolist()
    return [str(array.dtype), list(array.shape), [round(n, 4) if isinstance(n, float) else n for n in numbers]]


def first(lib: Any) -> Any:
    """The names of the first version of a library."""
    return importlib.import_module(f"{lib.__name__}.compat.v1")


# ---- tapes


@tape
def a_square(lib: Any) -> Any:
    x = lib.constant(3.0)
    with lib.GradientTape() as t:
        t.watch(x)
        y = x * x
    return y, t.gradient(y, x)


@tape
def nothing_is_watched(lib: Any) -> Any:
    x = lib.constant(3.0)
    with lib.GradientTape() as t:
        y = x * x
    return t.gradient(y, x)


@tape
def unconnected_is_zero(lib: Any) -> Any:
    x, z = lib.Variable([1.0, 2.0]), lib.Variable([[3.0]])
    with lib.GradientTape(persistent=True) as t:
        y = lib.reduce_sum(x * x)
    zero = lib.UnconnectedGradients.ZERO
    return t.gradient(y, [x, z], unconnected_gradients=zero), t.gradient(y, [x, z]), t.gradient(y, z, None, "zero")


@tape
def a_persistent_tape(lib: Any) -> Any:
    x = lib.Variable(2.0)
    with lib.GradientTape(persistent=True) as t:
        y = x * x
        z = y * y
    return t.gradient(z, x), t.gradient(y, x), t.gradient(z, y), t.gradient(z, z)


@tape
def nested_tapes(lib: Any) -> Any:
    x = lib.Variable(3.0)
    with lib.GradientTape() as outer:
        with lib.GradientTape() as inner:
            y = x * x * x
        first = inner.gradient(y, x)
    return first, outer.gradient(first, x)


@tape
def a_persistent_tape_within_its_block(lib: Any) -> Any:
    x = lib.constant(3.0)
    with lib.GradientTape(persistent=True) as t:
        t.watch(x)
        y = x * x * x
        first = t.gradient(y, x)
    return first, t.gradient(first, x)


@tape
def structures_of_sources(lib: Any) -> Any:
    a, b = lib.Variable(2.0), lib.Variable(5.0)
    with lib.GradientTape() as t:
        y = a * b + a
    return t.gradient(y, {"b": b, "a": [a, (b,)]})


@tape
def structures_of_targets(lib: Any) -> Any:
    x = lib.Variable([1.0, 2.0])
    with lib.GradientTape() as t:
        parts = {"square": x * x, "sum": lib.reduce_sum(x)}
    return t.gradient(parts, x)


@tape
def weights_of_targets(lib: Any) -> Any:
    x = lib.Variable([1.0, 2.0, 3.0])
    with lib.GradientTape(persistent=True) as t:
        y, z = x * x, 3.0 * x
    given = [lib.constant([1.0, 0.0, 2.0]), lib.constant([2.0, 2.0, 2.0])]
    return t.gradient([y, z], x, output_gradients=given), t.gradient(
        y, x, output_gradients=lib.constant([0.5, 1.0, -1.0])
    )


@tape
def only_some_variables_are_watched(lib: Any) -> Any:
    a, b = lib.Variable(2.0), lib.Variable(3.0)
    with lib.GradientTape(watch_accessed_variables=False) as t:
        t.watch(a)
        y = a * b
    return t.gradient(y, [a, b]), [float(v.numpy()) for v in t.watched_variables()]


@tape
def not_trainable(lib: Any) -> Any:
    a, b = lib.Variable(2.0, trainable=False), lib.Variable(3.0)
    with lib.GradientTape() as t:
        y = a * b
    return t.gradient(y, [a, b]), len(t.watched_variables())


@tape
def recording_stops(lib: Any) -> Any:
    x = lib.Variable(2.0)
    with lib.GradientTape(persistent=True) as t:
        y = x * x
        with t.stop_recording():
            z = y * x
        w = y + z
    return t.gradient(w, x), t.gradient(z, x)


@tape
def a_tape_begins_again(lib: Any) -> Any:
    x = lib.Variable(2.0)
    with lib.GradientTape() as t:
        y = x * x
        t.reset()
        z = x * 7.0
    return t.gradient([y, z], x), len(t.watched_variables())


@tape
def whole_numbers_have_none(lib: Any) -> Any:
    x = lib.constant([1, 2])
    with lib.GradientTape() as t:
        t.watch(x)
        y = x * x
    return t.gradient(y, x)


@tape
def a_cast_between(lib: Any) -> Any:
    x = lib.Variable([1.5, 2.5])
    with lib.GradientTape() as t:
        y = lib.cast(lib.cast(x, lib.float64) * 2.0, lib.float32) * x
    return t.gradient(y, x)


@tape
def through_whole_numbers(lib: Any) -> Any:
    x = lib.Variable([1.5, 2.5])
    with lib.GradientTape() as t:
        y = lib.cast(lib.cast(x, lib.int32), lib.float32)
    return t.gradient(y, x)


@tape
def gathered_rows(lib: Any) -> Any:
    x = lib.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    with lib.GradientTape() as t:
        y = lib.reduce_sum(lib.gather(x, [2, 0, 2]) ** 2.0)
    found = t.gradient(y, x)
    return found.indices, found.values


@tape
def slices(lib: Any) -> Any:
    x = lib.constant([[1.0, 2.0], [3.0, 4.0]])
    with lib.GradientTape() as t:
        t.watch(x)
        y = x[1] * x[:, 0] + x[0, 1]
    return t.gradient(y, x)


@tape
def a_jacobian(lib: Any) -> Any:
    x = lib.Variable([1.0, 2.0, 3.0])
    with lib.GradientTape(persistent=True) as t:
        y = lib.stack([x[0] * x[1], lib.reduce_sum(x * x)])
    return t.jacobian(y, x)


@tape
def a_jacobian_of_each_row(lib: Any) -> Any:
    x = lib.constant([[1.0, 2.0], [3.0, 4.0]])
    with lib.GradientTape() as t:
        t.watch(x)
        y = x * x * lib.constant([1.0, 10.0])
    return t.batch_jacobian(y, x)


@tape
def a_gradient_of_ones_own(lib: Any) -> Any:
    @lib.custom_gradient
    def clipped(x: Any) -> Any:
        return x * 2.0, lambda dy: lib.clip_by_value(dy, -0.5, 0.5)

    x = lib.Variable([1.0, -1.0])
    with lib.GradientTape() as t:
        y = lib.reduce_sum(clipped(x) * lib.constant([10.0, 0.25]))
    return y, t.gradient(y, x)


@tape
def gradients_are_stopped(lib: Any) -> Any:
    x = lib.Variable(3.0)
    with lib.GradientTape() as t:
        y = x * lib.stop_gradient(x) + x
    return t.gradient(y, x)


@tape
def a_value_before_an_assignment(lib: Any) -> Any:
    x = lib.Variable(3.0)
    with lib.GradientTape() as t:
        y = x * x
        x.assign(10.0)
        z = x * y
    return t.gradient(z, x), x


@tape
def branches_and_loops(lib: Any) -> Any:
    x = lib.Variable(2.0)
    with lib.GradientTape() as t:
        y = lib.cond(x > 1.0, lambda: x * x, lambda: x)
        _, z = lib.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * x), [lib.constant(0), y])
    return z, t.gradient(z, x)


@tape
def a_target_that_is_its_source(lib: Any) -> Any:
    x = lib.Variable([2.0, 3.0])
    with lib.GradientTape() as t:
        y = x.read_value()
    return t.gradient(y, x)


@tape
def a_source_inside(lib: Any) -> Any:
    x = lib.constant(2.0)
    with lib.GradientTape() as t:
        t.watch(x)
        y = x * x
        z = y * y + x
    return t.gradient(z, [x, y])


# ---- functions


@function
def traces_of_kinds(lib: Any) -> Any:
    seen = []

    @lib.function
    def f(x: Any) -> Any:
        seen.append(str(np.dtype(x.dtype.as_numpy_dtype)) + str(x.shape.as_list()))
        return x + x

    for given in ([1.0], [2.0], [1.0, 2.0], [[1.0]], [1], [1.0]):
        f(lib.constant(given))
    return seen


@function
def values_of_python(lib: Any) -> Any:
    seen = []

    @lib.function
    def f(x: Any, flag: Any, text: str = "a", nothing: Any = None) -> Any:
        seen.append((flag, text, nothing is None))
        return x * (2.0 if flag else 3.0)

    x = lib.constant(1.0)
    return [
        f(x, True),
        f(x, False),
        f(x, flag=True),
        f(x, True, "b"),
        f(x, True, text="a"),
        f(x, True, "a", None),
    ], seen


@function
def arguments_are_bound(lib: Any) -> Any:
    seen = []

    @lib.function
    def f(a: Any, b: Any, *rest: Any, c: Any = None, **more: Any) -> Any:
        seen.append((len(rest), sorted(more)))
        return a - b + sum(rest) + (0.0 if c is None else c) + sum(more.values())

    one, two = lib.constant(1.0), lib.constant(2.0)
    return [f(one, two), f(b=one, a=two), f(one, two, one, two), f(one, two, c=two), f(one, two, d=one, e=two)], seen


@function
def structures(lib: Any) -> Any:
    seen = []
    Pair = collections.namedtuple("Pair", "left right")

    @lib.function
    def f(given: Any) -> Any:
        seen.append(1)
        return {"sum": given["a"] + given["b"][0], "pair": Pair(given["b"][1], None), "list": [given["a"]]}

    x, y, z = (lib.constant(float(n)) for n in range(3))
    one = f({"a": x, "b": (y, z)})
    other = f({"b": (z, y), "a": x})
    return (
        one["sum"],
        one["pair"].left,
        one["pair"].right,
        one["list"],
        other["sum"],
        type(one["pair"]).__name__,
        len(seen),
    )


@function
def nothing_is_given(lib: Any) -> Any:
    v = lib.Variable(1.0)

    @lib.function
    def f() -> None:
        v.assign_add(1.0)

    return [f(), f(), v]


@function
def captured_values(lib: Any) -> Any:
    v, c = lib.Variable(2.0), lib.constant(10.0)
    factor = [3.0]

    @lib.function
    def f(x: Any) -> Any:
        return x * v * c * factor[0]

    first = f(lib.constant(1.0))
    v.assign(5.0)
    factor[0] = 100.0  # a value of Python is that of the trace
    return first, f(lib.constant(1.0)), f(lib.constant([1.0]))


@function
def effects_in_order(lib: Any) -> Any:
    a, b = lib.Variable(1.0), lib.Variable(2.0)

    @lib.function
    def f() -> Any:
        a.assign_add(b)
        first = a.read_value()
        b.assign(a * 10.0)
        a.assign_sub(b)
        second = a + b
        b.assign_add(1.0)
        return first, second

    return f(), a, b, f(), a, b


@function
def effects_that_no_one_asks_for(lib: Any) -> Any:
    a = lib.Variable([0.0, 0.0])

    @lib.function
    def f(x: Any) -> Any:
        y = x * 2.0
        a.assign_add([1.0, 2.0])
        return y

    return f(lib.constant(1.0)), f(lib.constant(2.0)), a


@function
def effects_in_branches(lib: Any) -> Any:
    a, b = lib.Variable(0.0), lib.Variable(0.0)

    @lib.function
    def f(x: Any) -> Any:
        a.assign(x)
        y = lib.cond(x > 1.0, lambda: a.assign_add(10.0), lambda: b.assign_add(1.0))
        a.assign_add(y)
        return a.read_value()

    return f(lib.constant(2.0)), f(lib.constant(0.5)), a, b


@function
def effects_in_loops(lib: Any) -> Any:
    a = lib.Variable(1.0)

    @lib.function
    def f(count: Any) -> Any:
        def body(i: Any) -> Any:
            a.assign(a * 2.0)
            return i + 1

        lib.while_loop(lambda i: i < count, body, [lib.constant(0)])
        return a + 0.0

    return f(lib.constant(3)), f(lib.constant(2)), a


@function
def a_variable_of_the_first_call(lib: Any) -> Any:
    held: list[Any] = []

    @lib.function
    def f(x: Any) -> Any:
        if not held:
            held.append(lib.Variable(10.0))
        return held[0].assign_add(x)

    return f(lib.constant(1.0)), f(lib.constant(2.0)), held[0]


@function
def a_signature_with_open_sizes(lib: Any) -> Any:
    seen = []

    @lib.function(input_signature=[lib.TensorSpec([None, 2], lib.float32), lib.TensorSpec([], lib.int32)])
    def f(x: Any, n: Any) -> Any:
        seen.append(x.shape.as_list())
        return lib.reduce_sum(x) * lib.cast(n, lib.float32)

    one = f(lib.constant([[1.0, 2.0]]), lib.constant(2))
    return one, f([[1.0, 2.0], [3.0, 4.0]], 3), seen


@function
def a_concrete_function(lib: Any) -> Any:
    @lib.function
    def f(x: Any) -> Any:
        return x * 2.0

    one = f.get_concrete_function(lib.TensorSpec([None], lib.float32))
    return one(lib.constant([1.0, 2.0])), one(lib.constant([3.0])), len(one.inputs), len(one.outputs)


@function
def effects_of_python_happen_once(lib: Any) -> Any:
    seen: list[int] = []

    @lib.function
    def f(x: Any) -> Any:
        seen.append(len(seen))
        return x + float(len(seen))

    return [f(lib.constant(0.0)) for _ in range(3)], seen


@function
def functions_in_functions(lib: Any) -> Any:
    seen = []

    @lib.function
    def inner(x: Any) -> Any:
        seen.append("inner")
        return x * x

    @lib.function
    def outer(x: Any) -> Any:
        seen.append("outer")
        return inner(x) + inner(x + 1.0)

    return outer(lib.constant(2.0)), outer(lib.constant(3.0)), seen.count("outer")


@function
def a_tape_around_a_function(lib: Any) -> Any:
    v = lib.Variable(3.0)

    @lib.function
    def f(x: Any) -> Any:
        return x * v * v

    x = lib.constant(2.0)
    with lib.GradientTape() as t:
        t.watch(x)
        y = f(x)
    return y, t.gradient(y, [x, v])


@function
def a_tape_inside_a_function(lib: Any) -> Any:
    v = lib.Variable(3.0)

    @lib.function
    def step(x: Any) -> Any:
        with lib.GradientTape() as t:
            loss = (x * v - 1.0) ** 2.0
        v.assign_sub(0.1 * t.gradient(loss, v))
        return loss

    return [step(lib.constant(1.0)) for _ in range(3)], v


@function
def nested_tapes_around_a_function(lib: Any) -> Any:
    @lib.function
    def cube(x: Any) -> Any:
        return x * x * x

    x = lib.constant(2.0)
    with lib.GradientTape() as outer:
        outer.watch(x)
        with lib.GradientTape() as inner:
            inner.watch(x)
            y = cube(x)
        first = inner.gradient(y, x)
    return first, outer.gradient(first, x)


@function
def methods(lib: Any) -> Any:
    class Model:
        def __init__(self, value: float) -> None:
            self.w = lib.Variable(value)
            self.traces = 0

        @lib.function
        def __call__(self, x: Any) -> Any:
            self.traces += 1
            return x * self.w

    one, other = Model(2.0), Model(5.0)
    x = lib.constant(1.0)
    return one(x), other(x), one(x), one.traces, other.traces


@function
def eager_is_told(lib: Any) -> Any:
    seen = []

    @lib.function
    def f(x: Any) -> Any:
        seen.append(lib.executing_eagerly())
        with lib.init_scope():
            seen.append(lib.executing_eagerly())
        return x

    f(lib.constant(1.0))
    return seen, lib.executing_eagerly()


# ---- refusals


@refusal
def a_second_gradient(lib: Any) -> Any:
    x = lib.Variable(1.0)
    with lib.GradientTape() as t:
        y = x * x
    return t.gradient(y, x), t.gradient(y, x)


@refusal
def a_target_of_python(lib: Any) -> Any:
    x = lib.Variable(1.0)
    with lib.GradientTape() as t:
        y = float(x * x)
    return t.gradient(y, x)


@refusal
def a_tape_that_is_entered_twice(lib: Any) -> Any:
    t = lib.GradientTape()
    with t, t:
        return None


@refusal
def a_tape_that_watches_text(lib: Any) -> Any:
    with lib.GradientTape() as t:
        t.watch("x")


@refusal
def recording_stops_outside(lib: Any) -> Any:
    t = lib.GradientTape()
    with t.stop_recording():
        return None


@refusal
def a_gradient_of_a_wrong_choice(lib: Any) -> Any:
    x = lib.Variable(1.0)
    with lib.GradientTape() as t:
        y = x * x
    return t.gradient(y, x, unconnected_gradients="nonsense")


@refusal
def jacobians_of_unequal_batches(lib: Any) -> Any:
    x = lib.constant([[1.0], [2.0]])
    with lib.GradientTape() as t:
        t.watch(x)
        y = lib.reshape(x, [1, 2])
    return t.batch_jacobian(y, x)


@refusal
def a_placeholder(lib: Any) -> Any:
    return first(lib).placeholder(lib.float32, [])


@refusal
def a_session_runs_a_value(lib: Any) -> Any:
    return first(lib).Session().run(lib.constant(1.0))


@refusal
def gradients_of_graphs(lib: Any) -> Any:
    x = lib.Variable(1.0)
    return lib.gradients(x * x, x)


@refusal
def a_value_is_evaluated(lib: Any) -> Any:
    return lib.constant(1.0).eval()


@refusal
def values_in_another_graph(lib: Any) -> Any:
    x = lib.constant([1.0])
    with lib.Graph().as_default():
        y = first(lib).placeholder(lib.float32, [1])
    return x + y


@refusal
def a_variable_of_a_later_call(lib: Any) -> Any:
    @lib.function
    def f(x: Any) -> Any:
        return lib.Variable(1.0) + x

    return f(lib.constant(1.0)), f(lib.constant([1.0]))


@refusal
def a_variable_from_an_argument(lib: Any) -> Any:
    held = []

    @lib.function
    def f(x: Any) -> Any:
        if not held:
            held.append(lib.Variable(x))
        return held[0] + 1.0

    return f(lib.constant(2.0))


@refusal
def a_signature_of_another_shape(lib: Any) -> Any:
    f = lib.function(lambda x: x, input_signature=[lib.TensorSpec([2], lib.float32)])
    return f(lib.constant([1.0, 2.0, 3.0]))


@refusal
def a_signature_of_another_type(lib: Any) -> Any:
    f = lib.function(lambda x: x, input_signature=[lib.TensorSpec([2], lib.float32)])
    return f(lib.constant([1, 2]))


@refusal
def a_signature_of_fewer_arguments(lib: Any) -> Any:
    f = lib.function(lambda x: x, input_signature=[lib.TensorSpec([], lib.float32)])
    return f(lib.constant(1.0), lib.constant(2.0))


@refusal
def an_argument_is_missing(lib: Any) -> Any:
    return lib.function(lambda x, y: x + y)(lib.constant(1.0))


@refusal
def an_argument_too_much(lib: Any) -> Any:
    return lib.function(lambda x: x)(lib.constant(1.0), z=lib.constant(1.0))


@refusal
def a_condition_on_a_node(lib: Any) -> Any:
    @lib.function(autograph=False)
    def f(x: Any) -> Any:
        if x > 0.0:
            return x
        return -x

    return f(lib.constant(1.0))


@refusal
def a_node_is_iterated_over(lib: Any) -> Any:
    @lib.function(autograph=False)
    def f(x: Any) -> Any:
        return [row for row in x]

    return f(lib.constant(1.0))


@refusal
def a_node_has_no_value(lib: Any) -> Any:
    @lib.function
    def f(x: Any) -> Any:
        return x.numpy()

    return f(lib.constant(1.0))


@refusal
def a_node_that_leaves_its_function(lib: Any) -> Any:
    held = []

    @lib.function
    def f(x: Any) -> Any:
        held.append(x * 2.0)
        return x

    f(lib.constant(1.0))
    return held[0] + 1.0


@refusal
def branches_of_unequal_types(lib: Any) -> Any:
    f = lib.function(lambda x: lib.cond(x > 0.0, lambda: x, lambda: lib.constant(1)))
    return f(lib.constant(1.0))


@refusal
def a_loop_that_changes_its_shape(lib: Any) -> Any:
    f = lib.function(lambda x: lib.while_loop(lambda v: lib.reduce_sum(v) < 10.0, lambda v: lib.concat([v, v], 0), [x]))
    return f(lib.constant([1.0]))


@refusal
def shapes_that_do_not_fit(lib: Any) -> Any:
    return lib.matmul(lib.ones([2, 3]), lib.ones([2, 3]))


@refusal
def types_that_do_not_fit(lib: Any) -> Any:
    return lib.constant(1.0) + lib.constant(1)


@refusal
def a_truth_value_of_many(lib: Any) -> Any:
    return bool(lib.constant([1.0, 2.0]))


@refusal
def the_length_of_a_scalar(lib: Any) -> Any:
    return len(lib.constant(1.0))


@refusal
def an_index_outside(lib: Any) -> Any:
    return lib.constant([1.0, 2.0])[5]


@refusal
def a_value_of_another_shape(lib: Any) -> Any:
    lib.Variable([1.0, 2.0]).assign([1.0, 2.0, 3.0])


@refusal
def text_as_a_number(lib: Any) -> Any:
    return lib.constant("a", lib.float32)


@refusal
def a_variable_without_a_value(lib: Any) -> Any:
    return lib.Variable()


@refusal
def an_iterator_with_an_initializer(lib: Any) -> Any:
    return first(lib).data.make_initializable_iterator(lib.data.Dataset.range(3))


@refusal
def an_error_of_a_kernel_in_a_function(lib: Any) -> Any:
    f = lib.function(lambda x, i: lib.gather(x, i))
    return f(lib.constant([1.0]), lib.constant(7))


@refusal
def an_error_of_python_while_it_is_traced(lib: Any) -> Any:
    @lib.function
    def f(x: Any) -> Any:
        raise KeyError("mine")

    return f(lib.constant(1.0))


# ---- random programs of tapes

STEPS: tuple[Callable[[Any, Any, Any], Any], ...] = (
    lambda lib, a, b: a + b,
    lambda lib, a, b: a - b,
    lambda lib, a, b: a * b,
    lambda lib, a, b: a / (1.0 + b * b),
    lambda lib, a, b: lib.matmul(a, b),
    lambda lib, a, b: lib.tanh(a),
    lambda lib, a, b: lib.transpose(a) * lib.reduce_sum(b, axis=0),
    lambda lib, a, b: lib.maximum(a, b),
    lambda lib, a, b: lib.exp(-lib.square(a)),
)


def random_program(seed: int) -> Program:
    """Values of three sources, ops on them, and gradients by one tape or two; in a function or at once."""

    def program(lib: Any) -> Any:
        rng = np.random.default_rng(seed)
        sources = [lib.Variable(rng.uniform(0.5, 1.5, (2, 2)).astype(np.float32)) for _ in range(3)]
        order = 1 + seed % 2
        steps = [(int(rng.integers(len(STEPS))), int(rng.integers(99)), int(rng.integers(99))) for _ in range(6)]

        def compute() -> Any:
            values = [v + 0.0 for v in sources]
            for kind, left, right in steps:
                a, b = values[left % len(values)], values[right % len(values)]
                values.append(STEPS[kind](lib, a, b))
            return lib.reduce_mean(values[-1] * values[-2])

        def gradients() -> Any:
            with lib.GradientTape() as outer:
                with lib.GradientTape() as inner:
                    y = compute()
                first = inner.gradient(y, sources)
                total = [lib.reduce_sum(g * g) for g in first if g is not None]
            if order == 1:
                return y, first
            return y, first, outer.gradient(total, sources)

        return (lib.function(gradients) if seed % 3 == 0 else gradients)()

    return program


for _seed in range(RANDOM):
    PROGRAMS["tape"][f"random_{_seed}"] = random_program(_seed)
