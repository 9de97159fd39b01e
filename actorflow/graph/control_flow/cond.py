"""`cond`, `case` and `switch_case`: parts of the graph of which a run takes one (`tf.cond`, `tf.case`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

from actorflow.base import nest
from actorflow.base.dtypes import bool as bool_dtype
from actorflow.base.reports.user_line import user_line
from actorflow.errors import describe
from actorflow.graph.control_flow.context import CondContext, current, join
from actorflow.graph.convert import convert_to_tensor, is_symbolic
from actorflow.graph.default_graph import get_default_graph
from actorflow.graph.ops.array.join import stack
from actorflow.graph.ops.flow.control import Assert, identity
from actorflow.graph.ops.math.arithmetic import add_n
from actorflow.graph.ops.math.cast import cast
from actorflow.graph.ops.math.logic import equal, less, logical_or
from actorflow.graph.tensor import Operation, Tensor, TensorLike
from actorflow.public import public

Branch = Callable[[], Any]


@overload
def cond(
    pred: TensorLike,
    true_fn: Callable[[], Tensor],
    false_fn: Callable[[], Tensor],
    strict: bool = ...,
    name: str | None = ...,
) -> Tensor: ...


@overload
def cond(
    pred: TensorLike,
    true_fn: Branch | None = ...,
    false_fn: Branch | None = ...,
    strict: bool = ...,
    name: str | None = ...,
    fn1: Branch | None = ...,
    fn2: Branch | None = ...,
) -> Any: ...


@public("af")
def cond(
    pred: TensorLike,
    true_fn: Branch | None = None,
    false_fn: Branch | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Branch | None = None,
    fn2: Branch | None = None,
) -> Any:
    """The result of `true_fn()` where the boolean scalar `pred` holds, else that of `false_fn()` (`tf.cond`).

    Both functions build their part of the graph once; a run computes the part that it takes. Tensors that they use from
    outside are computed in either case.

    Example:
        >>> x = af.placeholder(af.float32, [])
        >>> y = af.cond(x > 0, lambda: af.sqrt(x), lambda: 0.0)
        >>> await session.run(y, {x: 16.0}), await session.run(y, {x: -1.0})
        (4.0, 0.0)

    Args:
        pred: a boolean scalar tensor.
        true_fn, false_fn: functions without arguments. They give equal structures of tensors with equal types.
        strict: whether a list or tuple with a single element is given as it is, instead of the element.
        fn1, fn2: the older names of `true_fn` and `false_fn`.

    Raises:
        TypeError: `pred` is a Python bool, `true_fn` or `false_fn` is not a function, or types differ.
        ValueError: the structures differ, or a branch gives nothing.
    """
    true_fn, false_fn = fn1 if true_fn is None else true_fn, fn2 if false_fn is None else false_fn
    if not callable(true_fn) or not callable(false_fn):
        raise TypeError(f"cond() takes two functions, but it was given {true_fn!r:.40} and {false_fn!r:.40}.")
    if isinstance(pred, bool):
        raise TypeError("pred must not be a Python bool: use `if`, or a tensor such as af.constant(True).")
    tensor = convert_to_tensor(pred)
    graph = tensor.graph if is_symbolic(pred) else get_default_graph()
    if tensor.dtype is not bool_dtype:
        raise TypeError(describe(f"pred is a bool, but {tensor.name} has type {tensor.dtype}.", where=user_line()))
    if graph.eager:
        return _taken(true_fn if tensor else false_fn, strict)
    with graph.as_default(), graph.name_scope(name or "cond") as scope:
        pred_id = identity(tensor, name="pred_id")
        around = current(graph)
        no, yes = CondContext.pair(graph, scope.rstrip("/"), around, pred_id)
        true_result, true_flat = _build(yes, true_fn, strict)
        false_result, false_flat = _build(no, false_fn, strict)
        _check(true_result, false_result, true_flat, false_flat)
        merged = [join(graph, around, [f, t]) for f, t in zip(false_flat, true_flat)]
        return nest.pack_sequence_as(true_result, merged)


def _taken(function: Branch, strict: bool) -> Any:
    """The result of a branch that is taken at once."""
    result = function()
    if not strict and isinstance(result, (list, tuple)) and len(result) == 1:
        result = result[0]
    leaves = [
        leaf if leaf is None or isinstance(leaf, Operation) else convert_to_tensor(leaf)
        for leaf in nest.flatten(result)
    ]
    return nest.pack_sequence_as(result, leaves)


def _build(context: CondContext, function: Branch, strict: bool) -> tuple[Any, list[Tensor]]:
    """The result of a branch, and its tensors, each made or passed on inside of the branch."""
    with context.entered():
        result = function()
        if result is None:
            side = "true_fn" if context.branch else "false_fn"
            raise ValueError(
                describe(
                    f"{side} gave None; a branch gives tensors, or operations that it runs.",
                    where=context.where,
                    hint="Return af.no_op() from a branch that does nothing.",
                )
            )
        if not strict and isinstance(result, (list, tuple)) and len(result) == 1:
            result = result[0]
        return result, [identity(_as_tensor(leaf, context)) for leaf in nest.flatten(result)]


def _as_tensor(leaf: Any, context: CondContext) -> Tensor:
    if isinstance(leaf, Operation):
        return _done(leaf, context.pred)
    return convert_to_tensor(leaf)


def _check(yes: Any, no: Any, yes_flat: Sequence[Tensor], no_flat: Sequence[Tensor]) -> None:
    try:
        nest.assert_same_structure(yes, no)
    except (TypeError, ValueError) as error:
        raise type(error)(
            describe(f"true_fn and false_fn give different structures. {error}", where=user_line())
        ) from None
    if len(yes_flat) != len(no_flat):
        raise ValueError(f"true_fn gives {len(yes_flat)} tensors and false_fn {len(no_flat)}.")
    for t, f in zip(yes_flat, no_flat):
        if t.dtype is not f.dtype:
            raise TypeError(
                describe(
                    f"true_fn and false_fn give different types: {t.dtype} and {f.dtype}.",
                    where=user_line(),
                    details=[f"{t.name} of true_fn, {f.name} of false_fn"],
                    hint="Convert one of them with af.cast.",
                )
            )


@public("af")
def case(
    pred_fn_pairs: Mapping[Tensor, Branch] | Sequence[tuple[TensorLike, Branch]],
    default: Branch | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """The result of the function of the first predicate that holds, else that of `default` (`tf.case`).

    Example:
        >>> x = af.placeholder(af.float32, [])
        >>> y = af.case([(x < 0, lambda: -x), (x < 1, lambda: x)], default=lambda: af.sqrt(x))
        >>> [await session.run(y, {x: value}) for value in (-3.0, 0.5, 16.0)]
        [3.0, 0.5, 4.0]

    Args:
        pred_fn_pairs: pairs of a boolean scalar and a function, in their order; or a dict of them.
        default: the function where no predicate holds; without it that is an error in the run.
        exclusive: whether more than one predicate that holds is an error in the run.
        strict: whether a list or tuple with a single element is given as it is, instead of the element.

    Raises:
        TypeError: an entry is not a pair, or a function is not callable.
        ValueError: there are no pairs.
    """
    pairs = list(pred_fn_pairs.items()) if isinstance(pred_fn_pairs, Mapping) else list(pred_fn_pairs)
    if not pairs:
        raise ValueError("case() needs at least one pair of a predicate and a function.")
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2 or not callable(pair[1]):
            raise TypeError(f"case() takes pairs (predicate, function), but {pair!r:.60} was given.")
    preds = [convert_to_tensor(pred) for pred, _ in pairs]
    graph = preds[0].graph
    with graph.as_default(), graph.name_scope(name):
        checks = []
        if exclusive:
            count = add_n([cast(p, "int32") for p in preds])
            checks.append(Assert(less(count, 2), ["More than one condition of case() holds:", stack(preds)]))
        if default is None:
            some = preds[0]
            for p in preds[1:]:
                some = logical_or(some, p)
            checks.append(Assert(some, ["No condition of case() holds, and there is no default:", stack(preds)]))
        with graph.control_dependencies(checks):
            preds = [identity(p) for p in preds] if checks else preds

        def choose(at: int) -> Any:
            if at == len(pairs) - 1 and default is None:
                return pairs[at][1]() if at else _only(pairs[at][1], preds[0], checks, strict)
            rest = (lambda: choose(at + 1)) if at + 1 < len(pairs) else default
            return cond(preds[at], pairs[at][1], rest, strict=strict)

        return choose(0)


def _only(function: Branch, pred: Tensor, checks: Sequence[Operation], strict: bool) -> Any:
    """The result of the one function of a `case`, after `checks`; in the form that `cond` would give it."""
    with pred.graph.control_dependencies(checks):
        result = function()
        if not strict and isinstance(result, (list, tuple)) and len(result) == 1:
            result = result[0]
        leaves, rebuild = nest.parse(result)
        return rebuild([identity(_done(leaf, pred) if isinstance(leaf, Operation) else leaf) for leaf in leaves])


def _done(operation: Operation, pred: Tensor) -> Tensor:
    """A tensor that is there when `operation` has run."""
    with operation.graph.control_dependencies([operation]):
        return identity(pred)


@public("af")
def switch_case(
    branch_index: TensorLike,
    branch_fns: Mapping[int, Branch] | Sequence[Branch],
    default: Branch | None = None,
    name: str = "switch_case",
) -> Any:
    """The result of the function with the number `branch_index` (`tf.switch_case`).

    Example:
        >>> which = af.placeholder(af.int32, [])
        >>> y = af.switch_case(which, [lambda: 10.0, lambda: 20.0], default=lambda: -1.0)
        >>> [await session.run(y, {which: number}) for number in (0, 1, 7)]
        [10.0, 20.0, -1.0]

    Args:
        branch_index: an int32 scalar.
        branch_fns: a list of functions without arguments, or a dict of them by their numbers 0, 1, 2 and so on. They
            give equal structures of tensors with equal types.
        default: the function for all other numbers; the last of `branch_fns` unless given.

    Raises:
        TypeError: there are no functions.
        ValueError: the numbers of the functions are not 0, 1, 2 and so on.
    """
    items = sorted(branch_fns.items()) if isinstance(branch_fns, Mapping) else list(enumerate(branch_fns))
    if not items or not all(callable(f) for _, f in items):
        raise TypeError("switch_case() takes functions, in a list or by their number.")
    if [number for number, _ in items] != list(range(len(items))):
        raise ValueError(f"The functions of switch_case() have the numbers 0, 1, 2, ..., not {[n for n, _ in items]}.")
    index = convert_to_tensor(branch_index)
    otherwise = default or items[-1][1]
    if default is None:
        items = items[:-1]
    with index.graph.as_default(), index.graph.name_scope(name):
        if not items:
            return otherwise()
        return case([(equal(index, number), function) for number, function in items], otherwise)
