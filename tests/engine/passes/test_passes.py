"""Each pass alone: from the canonical text of a graph, one line a node, to another."""

from __future__ import annotations

import random
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from probes import far, kernelless
from random_graphs import later, random_graph

import actorflow as af
from actorflow import errors
from actorflow.base.registry import kernel, plugins
from actorflow.engine.device.base import Device
from actorflow.engine.passes import coalesce as coalescing
from actorflow.engine.passes.coalesce import coalesce, members_of
from actorflow.engine.passes.compile import listed
from actorflow.engine.passes.fold import fold
from actorflow.engine.passes.order_writes import order_writes
from actorflow.engine.passes.partition import partition
from actorflow.engine.passes.pipeline import PassReport, validate, watched
from actorflow.engine.placement.cost_model import node_cost
from actorflow.engine.placement.groups import UnionFind
from actorflow.engine.placement.place import place
from actorflow.graph.analysis.ancestry import waits
from actorflow.graph.analysis.duplicates import merge_duplicates
from actorflow.graph.analysis.frames import is_free
from actorflow.graph.analysis.prune import needed_by, prune, reachability
from actorflow.graph.analysis.subgraph import Subgraph, topological
from actorflow.graph.node import Node, TensorId

CPU = "/job:localhost/replica:0/task:0/device:CPU:"


@pytest.fixture
def graph() -> Iterator[af.Graph]:
    plugins.load_kernels()
    made = af.Graph()
    with made.as_default():
        yield made


def subgraph(
    graph: af.Graph,
    fetches: Sequence[Any] = (),
    feeds: Sequence[af.Tensor] = (),
    targets: Sequence[af.Operation] = (),
    device: str = "",
) -> Subgraph:
    """The part of a graph that a run of `fetches` needs; with `device`, everything is placed there."""
    found = [graph.as_graph_element(f) for f in fetches]
    made = prune(
        Subgraph(
            graph.nodes,
            {t.tensor_id: (t.dtype, t.static_shape) for t in feeds},
            tuple(f.tensor_id for f in found if isinstance(f, af.Tensor)),
            tuple(t.name for t in targets),
        )
    )
    return made.with_nodes([replace(n, device=n.device or device) for n in made.nodes.values()])


def compute(node: Node, inputs: list[Any]) -> Any:
    """Runs a kernel, as the planner does for folding."""
    entry = kernel.lookup(node.op, "CPU", node.dtypes)
    if entry.is_async or entry.takes_context:
        return None
    return entry.function(np, *inputs, **{name: node.attrs[name] for name in entry.attrs})


def mergeable(node: Node) -> bool:
    return node.op not in ("_Send", "_Recv", "TestLater", "TestWait")


def text(*lines: str) -> str:
    return "\n".join(lines)


def edges(graph: Subgraph) -> set[tuple[str, str]]:
    """Each pair of nodes of which the second waits for the first."""
    return {(need, node.name) for node in graph.nodes.values() for need in graph.predecessors(node)}


def descendants(graph: Subgraph) -> dict[str, set[str]]:
    """All that come after each node, itself not counted. Raises AssertionError where a node is listed before its needs."""
    found: dict[str, set[str]] = {name: set() for name in graph.nodes}
    seen: set[str] = set()
    for node in graph.nodes.values():
        assert seen.issuperset(graph.predecessors(node)), f"{node} comes before what it waits for"
        seen.add(node.name)
    for node in reversed(list(graph.nodes.values())):
        for need in graph.predecessors(node):
            found[need] |= {node.name} | found[node.name]
    return found


def test_f16_the_passes_are_listed_in_their_order() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "explanation" / "graph.md").read_text(encoding="utf-8")
    picture = page.partition("```mermaid")[2].partition("```")[0]
    drawn = re.findall(r'\w+\["[^:]+:<br/>([^"]+)"\]', picture)
    assert " ► ".join(drawn).replace("<br/>", " ► ") == listed(), "run tools/design_pictures.py"


async def test_each_pass_can_be_watched(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [2])
    y = x * (af.constant(1.0) + 2.0) + x * 3.0
    seen: list[PassReport] = []
    async with af.Session(graph=graph) as session:
        with watched(seen.append):
            await session.run(y, {x: [1, 2]})
        await session.run([y, x * 2.0], {x: [1, 2]})
    names = [report.name for report in seen]
    assert names[0] == "prune" and "coalesce" in names and all(name in listed() for name in names)
    folded = next(report for report in seen if report.name == "fold")
    assert str(folded).startswith("fold: ") and len(folded.after[""].nodes) < len(folded.before[""].nodes)


def test_a_pass_that_breaks_the_graph_is_named(graph: af.Graph) -> None:
    a = af.constant(1.0, name="a")
    b = af.identity(a, name="b")
    whole = subgraph(graph, [b])
    without = replace(whole, nodes={"b": whole.nodes["b"]})
    turned = replace(whole, nodes=dict(reversed(whole.nodes.items())))
    with pytest.raises(AssertionError, match="after lose: b takes a:0, which nothing makes"):
        validate(PassReport("lose", {"": whole}, {"": without}, 0.0))
    with pytest.raises(AssertionError, match="after turn: b comes before a"):
        validate(PassReport("turn", {"": whole}, {"": turned}, 0.0))


# ---- prune


def test_prune_keeps_what_the_fetches_need(graph: af.Graph) -> None:
    a, b = af.constant(1.0, name="a"), af.constant(2.0, name="b")
    c = af.add(a, b, name="c")
    af.multiply(c, c, name="unused")
    with af.control_dependencies([b]):
        d = af.identity(a, name="d")
    assert str(subgraph(graph, [c])) == text("a = Const()", "b = Const()", "c = Add(a, b)")
    assert str(subgraph(graph, targets=[d.op])) == text("a = Const()", "b = Const()", "d = Identity(a, ^b)")


def test_f25_a_fed_tensor_cuts_the_graph(graph: af.Graph) -> None:
    a = af.constant([1.0, 2.0], name="a")
    b = af.square(a, name="b")
    c = af.negative(b, name="c")
    left, right = af.split(c, 2, name="d")
    total = af.add(left, right, name="e")
    assert str(subgraph(graph, [c], feeds=[b])) == "c = Neg(b)"
    assert str(subgraph(graph, [b], feeds=[b])) == ""
    one_port = subgraph(graph, [total], feeds=[left])
    assert "d = Split" in str(one_port) and "a = Const()" in str(one_port)
    both = subgraph(graph, [total], feeds=[left, right])
    assert str(both) == "e = Add(d, d:1)"


def test_a_control_edge_runs_a_fed_node_unless_it_is_a_placeholder(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [], name="x")
    y = af.square(x, name="y")
    with af.control_dependencies([x, y]):
        z = af.constant(1.0, name="z")
    assert str(subgraph(graph, [z], feeds=[x, y])) == text("y = Square(x)", "z = Const(^y)")
    assert str(subgraph(graph, [z], feeds=[x])) == text("y = Square(x)", "z = Const(^y)")


def test_a_cycle_is_an_error_that_lists_it(graph: af.Graph) -> None:
    a = af.constant(1.0, name="a")
    b = af.square(a, name="b")
    c = af.negative(b, name="c")
    b.op.add_control_input(c.op)
    with pytest.raises(
        errors.InvalidArgumentError, match=r"a cycle of 2 nodes.*: b <- c <- b\.|: c <- b <- c\."
    ) as caught:
        subgraph(graph, [c])
    assert all(f"made at {t.where}" in str(caught.value) for t in (b, c))
    assert str(a.where) not in str(caught.value), "a is no part of the cycle"
    assert str(subgraph(graph, [a])) == "a = Const()", "what does not need the cycle runs"


def test_a_deep_graph_needs_no_deep_stack(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [])
    y = x
    for _ in range(5000):
        y = af.negative(y)
    assert len(subgraph(graph, [y], feeds=[x]).nodes) == 5000


def random_dag(rng: random.Random, size: int, density: float = 0.15) -> dict[str, Node]:
    """Nodes with random data and control edges to earlier ones, in a shuffled order."""
    nodes: list[Node] = []
    for i in range(size):
        earlier = [j for j in range(i) if rng.random() < density]
        data = tuple(TensorId(f"n{j}", 0) for j in earlier if rng.random() < 0.6)
        controls = tuple(f"n{j}" for j in earlier if TensorId(f"n{j}", 0) not in data)
        nodes.append(Node(f"n{i}", "AddN", data, controls, dtypes=(af.float32,), shapes=((),)))
    rng.shuffle(nodes)
    return {node.name: node for node in nodes}


def test_f17_reachability_is_the_boolean_power_of_the_adjacency_matrix(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(50):
        nodes = random_dag(rng, rng.randint(1, 14))
        names, matrix = reachability(nodes)
        adjacency = np.zeros((len(names), len(names)), bool)
        for node in nodes.values():
            for source in {e.node for e in node.inputs} | set(node.controls):
                adjacency[names.index(source), names.index(node.name)] = True
        power = reached = adjacency
        for _ in names:
            power = power @ adjacency
            reached = reached | power
        np.testing.assert_array_equal(np.array(matrix, bool).reshape(reached.shape), reached)


def test_f17_prune_keeps_exactly_the_ancestors(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(100):
        nodes = random_dag(rng, rng.randint(1, 25))
        names, matrix = reachability(nodes)
        wanted = rng.sample(names, rng.randint(1, min(3, len(names))))
        kept = prune(Subgraph(nodes, fetches=tuple(TensorId(name, 0) for name in wanted)))
        expected = set(wanted) | {
            name for name in names if any(matrix[names.index(name)][names.index(fetch)] for fetch in wanted)
        }
        assert set(kept.nodes) == expected
        descendants(kept)  # each after what it needs
        assert needed_by(Subgraph(nodes), TensorId(wanted[0], 0)) <= expected


# ---- fold


def test_fold_computes_what_hangs_on_constants(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [2], name="x")
    a = af.constant([1.0, 2.0], name="a")
    b = af.add(a, a, name="b")
    c = af.square(b, name="c")
    d = af.add(c, x, name="d")
    folded = prune(fold(subgraph(graph, [d], [x]), compute))
    assert str(folded) == text("c = Const()", "d = Add(c, x)")
    value = folded.nodes["c"].attrs["value"]
    np.testing.assert_array_equal(value, np.float32([4, 16]))
    assert not value.flags.writeable and value.dtype == np.float32


def test_fold_keeps_control_inputs(graph: af.Graph) -> None:
    """The nodes that a folded node waited for, and those that the constants it was computed from waited for."""
    x = af.placeholder(af.float32, [], name="x")
    one, two = af.group(x + 1.0, name="one"), af.group(x + 2.0, name="two")
    with af.control_dependencies([one]):
        a = af.constant(1.0, name="a")
    with af.control_dependencies([two]):
        b = af.negative(a, name="b")
    folded = prune(fold(subgraph(graph, [b], [x]), compute))
    assert str(folded.nodes["b"]) == "b = Const(^two, ^one)"


def test_fold_leaves_what_it_must(graph: af.Graph) -> None:
    a = af.constant([3.0, 1.0], name="a")
    v = af.Variable(1.0, name="v")
    fetches = [
        af.random_uniform([2], seed=1),
        v.assign(af.constant(2.0)),
        af.split(a, 2)[1],  # several outputs
        af.placeholder(af.float32, [2], name="x") + a,
        later(a, turns=1),
        af.check_numerics(af.log(a - 5.0), "nan"),  # raises: the run says so, with its place
        af.zeros([1024, 1024]),  # over a mebibyte
    ]
    before = subgraph(graph, fetches)
    folded = fold(before, compute)
    for fetch in fetches:
        assert folded.nodes[fetch.op.name].op == before.nodes[fetch.op.name].op != "Const"


def test_fold_takes_no_fed_value(graph: af.Graph) -> None:
    a = af.constant(1.0, name="a")
    b = af.negative(a, name="b")
    assert str(fold(subgraph(graph, [b], [a]), compute)) == "b = Neg(a)"


def test_fold_knows_static_shapes(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [2, 3], name="x")
    y = af.placeholder(af.float32, [None, 3], name="y")
    known, open_ = af.shape(x * 2.0), af.shape(y * 2.0)
    folded = prune(fold(subgraph(graph, [known, open_], [x, y]), compute))
    assert folded.nodes[known.op.name].op == "Const" and folded.nodes[known.op.name].attrs["value"].tolist() == [2, 3]
    assert folded.nodes[open_.op.name].op == "Shape"


def test_fold_takes_out_what_gives_an_input_on_as_it_is(graph: af.Graph) -> None:
    """It stays if the other input could give the result another shape, or if bits would change."""
    a = af.placeholder(af.float32, [2, 3], name="a")
    x = af.square(a, name="x")
    y = af.placeholder(af.float32, [None, 3], name="y")
    z = af.placeholder(af.complex64, [2, 3], name="z")
    gone = [
        x * 1.0,
        1.0 * y,
        x / 1.0,
        x * af.ones([1]),
        y * af.ones([]),
        x * af.ones([2, 1]),
        af.reshape(x, [2, 3]),
        af.concat([y], 0),
    ]
    stay = [
        x * 2.0,
        x * af.ones([3]),
        y * af.ones([2, 3]),
        y * af.ones([2, 1]),
        1.0 / x,
        x + 0.0,
        z * 1.0,
        af.reshape(y, [2, 3]),
        af.concat([x, x], 0),
    ]
    folded = fold(subgraph(graph, [*gone, *stay], [a, y, z]), compute).nodes
    assert [folded[tensor.op.name].op for tensor in gone] == ["Identity"] * len(gone)
    assert "Identity" not in [folded[tensor.op.name].op for tensor in stay]
    with af.control_dependencies([af.group(x, name="before")]):
        after = af.multiply(x, 1.0, name="after")
    assert str(fold(subgraph(graph, [after], [a]), compute).nodes["after"]) == "after = Identity(x, ^before)"


def test_folded_values_are_those_of_the_run(seed: int) -> None:
    """Folding a graph without placeholders leaves constants of the oracle's bits."""
    from interpreter import Interpreter

    rng = random.Random(seed)
    graph = af.Graph()
    with graph.as_default():
        values = [af.constant(np.float32([rng.random() for _ in range(3)])) for _ in range(4)]
        for _ in range(60):
            function = rng.choice([af.add, af.multiply, af.maximum, af.subtract, lambda a, b: af.tanh(a)])
            values.append(function(rng.choice(values), rng.choice(values)))
    folded = fold(subgraph(graph, values), compute)
    for tensor, want in zip(values, Interpreter(graph).run(values)):
        node = folded.nodes[tensor.op.name]
        assert node.op == "Const" and node.attrs["value"].tobytes() == np.asarray(want).tobytes(), tensor.name


# ---- merge_duplicates


def test_f86_a_hundred_equal_subtrees_become_one(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [], name="x")
    trees = [af.multiply(af.add(x, 1.0), af.square(x)) for _ in range(100)]
    merged = merge_duplicates(subgraph(graph, trees, [x]))
    assert [node.op for node in merged.nodes.values()] == ["Const", "Add", "Square", "Mul"]
    assert set(merged.fetches) == {trees[0].tensor_id} and len(merged.fetches) == 100


def test_f86_random_and_stateful_nodes_stay(graph: af.Graph) -> None:
    v = af.Variable(0.0)
    draws = [af.random_uniform([2], seed=3) for _ in range(2)]
    adds = [v.assign_add(1.0) for _ in range(2)]
    reads = [v.read_value() for _ in range(2)]
    waits_ = [later(af.constant(1.0, name="one"), turns=0) for _ in range(2)]
    before = subgraph(graph, [*draws, *adds, *reads, *waits_])
    merged = merge_duplicates(before)
    assert len({*merged.fetches}) == 8
    assert {e.node for e in merged.fetches} <= set(merged.nodes)


def test_merging_knows_commutative_ops(graph: af.Graph) -> None:
    x, y = af.placeholder(af.float32, [], name="x"), af.placeholder(af.float32, [], name="y")
    sums, differences = [af.add(x, y), af.add(y, x)], [af.subtract(x, y), af.subtract(y, x)]
    larger = [af.maximum(x, y), af.maximum(y, x)]  # of 0 and -0 it is the second
    merged = merge_duplicates(subgraph(graph, [*sums, *differences, *larger], [x, y]))
    assert len(set(merged.fetches[:2])) == 1 and len(set(merged.fetches[2:])) == 4


def test_sums_of_strings_are_not_merged_if_their_inputs_are_exchanged(graph: af.Graph) -> None:
    x, y = af.placeholder(af.string, [], name="x"), af.placeholder(af.string, [], name="y")
    merged = merge_duplicates(subgraph(graph, [x + y, y + x, x + y], [x, y]))
    assert len(set(merged.fetches)) == 2 and merged.fetches[0] == merged.fetches[2]


def test_merging_looks_at_everything_that_differs(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [2], name="x")
    gate = af.group(x * 3.0)
    base = af.cast(x, af.float64)
    with af.control_dependencies([gate]):
        waiting = af.cast(x, af.float64)
    with af.device("/device:CPU:1"):
        elsewhere = af.cast(x, af.float64)
    other_type = af.cast(x, af.int32)
    minus_zero = [af.constant(0.0) + x, af.constant(-0.0) + x]
    same = af.cast(x, af.float64)
    kinds = [base, waiting, elsewhere, other_type, *minus_zero]
    merged = merge_duplicates(subgraph(graph, [*kinds, same], [x]))
    assert len(set(merged.fetches)) == len(kinds)
    assert merged.fetches[-1] == base.tensor_id


def test_merging_leaves_fed_nodes_apart(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [], name="x")
    a, b = af.square(x, name="a"), af.square(x, name="b")
    c = af.subtract(a, b, name="c")
    merged = merge_duplicates(subgraph(graph, [c, a], [x, a]))
    assert str(merged) == text("b = Square(x)", "c = Sub(a, b)")


def test_merging_leaves_a_node_apart_of_which_one_output_is_fed(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [2], name="x")
    one, two = af.split(x, 2, name="one"), af.split(x, 2, name="two")
    y = af.add_n([*one, *two], name="y")
    merged = merge_duplicates(subgraph(graph, [y], [x, one[0]]))
    assert str(merged.nodes["y"]) == "y = AddN(one, one:1, two, two:1)"


def test_merging_renames_controls_and_targets(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [], name="x")
    a, b = af.square(x, name="a"), af.square(x, name="b")
    with af.control_dependencies([a, b]):
        c = af.constant(1.0, name="c")
    merged = merge_duplicates(subgraph(graph, [c], [x], targets=[b.op]))
    assert str(merged) == text("a = Square(x)", "c = Const(^a)") and merged.targets == ("a",)


# ---- place


def cpus(count: int) -> list[Device]:
    return [plugins.load("devices", "CPU")(f"{CPU}{i}") for i in range(count)]


def placed(graph: af.Graph, count: int = 3, known: Mapping[str, str] | None = None) -> dict[str, int]:
    """The index of each node's device."""
    return {name: int(device[-1]) for name, device in place(graph.nodes, cpus(count), known or {}).items()}


def test_f45_constraints_and_colocation(graph: af.Graph) -> None:
    with af.device("/device:CPU:2"):
        v = af.Variable(1.0, name="v")
    with af.device("/cpu:1"):
        a = af.constant(1.0, name="a")
    with af.colocate_with(v.op):
        af.constant(2.0, name="b")
    af.constant(3.0, name="free")
    add = v.assign_add(a)
    found = placed(graph)
    assert found["v"] == 2 and found["a"] == 1 and found["b"] == 2 and found["free"] == 0
    assert found[add.op.name] == found["v/read"] == 2, "what takes a reference is where the variable is"


def test_f46_a_thousand_colocations_are_one_group(graph: af.Graph) -> None:
    last = af.constant(0.0)
    for _ in range(1000):
        with af.colocate_with(last.op, ignore_existing=True):
            last = af.constant(0.0)
    with af.colocate_with(last.op), af.device("/device:CPU:1"):
        af.constant(0.0, name="decides")
    assert set(placed(graph).values()) <= {0, 1} and len(set(placed(graph).values())) == 1
    groups = UnionFind()
    for i in range(100_000):
        groups.join(f"n{i}", f"n{i + 1}")
    assert groups.find("n0") == groups.find("n100000")


def test_placement_is_sticky(graph: af.Graph) -> None:
    v = af.Variable(1.0, name="v")
    before = {name: f"{CPU}1" for name in graph.nodes}
    add = v.assign_add(1.0)
    af.constant(1.0, name="new")
    after = place(graph.nodes, cpus(2), before)
    assert before.items() <= after.items()
    assert after[add.op.name] == f"{CPU}1" and after["new"] == f"{CPU}0"


def test_f45_conflicts_list_their_lines(graph: af.Graph) -> None:
    with af.device("/device:CPU:1"):
        v = af.Variable(1.0, name="v")
    with af.device("/device:CPU:0"):
        add = v.assign_add(1.0)
    with pytest.raises(errors.InvalidArgumentError, match="all of a group that must share one") as caught:
        placed(graph)
    for part in (f"v asks for /device:CPU:1, made at {v.op.where}", f"asks for /device:CPU:0, made at {add.where}"):
        assert part in str(caught.value)
    with pytest.raises(errors.InvalidArgumentError, match=f"lives on {CPU}1"):
        place(graph.nodes, cpus(2), {"v": f"{CPU}1"})


def test_a_node_between_two_placed_ones_is_torn(graph: af.Graph) -> None:
    v, w = af.Variable(1.0, name="v"), af.Variable(1.0, name="w")
    known = {"v": f"{CPU}0", "w": f"{CPU}1"}
    with af.colocate_with(v.op), af.colocate_with(w.op):
        af.constant(1.0, name="both")
    with pytest.raises(errors.InvalidArgumentError, match=f"{CPU}0 and with what lives on {CPU}1|{CPU}1 and.*{CPU}0"):
        place(graph.nodes, cpus(2), known)


def test_f10_f44_a_missing_kernel_names_itself(graph: af.Graph) -> None:
    x = af.constant(1.0)
    nowhere, distant = kernelless(x), far(x)
    refused: dict[str, errors.OpError] = {}
    found = place(graph.nodes, cpus(1), {}, refused)
    assert set(refused) == {nowhere.op.name, distant.op.name} and x.op.name in found
    assert "Op TestFar has no kernel for CPU; it has kernels for: FAR" in str(refused[distant.op.name])
    assert str(distant.where) in str(refused[distant.op.name])
    with pytest.raises(errors.UnimplementedError):
        place(graph.nodes, cpus(1), {})


# ---- partition


def spread(graph: af.Graph, fetches: Sequence[Any], feeds: Sequence[af.Tensor] = ()) -> dict[str, Subgraph]:
    """Partition of a graph whose nodes ask for /device:CPU:i, or for none and get the first."""
    whole = subgraph(graph, fetches, feeds)
    full = [replace(n, device=f"{CPU}{n.device[-1] if n.device else 0}") for n in whole.nodes.values()]
    return partition(whole.with_nodes(full), f"{CPU}0")


def on(index: int) -> Any:
    return af.device(f"/device:CPU:{index}")


def test_f48_edges_that_cross_become_send_and_recv(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [2], name="x")
    with on(0):
        a = af.square(x, name="a")
    with on(1):
        b = af.add(a, x, name="b")
        with af.control_dependencies([a]):
            c = af.identity(b, name="c")
    parts = spread(graph, [c, x], [x])
    assert str(parts[f"{CPU}0"]) == text(
        "a = Square(x)",
        "a/_0_to_CPU_1/send = _Send(a)",
        "a/_control_to_CPU_1/send = _Send(^a)",
    )
    assert str(parts[f"{CPU}1"]) == text(
        "a/_0_to_CPU_1/recv = _Recv()",
        "b = Add(a/_0_to_CPU_1/recv, x)",
        "a/_control_to_CPU_1/recv = _Recv()",
        "c = Identity(b, ^a/_control_to_CPU_1/recv)",
    )
    assert parts[f"{CPU}0"].fetches == (x.tensor_id,) and parts[f"{CPU}1"].fetches == (c.tensor_id,)


def test_f49_ten_consumers_share_one_transfer(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [2], name="x")
    with on(0):
        a = af.square(x)
    with on(1):
        uses = [a + float(i) for i in range(10)]
    with on(2):
        uses += [a * float(i) for i in range(10)]
    parts = spread(graph, uses, [x])
    count = {d: [n.op for n in part.nodes.values()].count("_Recv") for d, part in parts.items()}
    assert count == {f"{CPU}0": 0, f"{CPU}1": 1, f"{CPU}2": 1}
    assert [n.op for n in parts[f"{CPU}0"].nodes.values()].count("_Send") == 2


def test_destinations_of_one_name_in_two_tasks_stay_apart(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [], name="x")
    a = af.square(x, name="a")
    uses = [a + 1.0, a + 2.0]
    tasks = [f"/job:worker/replica:0/task:{i}/device:CPU:0" for i in range(3)]
    where = dict(zip([u.op.name for u in uses], tasks[1:]))
    whole = subgraph(graph, uses, [x])
    parts = partition(
        whole.with_nodes([replace(n, device=where.get(n.name, tasks[0])) for n in whole.nodes.values()]), tasks[0]
    )
    assert sum(n.op == "_Send" for n in parts[tasks[0]].nodes.values()) == 2  # a to each; constants are there


def test_a_run_of_what_is_fed_has_one_empty_part(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [], name="x")
    parts = spread(graph, [x, x], [x])
    assert list(parts) == [f"{CPU}0"] and not parts[f"{CPU}0"].nodes
    assert parts[f"{CPU}0"].fetches == (x.tensor_id, x.tensor_id)


@pytest.mark.parametrize("number", range(40))
def test_f41_f48_f49_f52_partitions_of_random_graphs(number: int) -> None:
    """No edge crosses; each Send has its Recv and each (tensor, destination) one pair; a part for each device in use."""
    made = random_graph(number, devices=3)
    request = made.requests[0]
    elements = [made.graph.as_graph_element(name) for name in dict.fromkeys(request.fetches)]
    feeds = [made.graph.get_tensor_by_name(name) for name in request.feeds]
    whole = subgraph(
        made.graph,
        [e for e in elements if isinstance(e, af.Tensor)],
        feeds,
        [e for e in elements if isinstance(e, af.Operation)],
    )
    places = place(made.graph.nodes, cpus(3), {})
    whole = whole.with_nodes([replace(n, device=places[n.name]) for n in whole.nodes.values()])
    parts = partition(whole, f"{CPU}0")
    used = {n.device for n in whole.nodes.values()} | {f"{CPU}0"}
    assert set(parts) <= used and set(parts) >= used - {f"{CPU}0"}
    sends, recvs = [], []
    for device, part in parts.items():
        descendants(part)  # checks that all inputs are in the part, or fed
        assert {n.device for n in part.nodes.values()} <= {device}
        sends += [n.attrs["key"] for n in part.nodes.values() if n.op == "_Send"]
        recvs += [n.attrs["key"] for n in part.nodes.values() if n.op == "_Recv"]
    assert sorted(sends) == sorted(recvs) and len(set(sends)) == len(sends)
    crossing = {
        (source, node.device)
        for node in whole.nodes.values()
        for source in (*[e for e in node.inputs if e not in whole.feeds], *node.controls)
        if (sender := whole.nodes[source if isinstance(source, str) else source.node]).device != node.device
        and not is_free(sender)
    }
    assert len(sends) == len(crossing)
    assert {e for part in parts.values() for e in part.fetches} == set(whole.fetches)


# ---- order_writes


def test_updates_wait_for_the_users_of_reads(graph: af.Graph) -> None:
    v = af.Variable([1.0, 2.0], name="v")
    use = af.square(v, name="use")
    far_use = af.negative(af.identity(v, name="view"), name="far_use")
    update = v.assign_add([1.0, 1.0], read_value=False, name="update")
    before = subgraph(graph, [use, far_use], targets=[update])
    assert str(before.nodes["update"]) == "update = AssignAddVariableOp(v, update/value)" or "^" not in str(
        before.nodes["update"]
    )
    after = order_writes(before)
    assert set(after.nodes["update"].controls) == {"use", "far_use"}, "views of a read hold its buffer too"
    assert edges(after) >= edges(before)


def test_order_writes_turns_no_order_round(graph: af.Graph) -> None:
    v = af.Variable([1.0], name="v")
    update = v.assign_add([1.0], read_value=False, name="update")
    with af.control_dependencies([update]):
        use = af.square(v, name="use")
    before = subgraph(graph, [use])
    assert str(order_writes(before)) == str(before)


def test_order_writes_waits_for_nothing_asynchronous(graph: af.Graph) -> None:
    """A user that depends on a Recv, or on a feed that comes later, would hold the update up."""
    v = af.Variable([1.0], name="v")
    x = af.placeholder(af.float32, [1], name="x")
    slow = af.add(v, later(af.constant([1.0]), turns=1), name="slow")
    fed = af.add(v, x, name="fed")
    update = v.assign_add([1.0], read_value=False, name="update")
    whole = subgraph(graph, [slow, fed], [x], [update])
    assert order_writes(whole).nodes["update"].controls == ("fed",)
    assert order_writes(whole, frozenset([x.tensor_id])).nodes["update"].controls == ()


def variable_graph(seed: int, size: int = 60, later_every: float = 0.05) -> tuple[af.Graph, list[Any], list[Any]]:
    """Reads, updates and what depends on them, in any order and under random control edges. Races do not matter here."""
    rng = random.Random(seed)
    graph = af.Graph()
    with graph.as_default():
        variables = [af.Variable(np.float32([i, 1.0])) for i in range(3)]
        values: list[Any] = [af.constant(np.float32([1, 2])), *[v.value() for v in variables]]
        operations: list[Any] = []
        for _ in range(size):
            before = rng.sample([v.op for v in values] + operations, 2) if rng.random() < 0.3 else []
            with af.control_dependencies(before):
                x, y, v = rng.choice(values), rng.choice(values), rng.choice(variables)
                kind = rng.random()
                if kind < 0.2:
                    values.append(v.read_value())
                elif kind < 0.35:
                    operations.append(v.assign_add(x, read_value=False))
                elif kind < 0.45:
                    values.append(v.assign(x))
                elif kind < 0.45 + later_every:
                    values.append(later(x, turns=0))
                else:
                    values.append(rng.choice([af.add, af.multiply, lambda a, b: af.identity(a)])(x, y))
    return graph, values, operations


@pytest.mark.parametrize("number", range(60))
def test_order_writes_never_makes_a_cycle(number: int) -> None:
    graph, values, operations = variable_graph(number)
    before = subgraph(graph, values, targets=operations)
    after = order_writes(before)
    order, earlier = descendants(after), descendants(before)  # raises for a cycle: no topological order
    assert edges(after) >= edges(before)
    tokens = waits(before)
    for source, writer in edges(after) - edges(before):
        assert tokens[source] == tokens[writer] and source not in earlier[writer], (
            f"seed {number}: {source} -> {writer}"
        )
        assert writer in order[source]


# ---- coalesce


def contracted(graph: Subgraph, *args: Any, apart: Container[str] = ()) -> Subgraph:
    """`coalesce`, after which each node comes after what it needs, so that there is no cycle. `apart` can't be merged."""
    made = coalesce(graph, lambda node: mergeable(node) and node.name not in apart, *args)
    descendants(made)
    return made


def test_coalesce_merges_runs_of_cheap_nodes(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [], name="x")
    a = af.add(x, 1.0, name="a")
    b = af.multiply(a, a, name="b")
    c = later(b, turns=0, name="c")
    d = af.negative(c, name="d")
    e = af.add(d, a, name="e")
    made = contracted(subgraph(graph, [e], [x], device=f"{CPU}0"))
    assert [str(n) for n in made.nodes.values() if n.op != "Const"] == [
        "a/region_of_2 = _Region(x)",
        "c = TestLater(a/region_of_2:1)",
        "d/region_of_2 = _Region(c, a/region_of_2)",
    ]
    assert [str(m) for m in members_of(made.nodes["d/region_of_2"])] == ["d = Neg(c)", "e = Add(d, a)"]
    assert made.fetches == (TensorId("d/region_of_2", 0),)


def test_coalesce_leaves_large_nodes_alone(graph: af.Graph) -> None:
    x = af.placeholder(af.float32, [1000, 1000], name="x")
    y = af.negative(af.matmul(x, x), name="y")
    small = af.add(af.reduce_sum(y), 1.0)
    made = contracted(subgraph(graph, [small], [x], device=f"{CPU}0"))
    assert "MatMul" in {n.op for n in made.nodes.values()}


def test_small_roots_are_one_region(graph: af.Graph) -> None:
    """Reads of weights whose users stay alone are done together as a step begins; what is fed or costs more is not among them."""
    x = af.placeholder(af.float32, [], name="x")
    weights = [af.Variable(np.float32([1, 2])).value() for _ in range(3)]
    users = [af.add(w, w, name=f"user{i}") for i, w in enumerate(weights)]
    fed = af.negative(af.negative(x), name="fed")
    large = af.negative(af.fill([100_000], 1.0), name="large")
    before = subgraph(graph, [*users, fed, large], [x], device=f"{CPU}0")
    made = contracted(before, apart={u.op.name for u in users})
    regions = {frozenset(m.op for m in members_of(n)): members_of(n) for n in made.nodes.values() if n.op == "_Region"}
    assert set(regions) == {
        frozenset(ops) for ops in (("VariableV2", "ReadVariableOp"), ("Neg",), ("Const", "Fill", "Neg"))
    }
    assert len(regions[frozenset(("VariableV2", "ReadVariableOp"))]) == 6


def test_coalesce_respects_control_edges(graph: af.Graph) -> None:
    """A member's control input from outside is the region's; one that would lead back into a region parts it."""
    x = af.placeholder(af.float32, [], name="x")
    a = af.add(x, 1.0, name="a")
    big = later(a, turns=0, name="big")
    with af.control_dependencies([big]):
        b = af.add(x, 2.0, name="b")
        c = af.add(b, a, name="c")
    made = contracted(subgraph(graph, [c], [x], device=f"{CPU}0"))
    region = next(n for n in made.nodes.values() if n.op == "_Region")
    assert {m.name for m in members_of(region)} >= {"b", "c"} and "a" not in {m.name for m in members_of(region)}
    assert region.controls == ("big",)


def test_members_of_a_region_wait_for_the_same(graph: af.Graph) -> None:
    """A node that depends on a feed of a partial run does not hold up one that does not."""
    x, y = af.placeholder(af.float32, [], name="x"), af.placeholder(af.float32, [], name="y")
    a, b = af.add(x, 1.0, name="a"), af.add(y, 1.0, name="b")
    both = af.add(a, b, name="both")
    whole = subgraph(graph, [a, b, both], [x, y], device=f"{CPU}0")
    assert sum(n.op == "_Region" for n in contracted(whole).nodes.values()) == 1
    parted = contracted(whole, frozenset([x.tensor_id, y.tensor_id]))
    assert all(n.op != "_Region" for n in parted.nodes.values())


@pytest.mark.parametrize("number", range(60))
def test_coalescing_random_graphs_is_sound(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The contracted graph has no cycle; each region's members share device and asynchronous ancestors, are within the
    bounds of number and cost, and stand in a topological order; nothing is lost, and no order is."""
    rng = random.Random(number)
    monkeypatch.setattr(coalescing, "MOST_INSTRUCTIONS", rng.choice((6, 15, 512)))
    monkeypatch.setattr(coalescing, "LARGEST_REGION", rng.choice((3_000.0, 500_000.0)))
    graph, values, operations = variable_graph(number, 80, later_every=0.1)
    fetches = rng.sample(values, 8)
    before = order_writes(subgraph(graph, fetches, targets=rng.sample(operations, min(3, len(operations)))))
    before = before.with_nodes([replace(n, device=f"{CPU}0") for n in before.nodes.values()])
    apart = set(rng.sample(list(before.nodes), len(before.nodes) // 8))
    made = contracted(before, apart=apart)
    tokens, order = waits(before), descendants(before)
    seen: list[str] = []
    region_of: dict[str, str] = {}
    for node in made.nodes.values():
        members = [m for m in members_of(node) if m.op != "Const" or m.controls or node.op != "_Region"]
        seen += [m.name for m in members]
        region_of.update((m.name, node.name) for m in members)
        if node.op != "_Region":
            continue
        assert len({tokens[m.name] for m in members}) == 1 and {m.device for m in members} == {f"{CPU}0"}
        assert apart.isdisjoint(m.name for m in members)
        assert 2 <= len(members) <= coalescing.MOST_INSTRUCTIONS
        costs = [node_cost(m, before) for m in members]
        assert max(costs) <= coalescing.LARGEST_MEMBER
        assert sum(costs[1:]) <= coalescing.LARGEST_REGION
        place_of = {m.name: i for i, m in enumerate(members)}
        assert all(place_of.get(need, -1) < place_of[m.name] for m in members for need in before.predecessors(m))
        inside = set(place_of)
        for m in members:  # convex: no way out and back in
            outside = order[m.name] - inside
            assert not any(inside & order[o] for o in outside), f"seed {number}: {node.name}"
    assert sorted(seen) == sorted(before.nodes), "each node is in exactly one place"
    after = descendants(made)
    for first, second in edges(before):
        one, other = region_of[first], region_of[second]
        free = before.nodes[first].op == "Const" and not before.nodes[first].controls
        assert one == other or free or other in after[one], f"seed {number}: the order {first} -> {second} is lost"


def test_topological_keeps_the_present_order_where_it_can() -> None:
    nodes = {n: Node(n, "NoOp", controls=c) for n, c in {"b": ("a",), "a": (), "c": (), "d": ("c",)}.items()}
    assert list(topological(Subgraph(nodes)).nodes) == ["a", "b", "c", "d"]
    cyclic = {"a": Node("a", "NoOp", controls=("b",)), "b": Node("b", "NoOp", controls=("a",))}
    with pytest.raises(AssertionError, match="made a cycle"):
        topological(Subgraph(cyclic))


def test_a_product_of_half_known_sizes_is_planned(graph: af.Graph) -> None:
    """The cost model's guess for an unknown size may contradict a size that is known."""
    x = af.placeholder(af.float32, [None, None], name="x")
    y = af.matmul(x, af.constant(np.ones((3, 2), np.float32)))
    assert node_cost(y.op.node, subgraph(graph, [y], [x])) > 0
