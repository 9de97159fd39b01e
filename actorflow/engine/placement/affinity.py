"""Affinity: nodes that may be apart, but are better off together.

None of this is needed for a right result. A loop whose nodes are on one device needs no messages in its iterations; a view costs
nothing where its tensor is, and a whole transfer elsewhere. The simulation, which looks at one node at a time, would not see it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

from actorflow.base.registry import opdef
from actorflow.engine.placement.cost_model import expected_bytes
from actorflow.engine.placement.groups import Joint, UnionFind
from actorflow.graph.analysis.cooperative import yielding
from actorflow.graph.analysis.duplicates import divide_duplicates
from actorflow.graph.analysis.frames import PRIMITIVES
from actorflow.graph.node import Node

_ABOUT = frozenset(("Shape", "ShapeN", "Size", "Rank"))
IN_LOOP = "is in one loop with"
LISTS = "passes lists of tensors on with"
INITIAL = "makes the initial value that goes to"
SOURCE = "is a source for nothing but"
ABOUT = "only asks for the shape of"
VIEW = "is a view of"
SAME = "computes the same as"
_LARGE_ATTRIBUTE = 1024


class Uses:
    """The users of the outputs of each of `fresh`, which are in order of their names."""

    def __init__(self, nodes: Mapping[str, Node], fresh: Sequence[Node]) -> None:
        self.nodes = nodes
        self.fresh = fresh
        self.data: dict[str, list[Node]] = {}
        self.controls: dict[str, list[Node]] = {}
        for node in yielding(fresh):
            for source in dict.fromkeys([tensor_id.node for tensor_id in node.inputs]):
                self.data.setdefault(source, []).append(node)
            for source in node.controls:
                self.controls.setdefault(source, []).append(node)

    def all(self, name: str) -> list[Node]:
        return [*self.data.get(name, ()), *self.controls.get(name, ())]


def loops(uses: Uses) -> list[list[str]]:
    """The nodes of each loop, together with those of the loops inside of it and around it; Enters and Exits included."""
    enters = [node for node in uses.fresh if node.op == "Enter"]
    if not enters:
        return []
    most = len({node.attrs["frame_name"] for node in enters})
    nests = UnionFind()
    depth: dict[str, int] = {}  # of a node's outputs, in loops around them
    waiting = [(node, 1) for node in enters]
    while waiting:
        node, deep = waiting.pop()
        if depth.get(node.name, 0) >= min(deep, most):
            continue
        depth[node.name] = deep
        if node.op == "Enter":
            nests.join(node.name, f"{node.attrs['frame_name']} ")  # no node has a blank in its name
        for user in uses.all(node.name):
            nests.join(user.name, node.name)
            if user.op == "Exit" and deep == 1:
                continue  # it leaves the outermost loop
            waiting.append((user, deep + (user.op == "Enter") - (user.op == "Exit")))
    by_nest: dict[str, list[str]] = {}
    for node in uses.fresh:
        if node.name in depth or node.op == "Exit":
            by_nest.setdefault(nests.find(node.name), []).append(node.name)
    return [members for members in by_nest.values() if len(members) > 1]


def lists(uses: Uses) -> Iterator[Joint]:
    """The users of lists of tensors and their makers: a list may have no size that is known, and goes from a loop to its
    gradient."""
    for node in yielding(uses.fresh):
        for tensor_id in node.inputs:
            if uses.nodes[tensor_id.node].dtypes[tensor_id.port].kind == "V":
                yield node.name, tensor_id.node, LISTS


def same(uses: Uses) -> dict[str, str]:
    """The nodes that compute what another node computes, with that node: on one device a pass lets only that node run."""
    return divide_duplicates(_order(uses), (), _LARGE_ATTRIBUTE)[1]


def run_once(uses: Uses, once: Container[str]) -> set[str]:
    """The nodes that run before all steps: the makers of initial values, as `initial` gives them, and the writes of these."""
    return {
        node.name
        for node in uses.fresh
        if node.name in once
        or len(node.inputs) > 1
        and opdef.lookup(node.op).writes
        and all(e.node in once for e in node.inputs[1:])
    }


def initial(uses: Uses, groups: UnionFind) -> dict[str, str]:
    """The nodes that compute nothing but the initial value of one variable, and the handle of that variable.

    It depends on no feed and no state, and all that use it are writes to the variable, or are themselves such nodes.
    """
    order = _order(uses)
    pure: set[str] = set()
    for node in yielding(order):
        if all(tensor_id.node in pure for tensor_id in node.inputs) and _is_pure(node):
            pure.add(node.name)
    home: dict[str, str] = {}
    for node in yielding(reversed(order)):
        users = uses.data.get(node.name)
        if not users or node.name not in pure:
            continue
        targets = {home.get(user.name) or _written(user, node) for user in users}
        if len({target and groups.find(target) for target in targets}) == 1 and None not in targets:
            home[node.name] = next(iter(sorted(filter(None, targets))))
    return home


def _order(uses: Uses) -> list[Node]:
    """The fresh nodes that depend on no cycle, each after its inputs."""
    here = {node.name for node in uses.fresh}
    waits = {node.name: sum(s in here for s in {e.node for e in node.inputs}) for node in uses.fresh}
    order = [node for node in uses.fresh if not waits[node.name]]
    for node in yielding(order):
        for user in uses.data.get(node.name, ()):
            waits[user.name] -= 1
            if not waits[user.name]:
                order.append(user)
    return order


def _is_pure(node: Node) -> bool:
    """Whether a node gives values of its inputs alone; random numbers are as good as such."""
    if (
        node.role in PRIMITIVES
        or node.op == "PlaceholderWithDefault"
        or any(dtype.is_ref or dtype.kind == "R" for dtype in node.dtypes)
    ):
        return False
    definition = opdef.lookup(node.op)
    return not definition.stateful or any(a.name == "seed" for a in definition.attrs)


def _written(user: Node, value: Node) -> str | None:
    """The handle to which `user` writes `value`."""
    return user.inputs[0].node if opdef.lookup(user.op).writes and user.inputs[0].node != value.name else None


def followers(uses: Uses) -> Iterator[Joint]:
    """Nodes that go to the device of another node: views and questions for a shape go with their tensor, a source
    without inputs with its only user."""
    for node in yielding(uses.fresh):
        if node.device or node.colocate or node.role in PRIMITIVES:
            continue
        if node.op in _ABOUT:
            if node.inputs:
                yield node.name, node.inputs[0].node, ABOUT
        elif node.inputs:
            if _is_view(node, uses.nodes):
                yield node.name, node.inputs[0].node, VIEW
        elif not node.controls and node.op != "Placeholder":
            users = dict.fromkeys(user.name for user in uses.all(node.name))
            if len(users) == 1 and _is_pure(node):
                yield node.name, next(iter(users)), SOURCE


def _is_view(node: Node, nodes: Mapping[str, Node]) -> bool:
    """Whether a node's outputs are parts of its first input, so that sending them costs no more than sending that input."""
    definition = opdef.lookup(node.op)
    if not definition.view or definition.work != 0 or definition.stateful:
        return False
    source = nodes[node.inputs[0].node]
    port = node.inputs[0].port
    whole = expected_bytes(source.shapes[port], source.dtypes[port])
    return sum(expected_bytes(s, d) for s, d in zip(node.shapes, node.dtypes)) <= whole
