"""Branches and loops: of Python where the values are there at once, of the graph in a trace."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from keras.src import tree

import actorflow as af
from keras_actorflow.src import core


def cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Any:
    """The result of one of two functions."""
    if isinstance(pred, (bool, int)):
        return true_fn() if pred else false_fn()
    pred = core.convert_to_tensor(pred, "bool")
    if core.has_value(pred):
        return true_fn() if bool(pred) else false_fn()
    return _branches(lambda fns: af.cond(af.reshape(pred, []), *fns), [true_fn, false_fn])


def switch(index: Any, branches: list[Callable[..., Any]], *operands: Any) -> Any:
    """The result of the function with a number, which is clamped."""
    index = af.clip_by_value(core.convert_to_tensor(index, "int32"), 0, len(branches) - 1)
    if core.has_value(index):
        return branches[int(index)](*operands)

    def bound(branch: Callable[..., Any]) -> Callable[[], Any]:
        return lambda: branch(*operands)

    return _branches(lambda fns: af.switch_case(index, fns), [bound(branch) for branch in branches])


def _branches(choose: Callable[[list[Callable[[], Any]]], Any], fns: list[Callable[[], Any]]) -> Any:
    """The structure of a branch, with the tensors of a choice of the graph; branches may give None."""
    results: list[Any] = []

    def leaves(fn: Callable[[], Any]) -> Callable[[], Any]:
        def branch() -> list[Any]:
            result = fn()
            results.append(result)
            tensors = [core.convert_to_tensor(leaf) for leaf in tree.flatten(result) if leaf is not None]
            return tensors or [af.constant(0)]

        return branch

    chosen = choose([leaves(fn) for fn in fns])
    tensors = iter(chosen if isinstance(chosen, (list, tuple)) else [chosen])
    return tree.map_structure(lambda leaf: None if leaf is None else next(tensors), results[0])


def while_loop(
    cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, maximum_iterations: int | None = None
) -> Any:
    """Values after a function was applied as long as a condition holds."""
    is_tuple = isinstance(loop_vars, (tuple, list))
    state = tuple(loop_vars) if is_tuple else (loop_vars,)
    state = tree.map_structure(core.convert_to_tensor, state)

    def packed(result: Any) -> tuple[Any, ...]:
        return tuple(result) if isinstance(result, (list, tuple)) else (result,)

    going = cond(*state)
    if not core.is_tensor(going) or core.has_value(going):
        count = 0
        while (maximum_iterations is None or count < maximum_iterations) and bool(cond(*state)):
            state = tree.map_structure(core.convert_to_tensor, packed(body(*state)))
            count += 1
        return state if is_tuple else state[0]
    flat = tree.flatten(state)
    kinds = [tensor.dtype for tensor in flat]

    def step(*leaves: Any) -> list[Any]:
        result = packed(body(*tree.pack_sequence_as(state, list(leaves))))
        return [core.convert_to_tensor(leaf, kind) for leaf, kind in zip(tree.flatten(result), kinds, strict=True)]

    def test(*leaves: Any) -> Any:
        return af.reshape(core.convert_to_tensor(cond(*tree.pack_sequence_as(state, list(leaves))), "bool"), [])

    ended = af.while_loop(test, step, flat, maximum_iterations=maximum_iterations)
    leaves = list(ended) if isinstance(ended, (list, tuple)) else [ended]
    state = tree.pack_sequence_as(state, leaves)
    return state if is_tuple else state[0]


def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any) -> Any:
    """A value after a function was applied once for each number of a range."""
    init_val = tree.map_structure(core.convert_to_tensor, init_val)
    if isinstance(lower, int) and isinstance(upper, int) and all(core.has_value(x) for x in tree.flatten(init_val)):
        for number in builtins.range(lower, upper):
            init_val = tree.map_structure(core.convert_to_tensor, body_fun(number, init_val))
        return init_val
    first = core.convert_to_tensor(lower, "int32")
    last = core.convert_to_tensor(upper, "int32")
    return while_loop(
        lambda number, value: number < last,
        lambda number, value: (number + 1, body_fun(number, value)),
        (first, init_val),
    )[1]


def map(f: Callable[[Any], Any], xs: Any) -> Any:
    """The results of a function for each element along the first axis, stacked."""
    return scan(lambda carry, x: (carry, f(x)), (), xs)[1]


def vectorized_map(function: Callable[[Any], Any], elements: Any) -> Any:
    """As `map`."""
    return map(function, elements)


def scan(
    f: Callable[[Any, Any], Any],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
) -> tuple[Any, Any]:
    """The last carry of a function that is applied to each element and to the carry before, and its outputs stacked."""
    if not callable(f):
        raise TypeError(f"`f` should be a callable. Received: f={f}")
    if not isinstance(unroll, bool) and (not isinstance(unroll, int) or unroll < 1):
        raise ValueError(f"`unroll` must be an positive integer or boolean. Received: unroll={unroll}")
    if xs is None and length is None:
        raise ValueError("Got no `xs` to scan over and `length` not provided.")
    xs = tree.map_structure(core.convert_to_tensor, xs) if xs is not None else None
    carry = tree.map_structure(core.convert_to_tensor, init)
    columns = [af.unstack(x) for x in tree.flatten(xs)] if xs is not None else []
    count = int(length) if length is not None else len(columns[0])
    numbers = range(count - 1, -1, -1) if reverse else range(count)
    outputs = []
    for number in numbers:
        element = tree.pack_sequence_as(xs, [column[number] for column in columns]) if columns else None
        carry, output = f(carry, element)
        outputs.append(tree.map_structure(af.zeros_like, carry) if output is None else output)
    if reverse:
        outputs.reverse()
    if not outputs:
        return carry, None
    stacked = tree.map_structure(lambda *parts: af.stack([core.convert_to_tensor(part) for part in parts]), *outputs)
    return carry, stacked


def associative_scan(f: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """All partial results of an associative function along an axis, in a number of steps that grows as the logarithm."""
    if not callable(f):
        raise TypeError(f"`f` should be a callable. Received: f={f}")
    flat = [core.convert_to_tensor(elem) for elem in tree.flatten(elems)]
    axes = [axis if axis >= 0 else axis + len(elem.shape) for elem in flat]
    sizes = [int(elem.shape[place]) for elem, place in zip(flat, axes, strict=True)]
    if len(set(sizes)) > 1:
        raise ValueError(
            "Array inputs to associative_scan must have the same first dimension. "
            f"(saw: {[tuple(elem.shape) for elem in flat]})"
        )
    if reverse:
        flat = [af.reverse(elem, [place]) for elem, place in zip(flat, axes, strict=True)]
    size, distance = sizes[0], 1

    def part(elem: Any, place: int, begin: int, end: int) -> Any:
        index = [builtins.slice(None)] * len(elem.shape)
        index[place] = builtins.slice(begin, end)
        return elem[tuple(index)]

    while distance < size:
        before = [part(elem, place, 0, size - distance) for elem, place in zip(flat, axes, strict=True)]
        after = [part(elem, place, distance, size) for elem, place in zip(flat, axes, strict=True)]
        joined = tree.flatten(f(tree.pack_sequence_as(elems, before), tree.pack_sequence_as(elems, after)))
        flat = [
            af.concat([part(elem, place, 0, distance), core.convert_to_tensor(new)], axis=place)
            for elem, new, place in zip(flat, joined, axes, strict=True)
        ]
        distance *= 2
    if reverse:
        flat = [af.reverse(elem, [place]) for elem, place in zip(flat, axes, strict=True)]
    return tree.pack_sequence_as(elems, flat)
