"""`cond`, `case` and `switch_case`."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import probes
import pytest
from graph.control_flow.flows import Run, initialize, run
from probes import Probe, probe
from random_graphs import later

import actorflow as af
from actorflow import errors

__all__ = ["probe", "run"]

Pair = namedtuple("Pair", "left right")


def pred() -> Any:
    return af.placeholder(af.bool, [])


def _kept(box: list[Any], tensor: Any) -> Any:
    """`tensor`, which the test looks at later."""
    box.append(tensor)
    return tensor


# ---- what comes out


def test_f77_the_branch_that_the_predicate_takes(run: Run) -> None:
    p, x = pred(), af.placeholder(af.float32, [])
    y = af.cond(p, lambda: x + 1.0, lambda: x * 10.0)
    assert y.dtype is af.float32 and y.static_shape == ()
    assert run(y, {p: True, x: 3.0}) == 4.0
    assert run(y, {p: False, x: 3.0}) == 30.0


@pytest.mark.parametrize("taken", [True, False])
def test_structures(run: Run, taken: bool) -> None:
    p = pred()

    def branch(sign: int) -> Any:
        return {
            "a": af.constant(sign),
            "b": [af.constant(2.0 * sign), (af.constant([3 * sign]),)],
            "c": Pair(sign, sign),
        }

    got = run(af.cond(p, lambda: branch(1), lambda: branch(-1)), {p: taken})
    sign = 1 if taken else -1
    assert got["a"] == sign and got["b"][0] == 2.0 * sign and got["b"][1][0].tolist() == [3 * sign]
    assert got["c"] == Pair(sign, sign)


def test_a_single_element_is_given_without_its_list_unless_strict(run: Run) -> None:
    p = pred()
    assert run(af.cond(p, lambda: [af.constant(1)], lambda: [af.constant(2)]), {p: True}) == 1
    strict = af.cond(p, lambda: [af.constant(1)], lambda: [af.constant(2)], strict=True)
    assert run(strict, {p: False}) == [2]


def test_numbers_and_outer_tensors_are_results_too(run: Run) -> None:
    p, x = pred(), af.placeholder(af.float32, [2])
    assert run(af.cond(p, lambda: 1, lambda: 2), {p: False}) == 2
    y = af.cond(p, lambda: x, lambda: af.zeros([2]))
    assert run(y, {p: True, x: [1, 2]}).tolist() == [1, 2]
    assert run(y, {p: False, x: [1, 2]}).tolist() == [0, 0]


def test_static_shapes_are_what_both_sides_have(run: Run) -> None:
    p = pred()

    def shape_of(left: Any, right: Any) -> Any:
        return af.cond(p, lambda: af.constant(left), lambda: af.constant(right)).static_shape

    assert shape_of([1, 2], [1, 2]) == (2,)
    assert shape_of([[1, 2]], [[1, 2], [3, 4]]) == (None, 2)
    assert shape_of([[1, 2]], [3]) is None


@pytest.mark.parametrize("value", [np.float64(2), np.arange(6).reshape(2, 3), b"bytes", np.array([b"a", b"b"]), 1 + 2j])
def test_values_of_every_kind_pass_as_they_are(run: Run, value: Any) -> None:
    p, x = pred(), af.placeholder_with_default(value, None)
    same = af.cond(p, lambda: af.identity(x), lambda: x)
    for taken in (True, False):
        got = run(same, {p: taken})
        assert np.array_equal(got, value) and type(got) is type(run(x))


def test_composites_are_results(run: Run) -> None:
    p = pred()
    slices = af.IndexedSlices(af.constant([[1.0]]), af.constant([0]))
    chosen = af.cond(p, lambda: slices, lambda: af.IndexedSlices(af.constant([[2.0]]), af.constant([1])))
    assert isinstance(chosen, af.IndexedSlices)
    assert run([chosen.values, chosen.indices], {p: False})[1].tolist() == [1]
    sparse = af.cond(
        p,
        lambda: af.SparseTensor([[0, 0]], [1.0], [2, 2]),
        lambda: af.SparseTensor([[0, 1], [1, 1]], [2.0, 3.0], [2, 2]),
    )
    assert run(af.sparse_tensor_to_dense(sparse), {p: False}).tolist() == [[0, 2], [0, 3]]


# ---- what runs


def test_f77_an_untaken_branch_runs_nothing(run: Run, probe: Probe) -> None:
    p, x = pred(), af.placeholder(af.float32, [])
    y = af.cond(p, lambda: probes.log(x, tag="yes"), lambda: probes.log(x, tag="no"))
    run(y, {p: True, x: 1.0})
    assert probe.ran == {"yes": 1}
    run(y, {p: False, x: 1.0})
    assert probe.ran == {"yes": 1, "no": 1}


def test_what_is_used_of_outside_runs_in_either_case(run: Run, probe: Probe) -> None:
    p, x = pred(), af.placeholder(af.float32, [])
    outer = probes.log(x, tag="outer")
    y = af.cond(p, lambda: outer * 2.0, lambda: x)
    assert run(y, {p: False, x: 1.0}) == 1.0
    assert probe.ran == {"outer": 1}


def test_f77_nested_branches(run: Run, probe: Probe) -> None:
    p, q, x = pred(), pred(), af.placeholder(af.float32, [])

    def inner(tag: str) -> Any:
        return af.cond(q, lambda: probes.log(x + 1.0, tag=f"{tag} yes"), lambda: probes.log(x - 1.0, tag=f"{tag} no"))

    y = af.cond(p, lambda: inner("yes"), lambda: inner("no"))
    for first in (True, False):
        for second in (True, False):
            probe.ran.clear()
            assert run(y, {p: first, q: second, x: 1.0}) == (2.0 if second else 0.0)
            words = {True: "yes", False: "no"}
            assert probe.ran == {f"{words[first]} {words[second]}": 1}


def test_one_tensor_is_brought_in_once(run: Run) -> None:
    p, x = pred(), af.placeholder(af.float32, [])
    af.cond(p, lambda: (x + x) * x, lambda: x)
    switches = [n for n in af.get_default_graph().nodes.values() if n.op == "Switch" and n.inputs[0] == x.tensor_id]
    assert len(switches) == 2, "one for each side"


def test_assignments_happen_in_the_taken_branch_only(run: Run) -> None:
    p, v = pred(), af.Variable(1.0)
    y = af.cond(p, lambda: v.assign_add(1.0), lambda: v.assign(100.0))
    initialize(run)
    assert run(y, {p: True}) == 2.0 and run(v) == 2.0
    assert run(y, {p: False}) == 100.0 and run(v) == 100.0


def test_operations_are_results(run: Run) -> None:
    p, v = pred(), af.Variable(0)
    done = af.cond(p, lambda: v.assign_add(1).op, lambda: af.no_op())
    initialize(run)
    for taken, after in ((True, 1), (False, 1), (True, 2)):
        run(done, {p: taken})
        assert run(v) == after
    assert run(done, {p: True}) is np.True_, "as in TensorFlow, where it is the predicate"


def test_f77_control_dependencies_around(run: Run, probe: Probe) -> None:
    """All of the branch waits for what stands around the cond, even what has no inputs."""
    p = pred()
    with af.control_dependencies([later(probes.log(af.placeholder_with_default(1.0, []), tag="before"), turns=3)]):
        y = af.cond(p, lambda: _after("yes"), lambda: _after("no"))
    run(y, {p: True})
    assert probe.order == ["before", "yes"]


def _after(tag: str) -> Any:
    with af.control_dependencies([probes.target(tag=tag)]):
        return af.constant(1.0)


def test_f77_control_dependencies_inside(run: Run, probe: Probe) -> None:
    p, x = pred(), af.placeholder(af.float32, [])

    def yes() -> Any:
        with af.control_dependencies([x, later(probes.log(x, tag="first"), turns=2)]):
            return probes.log(x, tag="second")

    y = af.cond(p, yes, lambda: x)
    run(y, {p: True, x: 1.0})
    assert probe.order == ["first", "second"]
    run(y, {p: False, x: 1.0})
    assert probe.order == ["first", "second"]


def test_f77_what_waits_for_the_result_runs_after_either_branch(run: Run, probe: Probe) -> None:
    p, x = pred(), af.placeholder(af.float32, [])
    y = af.cond(p, lambda: probes.log(x, tag="yes"), lambda: later(x, turns=2))
    with af.control_dependencies([y]):
        after = probes.target(tag="after")
    run(after, {p: True, x: 1.0})
    assert probe.order == ["yes", "after"]
    run(after, {p: False, x: 1.0})
    assert probe.order == ["yes", "after", "after"]


def test_an_asynchronous_branch_and_a_quick_one(run: Run) -> None:
    p, x = pred(), af.placeholder(af.float32, [])
    y = af.cond(p, lambda: later(x, turns=3) + 1.0, lambda: x) * 2.0
    assert run(y, {p: True, x: 1.0}) == 4.0
    assert run(y, {p: False, x: 1.0}) == 2.0


def test_only_one_output_is_wanted(run: Run, probe: Probe) -> None:
    p, x = pred(), af.placeholder(af.float32, [])
    first, _ = af.cond(p, lambda: (x, probes.log(x, tag="second")), lambda: (x + 1.0, probes.log(x, tag="second")))
    assert run(first, {p: False, x: 1.0}) == 2.0
    assert not probe.ran, "what nobody asks for does not run, in a branch as elsewhere"


# ---- a tensor of a branch, fetched


def test_f77_a_fetch_that_is_dead_names_the_switch_the_predicate_and_the_branch(run: Run) -> None:
    p, x = pred(), af.placeholder(af.float32, [])
    inside: list[Any] = []

    def yes() -> Any:
        inside.append(af.add(x, 1.0, name="inside"))
        return inside[0]

    af.cond(p, yes, lambda: x, name="choice")
    assert run(inside[0], {p: True, x: 1.0}) == 2.0
    with pytest.raises(errors.InvalidArgumentError) as caught:
        run(inside[0], {p: False, x: 1.0})
    text = str(caught.value)
    assert "choice/inside:0" in text, "the fetch"
    assert "choice/Switch" in text and "choice/pred_id:0" in text, "the Switch, and its predicate"
    assert "False" in text and "true branch" in text, "its value, and the branch"
    assert "test_cond.py" in text


def test_f77_an_output_of_a_switch_that_is_dead_names_the_switch_itself(run: Run) -> None:
    p = pred()
    no, _ = af.switch(af.constant(1.0), p, name="fork")
    with pytest.raises(errors.InvalidArgumentError, match=r"The fetch fork:0 .* false branch") as caught:
        run(no, {p: True})
    assert "was True" in str(caught.value) and caught.value.node == "fork"


def test_f77_a_fetch_that_is_dead_on_another_device_names_the_switch(run: Run) -> None:
    p, x = pred(), af.placeholder(af.float32, [])
    inside: list[Any] = []

    def yes() -> Any:
        with af.device("/device:CPU:1"):
            return _kept(inside, af.add(x, 1.0, name="inside"))

    with af.device("/device:CPU:0"):
        af.cond(p, yes, lambda: x, name="choice")
    with af.blocking.Session(devices={"CPU": 2}) as session:
        with pytest.raises(errors.InvalidArgumentError, match="true branch") as caught:
            session.run(inside[0], {p: False, x: 1.0})
        assert "choice/Switch" in str(caught.value) and "was False" in str(caught.value)


def test_f77_a_dead_fetch_beside_a_live_one_fails_too(run: Run) -> None:
    p, x = pred(), af.placeholder(af.float32, [])
    inside: list[Any] = []
    y = af.cond(p, lambda: _kept(inside, x * 2.0), lambda: x)
    with pytest.raises(errors.InvalidArgumentError, match="no value"):
        run([y, inside[0]], {p: False, x: 1.0})
    assert run([y, inside[0]], {p: True, x: 1.0}) == [2.0, 2.0]


# ---- case and switch_case


@pytest.mark.parametrize(("values", "want"), [((0, 0), 3), ((0, 1), 2), ((1, 0), 1), ((1, 1), 1)])
def test_the_first_that_holds(run: Run, values: tuple[int, int], want: int) -> None:
    p, q = pred(), pred()
    y = af.case([(p, lambda: af.constant(1)), (q, lambda: af.constant(2))], default=lambda: af.constant(3))
    assert run(y, {p: bool(values[0]), q: bool(values[1])}) == want


def test_exclusive(run: Run) -> None:
    p, q = pred(), pred()
    y = af.case({p: lambda: af.constant(1), q: lambda: af.constant(2)}, default=lambda: af.constant(3), exclusive=True)
    assert run(y, {p: False, q: True}) == 2
    with pytest.raises(errors.InvalidArgumentError, match="More than one condition"):
        run(y, {p: True, q: True})


def test_no_default(run: Run, probe: Probe) -> None:
    p, q, x = pred(), pred(), af.placeholder(af.float32, [])
    y = af.case([(p, lambda: probes.log(x, tag="p")), (q, lambda: probes.log(x, tag="q"))])
    assert run(y, {p: False, q: True, x: 2.0}) == 2.0
    probe.ran.clear()
    with pytest.raises(errors.InvalidArgumentError, match="No condition"):
        run(y, {p: False, q: False, x: 2.0})
    assert not probe.ran
    alone = af.case([(p, lambda: [probes.log(x, tag="p")])])
    assert run(alone, {p: True, x: 2.0}) == 2.0
    with pytest.raises(errors.InvalidArgumentError, match="No condition"):
        run(alone, {p: False, x: 2.0})
    assert probe.ran == {"p": 1}


@pytest.mark.parametrize(("index", "want"), [(-1, 30), (0, 10), (1, 20), (2, 30)])
def test_functions_by_number(run: Run, index: int, want: int) -> None:
    i = af.placeholder(af.int32, [])
    functions = [lambda: af.constant(10), lambda: af.constant(20)]
    assert run(af.switch_case(i, functions, default=lambda: af.constant(30)), {i: index}) == want
    last = af.switch_case(i, dict(enumerate(functions)))
    assert run(last, {i: index}) == (10 if index == 0 else 20)


# ---- bad input


NO_FUNCTION: Any = 3


def _one() -> Any:
    return af.constant(1)


@pytest.mark.parametrize(
    ("kind", "message", "build"),
    [
        (TypeError, "Python bool", lambda: af.cond(True, _one, _one)),
        (TypeError, "has type int32", lambda: af.cond(af.constant(1), _one, _one)),
        (ValueError, "0 dimensions", lambda: af.cond(af.constant([True]), _one, _one)),
        (TypeError, "two functions", lambda: af.cond(pred(), NO_FUNCTION, _one)),
        (TypeError, "two functions", lambda: af.cond(pred(), _one)),
        (ValueError, "true_fn gave None", lambda: af.cond(pred(), lambda: None, _one)),
        (ValueError, "false_fn gave None", lambda: af.cond(pred(), _one, lambda: None)),
        (TypeError, "int32 and float32", lambda: af.cond(pred(), _one, lambda: af.constant(1.0))),
        (TypeError, "bool and int32", lambda: af.cond(pred(), lambda: af.no_op(), _one)),
        (ValueError, "different structures", lambda: af.cond(pred(), lambda: [_one(), _one()], lambda: [_one()])),
        (TypeError, "list and tuple", lambda: af.cond(pred(), lambda: [_one(), _one()], lambda: (_one(), _one()))),
        (ValueError, "different keys", lambda: af.cond(pred(), lambda: {"a": _one()}, lambda: {"b": _one()})),
        (ValueError, "at least one pair", lambda: af.case([])),
        (TypeError, "pairs", lambda: af.case([pred()], default=_one)),
        (TypeError, "pairs", lambda: af.case([(pred(), NO_FUNCTION)], default=_one)),
        (TypeError, "functions", lambda: af.switch_case(af.constant(0), [])),
        (ValueError, "numbers 0, 1, 2", lambda: af.switch_case(af.constant(0), {0: _one, 5: _one})),
    ],
)
def test_bad_input(kind: type[Exception], message: str, build: Any) -> None:
    with af.Graph().as_default():
        with pytest.raises(kind, match=message) as caught:
            build()
        if "functions" not in message and "pair" not in message and "bool" not in message and "0, 1" not in message:
            assert "test_cond.py:" in str(caught.value), "the user's line"


def test_a_tensor_of_a_branch_stays_inside() -> None:
    with af.Graph().as_default():
        x = af.placeholder(af.float32, [])
        inside: list[Any] = []
        y = af.cond(pred(), lambda: _kept(inside, af.negative(x, name="minus")), lambda: x)
        with pytest.raises(ValueError, match="inside of the true branch of the cond made at") as caught:
            _ = inside[0] + 1.0
        text = str(caught.value)
        assert "cond/minus:0" in text and text.count("test_cond.py:") >= 2 and "Return it" in text
        with pytest.raises(ValueError, match="inside of the true branch"):
            af.cond(pred(), lambda: inside[0], lambda: x)
        with pytest.raises(ValueError, match="inside of the true branch"):
            af.while_loop(lambda i: i < 3.0, lambda i: i + inside[0], [y])


# ---- serialisation


def test_f77_a_cond_runs_after_a_round_trip(run: Run, probe: Probe) -> None:
    p, x = pred(), af.placeholder(af.float32, [])
    y = af.cond(p, lambda: probes.log(x, tag="yes") + 1.0, lambda: af.cond(x > 1.0, lambda: x * 2.0, lambda: x * 3.0))
    copy = af.Graph.from_bytes(af.get_default_graph().to_bytes())
    with af.blocking.Session(graph=copy) as session:
        assert session.run(y.name, {p.name: True, x.name: 4.0}) == 5.0
        assert session.run(y.name, {p.name: False, x.name: 4.0}) == 8.0
        assert session.run(y.name, {p.name: False, x.name: 0.5}) == 1.5
    assert probe.ran == {"yes": 1}
