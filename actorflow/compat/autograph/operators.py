"""`if`, `while` and `for`: Python's own if Python can decide, and else nodes of a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import actorflow as af
from actorflow.compat.autograph.states import Branch, Undefined, carried, flattened, packed, same, staged, tensors

Get = Callable[[], tuple[Any, ...]]
Set = Callable[[tuple[Any, ...]], None]


def if_stmt(
    test: Any, body: Callable[[], None], orelse: Callable[[], None], get: Get, put: Set, names: Sequence[str]
) -> None:
    """An `if`.

    Args:
        test: its condition.
        body, orelse: its branches, which bind names.
        get, put: the values of the names, and new values for them.
        names: the names that a branch binds.

    Raises:
        TypeError: a name has values in the branches between which a graph can't choose.
    """
    if not staged(test):
        (body if test else orelse)()
        return
    before = get()
    _, ends = _chosen(af.cast(test, af.bool), (body, orelse), before, get, put)
    put(tuple(ends(place, name) for place, name in enumerate(names)))


def _chosen(test: Any, bodies: Sequence[Callable[[], None]], before: tuple[Any, ...], get: Get, put: Set) -> Any:
    """Builds both branches. Gives what says the value of a name behind them."""
    ways: list[Branch] = []
    parts: list[list[list[Any]]] = []

    def built(body: Callable[[], None]) -> Callable[[], list[Any]]:
        def branch() -> list[Any]:
            put(before)
            body()
            ways.append(Branch(get()))
            likes = parts[0] if parts else [None] * len(before)
            parts.append([tensors(v, like) if carried(v) else [] for v, like in zip(ways[-1].values, likes)])
            flat = [leaf for leaves in parts[-1] for leaf in leaves]
            if len(ways) == 1:
                return flat or [af.constant(False)]
            return _aligned(parts[0], parts[1]) or [af.constant(False)]

        return branch

    results = af.cond(test, built(bodies[0]), built(bodies[1]))
    results = list(results) if isinstance(results, (list, tuple)) else [results]

    def ends(place: int, name: str) -> Any:
        first, second = ways[0].values[place], ways[1].values[place]
        if same(first, second) or (not parts[0][place] and not parts[1][place]):
            return _unchosen(name, first, second)
        if len(parts[0][place]) != len(parts[1][place]) or not _alike(first, second):
            return _unchosen(name, first, second)
        begin = sum(len(leaves) for leaves in parts[0][:place])
        return packed(first, results[begin : begin + len(parts[0][place])])

    return results, ends


def _alike(first: Any, second: Any) -> bool:
    """Whether two structures have the same form and the same keys."""
    try:
        af.nest.assert_same_structure(first, second)
    except (TypeError, ValueError):
        return False
    return True


def _aligned(first: list[list[Any]], second: list[list[Any]]) -> list[Any]:
    """The leaves of the second branch, with a zero for each leaf that only the first has."""
    flat: list[Any] = []
    for mine, theirs in zip(first, second):
        flat += theirs if len(mine) == len(theirs) else [af.zeros_like(leaf) for leaf in mine]
    return flat


def _unchosen(name: str, first: Any, second: Any) -> Any:
    if same(first, second):
        return first
    if isinstance(first, Undefined) or isinstance(second, Undefined):
        return Undefined(
            name, "it has a value behind a single branch of an if on a tensor only; give it a value in both"
        )
    return _mixed(name, first, second)


class _Mixed(Undefined):
    """A name with values that a graph can't choose between; its reader is refused."""


def _mixed(name: str, first: Any, second: Any) -> Undefined:
    kinds = " and ".join(dict.fromkeys((type(first).__name__, type(second).__name__)))
    return _Mixed(name, f"its values behind the branches of an if on a tensor are no tensors of one form: {kinds}")


def while_stmt(
    test: Callable[[], Any],
    body: Callable[[], None],
    get: Get,
    put: Set,
    names: Sequence[str],
    options: Mapping[str, Any],
) -> None:
    """A `while`.

    Args:
        test: gives its condition.
        body: a turn, which binds names.
        get, put: the values of the names, and new values for them.
        names: the names that a turn binds.
        options: arguments of `tf.while_loop`.
    """
    begin = test()
    if not staged(begin):
        while begin:
            body()
            begin = test()
        return
    _loop(test, lambda: None, body, get, put, names, options)


def _loop(
    test: Callable[[], Any],
    turn: Callable[[], None],
    body: Callable[[], None],
    get: Get,
    put: Set,
    names: Sequence[str],
    options: Mapping[str, Any],
) -> None:
    """A loop of the graph, whose variables are the names that have numbers or tensors before it."""
    before = get()
    moves = [carried(value) for value in before]
    structures = [value for value, move in zip(before, moves) if move]
    sizes = [len(flattened(value)) for value in structures]

    def spread(leaves: Sequence[Any]) -> None:
        values, place, number = list(before), 0, 0
        for index, move in enumerate(moves):
            if move:
                values[index] = packed(structures[number], leaves[place : place + sizes[number]])
                place, number = place + sizes[number], number + 1
            elif isinstance(values[index], Undefined):
                values[index] = Undefined(
                    names[index], "a loop on tensors takes only names that have a value before it"
                )
        put(tuple(values))

    initial = [leaf for value in structures for leaf in tensors(value)]

    def condition(*leaves: Any) -> Any:
        spread(leaves)
        return af.cast(test(), af.bool)

    def once(*leaves: Any) -> list[Any]:
        spread(leaves)
        turn()
        body()
        ends = get()
        _check_others(names, before, ends, moves)
        flat: list[Any] = []
        likes = list(leaves)
        for value in [value for value, move in zip(ends, moves) if move]:
            if not carried(value):
                raise TypeError(f"A turn of a loop on tensors ends with a variable that is no tensor: {value!r:.80}.")
            size = len(flattened(value))
            flat += tensors(value, likes[:size])
            likes = likes[size:]
        return flat

    if not initial:
        raise ValueError("A loop on tensors changes no name that has a value before it, so it would not end.")
    finals = af.while_loop(condition, once, initial, **options)
    spread(list(finals) if isinstance(finals, (list, tuple)) else [finals])


def _check_others(names: Sequence[str], before: Sequence[Any], ends: Sequence[Any], moves: Sequence[bool]) -> None:
    """Refuses a turn that gives another value to a name whose value no graph carries."""
    for name, old, new, move in zip(names, before, ends, moves):
        if not move and new is not old and not isinstance(old, Undefined):
            raise TypeError(
                f"A loop on tensors gives the name {name!r}, which is {type(old).__name__} before it, another value. Only "
                "tensors and numbers change from turn to turn."
            )


def for_stmt(
    iterated: Any,
    goes_on: Callable[[], Any] | None,
    bind: Callable[[Any], None],
    body: Callable[[], None],
    state: tuple[Get, Set, Sequence[str]],
    options: Mapping[str, Any],
) -> None:
    """A `for`.

    Args:
        iterated: what it iterates over: a tensor along its first dimension, a data set, or a value of Python.
        goes_on: whether no `break` was met; None without any.
        bind: binds the target to an element.
        body: a turn.
        state: the values of the names that a turn binds, a function that gives them new values, and the names.
        options: arguments of `tf.while_loop`.
    """
    if isinstance(iterated, af.data.Dataset) and not af.executing_eagerly():
        _over_dataset(iterated, goes_on, bind, body, state)
    elif staged(iterated):
        _over_rows(af.convert_to_tensor(iterated), goes_on, bind, body, state, options)
    else:
        for element in iterated:
            bind(element)
            body()
            if goes_on is not None and not _decided(goes_on()):
                break


def _decided(flag: Any) -> bool:
    if staged(flag):
        raise TypeError(
            "A break that depends on a tensor ends a loop over a value of Python. Iterate over a tensor, such as "
            "tf.range(n), so that the loop is part of the graph."
        )
    return bool(flag)


def _over_rows(
    rows: Any, goes_on: Any, bind: Any, body: Any, state: tuple[Get, Set, Sequence[str]], options: Mapping[str, Any]
) -> None:
    get, put, names = state
    count = af.shape(rows)[0]
    place = [af.constant(0)]

    def test() -> Any:
        more = af.less(place[0], count)
        return more if goes_on is None else af.logical_and(more, af.cast(goes_on(), af.bool))

    def turn() -> None:
        bind(af.gather(rows, place[0]))

    def ended() -> None:
        body()
        place[0] = place[0] + 1

    def all_values() -> tuple[Any, ...]:
        return (place[0], *get())

    def put_all(values: tuple[Any, ...]) -> None:
        place[0] = values[0]
        put(values[1:])

    _loop(test, turn, ended, all_values, put_all, ("the turn", *names), options)


def _over_dataset(dataset: Any, goes_on: Any, bind: Any, body: Any, state: tuple[Get, Set, Sequence[str]]) -> None:
    get, put, names = state
    if goes_on is not None:
        raise NotImplementedError(
            "A loop over a data set in a graph has no break: take fewer elements by dataset.take(n)."
        )
    before = get()
    moves = [carried(value) for value in before]
    structures = [value for value, move in zip(before, moves) if move]

    def spread(values: Sequence[Any]) -> None:
        ends = iter(values)
        put(tuple(next(ends) if move else value for value, move in zip(before, moves)))

    def once(values: Any, *element: Any) -> Any:
        spread(values)
        bind(element if len(element) > 1 else element[0])
        body()
        _check_others(names, before, get(), moves)
        ends = [value for value, move in zip(get(), moves) if move]
        return tuple(packed(old, tensors(new, tensors(old))) for old, new in zip(structures, ends))

    initial = tuple(packed(value, tensors(value)) for value in structures)
    spread(dataset.reduce(initial, once))


def if_exp(test: Any, body: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
    """A conditional expression."""
    if not staged(test):
        return body() if test else orelse()
    return af.cond(af.cast(test, af.bool), body, orelse)
