"""Variables in slices: TensorFlow's partitioners and rules, rows from slices, and checkpoints that change the cut."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorflow as af
import actorflow.compat.v1 as tf
from actorflow import errors
from actorflow.base.registry import plugins
from actorflow.checkpoint.format import manifest
from actorflow.engine.formats.regions import TensorRegion, covers
from actorflow.graph.ops.state.checkpoint import restore_v2, save_v2

Cpu = plugins.load("devices", "CPU")
PS = [f"/job:ps/replica:0/task:{task}/device:CPU:0" for task in range(3)]


def cut(name: str, value: Any, slices: int, axis: int = 0) -> Any:
    return af.get_variable(name, initializer=af.constant(value), partitioner=af.fixed_size_partitioner(slices, axis))


def values(graph: af.Graph, *fetches: Any, feeds: Any = None) -> list[Any]:
    with af.blocking.Session(graph=graph) as session:
        session.run(af.global_variables_initializer())
        return session.run(list(fetches), feeds or {})  # type: ignore[no-any-return]


# ---- partitioners


@pytest.mark.parametrize(
    ("partitioner", "shape", "dtype", "expected"),
    [
        # TensorFlow's answers.
        (af.fixed_size_partitioner(3), [10, 4], af.float32, [3, 1]),
        (af.fixed_size_partitioner(3, axis=1), [10, 2], af.float32, [1, 2]),
        (af.variable_axis_size_partitioner(100), [10, 10], af.float32, [5, 1]),
        (af.variable_axis_size_partitioner(10, axis=1), [4, 8], af.float64, [1, 8]),
        (af.variable_axis_size_partitioner(1 << 16, max_shards=2), [1 << 17, 1], af.float32, [2, 1]),
        (af.variable_axis_size_partitioner(100), [4], af.string, [1]),
        (af.variable_axis_size_partitioner(100, bytes_per_string_element=60), [4], af.string, [4]),
        (af.min_max_variable_partitioner(8), [1024, 64], af.float32, [1, 1]),
        (af.min_max_variable_partitioner(8), [1024, 1024], af.float32, [8, 1]),
        (af.min_max_variable_partitioner(100, min_slice_size=1 << 10), [3, 1024], af.float32, [3, 1]),
        (af.min_max_variable_partitioner(4, axis=1, min_slice_size=64), [2, 20], af.float32, [1, 3]),
    ],
)
def test_partitioners(partitioner: Any, shape: list[int], dtype: af.DType, expected: list[int]) -> None:
    assert partitioner(shape=af.TensorShape(shape), dtype=dtype) == expected


def test_slices_are_never_larger_than_asked_for() -> None:
    seed = random.randrange(1 << 30)
    rng = random.Random(seed)
    for _ in range(300):
        rows, columns, most = rng.randint(1, 60), rng.randint(1, 60), rng.randint(1, 4000)
        (count, _) = af.variable_axis_size_partitioner(most)(shape=af.TensorShape([rows, columns]), dtype=af.float32)
        largest = -(-rows // count) * columns * 4
        assert largest <= most or count == rows, (seed, rows, columns, most)
        (fewer, _) = af.min_max_variable_partitioner(9, 0, most)(
            shape=af.TensorShape([rows, columns]), dtype=af.float32
        )
        assert 1 <= fewer <= min(9, rows), (seed, rows, columns, most)


def test_partitioners_that_can_not_be() -> None:
    for arguments in ({"max_shard_bytes": 0}, {"max_shard_bytes": 1, "bytes_per_string_element": 0}):
        with pytest.raises(ValueError, match="must be positive"):
            af.variable_axis_size_partitioner(**arguments)
    with pytest.raises(ValueError, match="max_shards must be positive"):
        af.variable_axis_size_partitioner(1, max_shards=0)
    with pytest.raises(ValueError, match="along axis 2"):
        af.min_max_variable_partitioner(2, axis=2)(shape=af.TensorShape([2]), dtype=af.float32)
    with pytest.raises(ValueError, match="not fully defined"):
        af.fixed_size_partitioner(2)(shape=af.TensorShape([None, 2]), dtype=af.float32)


# ---- get_variable


def test_a_variable_in_slices(graph: af.Graph) -> None:
    whole = np.arange(30, dtype=np.float32).reshape(10, 3)
    with af.variable_scope("layer", partitioner=af.fixed_size_partitioner(3)):
        v = af.get_variable("w", initializer=af.constant(whole))
        scalar = af.get_variable("s", [], initializer=af.zeros_initializer())
    assert isinstance(v, af.PartitionedVariable) and isinstance(scalar, af.Variable)
    assert (v.name, len(v), v.shape.as_list(), v.dtype) == ("layer/w", 3, [10, 3], af.float32)
    assert [s.name for s in v] == [f"layer/w/part_{i}:0" for i in range(3)]
    assert [s.shape.as_list() for s in v] == [[4, 3], [3, 3], [3, 3]]
    assert list(v) == af.trainable_variables()[:3]
    assert [s._get_save_slice_info().spec for s in v] == ["10 3 0,4:0,3", "10 3 4,3:0,3", "10 3 7,3:0,3"]
    assert v.as_tensor().name == "layer/w:0"
    found, product, parts = values(graph, v, af.matmul(v, [[1.0], [1.0], [1.0]]) + 0.0, list(v))
    np.testing.assert_array_equal(found, whole)
    np.testing.assert_array_equal(product, whole.sum(1, keepdims=True))
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    size = len(graph)
    values(graph, v)
    assert len(graph) - size <= 1, "fetching it again adds nothing but the initializer"


def test_it_is_cut_along_any_dimension_and_assigned_to(graph: af.Graph) -> None:
    whole = np.arange(24, dtype=np.float64).reshape(2, 3, 4)
    v = cut("v", whole, 3, axis=2)
    assert [s.shape.as_list() for s in v] == [[2, 3, 2], [2, 3, 1], [2, 3, 1]]
    added, taken = v.assign_add(whole, read_value=False), v.assign_sub(np.ones((2, 3, 4)))
    assigned = v.assign(whole * 5)
    with af.blocking.Session(graph=graph) as session:
        session.run(af.global_variables_initializer())
        session.run(added)
        np.testing.assert_array_equal(session.run(v), 2 * whole)
        np.testing.assert_array_equal(np.concatenate(session.run(taken), 2), 2 * whole - 1)
        session.run(assigned)
        np.testing.assert_array_equal(session.run(v), 5 * whole)


def test_it_is_shared_as_other_variables_are(graph: af.Graph) -> None:
    v = af.get_variable("v", [5, 2], partitioner=af.fixed_size_partitioner(2))
    with pytest.raises(ValueError, match="Partitioned variable with name v already exists"):
        af.get_variable("v", [5, 2], partitioner=af.fixed_size_partitioner(2))
    with pytest.raises(ValueError, match="No partitioner was provided"):
        af.get_variable("v", [5, 2])
    with af.variable_scope(af.get_variable_scope(), reuse=True):
        assert af.get_variable("v", [5, 2], partitioner=af.fixed_size_partitioner(2)) is v
        assert af.get_variable("v") is v, "the partitioner may be left out"
        with pytest.raises(ValueError, match=r"specified partitions \[3, 1\] and found partitions \[2, 1\]"):
            af.get_variable("v", [5, 2], partitioner=af.fixed_size_partitioner(3))
        with pytest.raises(ValueError, match="specified shape"):
            af.get_variable("v", [5, 3], partitioner=af.fixed_size_partitioner(2))
        with pytest.raises(ValueError, match="specified dtype"):
            af.get_variable("v", [5, 2], af.float64, partitioner=af.fixed_size_partitioner(2))
        with pytest.raises(ValueError, match="PartitionedVariable w does not exist"):
            af.get_variable("w", [5, 2], partitioner=af.fixed_size_partitioner(2))
    af.get_variable("one", [4])
    with pytest.raises(ValueError, match="an unpartitioned version of the variable was found: one"):
        af.get_variable("one", [4], partitioner=af.fixed_size_partitioner(2))


@pytest.mark.parametrize(
    ("partitioner", "message"),
    [
        (3, "must be callable"),
        (lambda shape, dtype: [2, 2], "Can only slice a variable along one dimension"),
        (lambda shape, dtype: [2], "does not match the variable's rank"),
        (lambda shape, dtype: [0, 1], "zero partitions"),
        (lambda shape, dtype: [9, 1], "too few for 9 slices"),
    ],
)
def test_cuts_that_can_not_be(graph: af.Graph, partitioner: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        af.get_variable("v", [4, 4], partitioner=partitioner)
    with pytest.raises(ValueError, match="must be fully defined"):
        af.get_variable("w", [None, 4], partitioner=af.fixed_size_partitioner(2))


def test_initializers_are_told_of_the_slice(graph: af.Graph) -> None:
    told: list[Any] = []

    def initializer(shape: Sequence[int], dtype: Any, partition_info: Any) -> Any:
        told.append((list(shape), partition_info.full_shape, partition_info.var_offset))
        assert partition_info.single_slice_dim(shape) == 1
        return af.fill(list(shape), float(partition_info.single_offset(shape)))

    v = af.get_variable("v", [2, 5], initializer=initializer, partitioner=af.fixed_size_partitioner(2, axis=1))
    assert told == [([2, 3], [2, 5], [0, 0]), ([2, 2], [2, 5], [0, 3])]
    eye = af.get_variable("e", [4, 4], initializer=af.identity_initializer(), partitioner=af.fixed_size_partitioner(3))
    scaled = [
        af.get_variable(name, [40, 3000], initializer=made(seed=1), partitioner=af.fixed_size_partitioner(10))
        for name, made in (("g", af.glorot_uniform_initializer), ("u", af.uniform_unit_scaling_initializer))
    ]
    found, unit, glorot, uniform = values(graph, v, eye, *scaled)
    assert found.tolist() == [[0, 0, 0, 3, 3]] * 2
    np.testing.assert_array_equal(unit, np.eye(4))
    # The scale is that of a layer of 40 inputs, not of a slice of 4.
    assert 0.95 < np.abs(glorot).max() / np.sqrt(6 / 3040) <= 1
    assert 0.95 < np.abs(uniform).max() / np.sqrt(3 / 40) <= 1


# ---- training


@pytest.mark.parametrize("strategy", ["div", "mod"])
@pytest.mark.parametrize("rows", [7, 9, 10])
def test_embedding_lookup_takes_rows_from_slices(graph: af.Graph, strategy: str, rows: int) -> None:
    whole = np.arange(rows * 2, dtype=np.float32).reshape(rows, 2)
    v = cut("v", whole, 3)
    ids = af.placeholder(af.int64, [None])
    found = af.nn.embedding_lookup(v, ids, partition_strategy=strategy)
    wanted = np.array([0, rows - 1, 3, 3, 5])
    order = np.argsort([i % 3 * rows + i // 3 for i in range(rows)]) if strategy == "mod" else None
    table = whole if order is None else np.stack([whole[[*order].index(i)] for i in range(rows)])
    (taken,) = values(graph, found, feeds={ids: wanted})
    np.testing.assert_array_equal(taken, table[wanted])


def test_optimizers_change_the_slices(graph: af.Graph) -> None:
    """Momentum on slices is momentum on the whole, dense and by rows."""
    start = np.random.default_rng(0).normal(size=(7, 3))
    ids, weights = [1, 6, 1, 4], np.random.default_rng(1).normal(size=(7, 3))
    ends = []
    for slices in (1, 3):
        with af.Graph().as_default() as inner:
            v = cut("v", start, slices)
            loss = af.reduce_sum(af.square(v) * weights) + af.reduce_sum(af.nn.embedding_lookup(v, ids, "div") ** 2.0)
            optimizer = af.train.MomentumOptimizer(0.1, 0.9)
            train = optimizer.minimize(loss)
            slots = [optimizer.get_slot(s, "momentum") for s in v]
            assert [s._get_save_slice_info().full_name for s in slots if s is not None] == ["v/Momentum"] * slices
            with af.blocking.Session(graph=inner) as session:
                session.run(af.global_variables_initializer())
                for _ in range(5):
                    session.run(train)
                ends.append(session.run(v))
    np.testing.assert_allclose(ends[1], ends[0], rtol=1e-13)


def test_slices_lie_on_servers_in_turn_and_rows_are_taken_there(graph: af.Graph) -> None:
    with af.device(af.train.replica_device_setter(ps_tasks=3)):
        v = cut("v", np.arange(12, dtype=np.float32).reshape(6, 2), 3)
        found = af.nn.embedding_lookup(v, [0, 5, 2], "div")
    assert [s.device for s in v] == [f"/job:ps/task:{task}" for task in range(3)]
    gathers = [
        o for o in graph.get_operations() if o.type.startswith("Gather") and o.inputs[0].op.type == "ReadVariableOp"
    ]
    assert [o.device for o in gathers] == [s.device for s in v]
    worker = Cpu("/job:worker/replica:0/task:0/device:CPU:0")
    with af.blocking.Session(graph=graph, devices=[*map(Cpu, PS), worker]) as session:
        session.run(af.global_variables_initializer())
        assert session.run(found).tolist() == [[0, 1], [10, 11], [4, 5]]


# ---- checkpoints


def made_with(slices: int, value: Any, axis: int = 0, adam: bool = False) -> tuple[af.Graph, Any]:
    graph = af.Graph()
    with graph.as_default():
        v = cut("v", value, slices, axis) if slices else af.get_variable("v", initializer=af.constant(value))
        af.get_variable("other", initializer=af.constant([1, 2]))
        if adam:
            af.train.AdamOptimizer().minimize(af.reduce_sum(af.square(af.convert_to_tensor(v))))
    return graph, v


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(("saved", "restored"), [(3, 2), (2, 5), (4, 0), (0, 4), (3, 3), (1, 0), (0, 1)])
def test_f66_slices_are_restored_into_other_slices(tmp_path: Path, saved: int, restored: int, axis: int) -> None:
    value = np.random.default_rng(saved).normal(size=(7, 6)).astype(np.float32)
    first, _ = made_with(saved, value, axis, adam=True)
    with first.as_default(), af.blocking.Session(graph=first) as session:
        session.run(af.global_variables_initializer())
        path = af.train.Saver().save(session, tmp_path / "model")
    assert af.train.list_variables(path)[-1:] == [("v/Adam_1", [7, 6])]
    assert ("v", [7, 6]) in af.train.list_variables(path)
    np.testing.assert_array_equal(af.train.load_variable(path, "v"), value)
    second, v = made_with(restored, np.zeros_like(value), 0, adam=True)
    with second.as_default(), af.blocking.Session(graph=second) as session:
        session.run(af.global_variables_initializer())
        af.train.Saver().restore(session, path)
        np.testing.assert_array_equal(session.run(v), value)


def test_f66_strings_and_several_servers(tmp_path: Path) -> None:
    texts = np.array([[f"{i}-{j}".encode() * i for j in range(2)] for i in range(5)], object)
    with af.Graph().as_default() as graph, af.device(af.train.replica_device_setter(ps_tasks=3)):
        v = cut("v", texts, 3)
        saver = af.train.Saver()
        initialize, erase = af.global_variables_initializer(), v.assign(np.full((5, 2), b"", object))
    devices = [*map(Cpu, PS), Cpu("/job:worker/replica:0/task:0/device:CPU:0")]
    with af.blocking.Session(graph=graph, devices=devices) as session:
        session.run(initialize)
        path = saver.save(session, tmp_path / "model")
        assert len(list(tmp_path.glob("*.safetensors"))) == 3, "each server wrote its slice"
        session.run(erase)
        saver.restore(session, path)
        assert session.run(v).tolist() == texts.tolist()
    assert af.train.load_variable(path, "v").tolist() == texts.tolist()


def test_f66_what_does_not_fit_changes_nothing(tmp_path: Path) -> None:
    first, _ = made_with(3, np.ones((7, 6), np.float32))
    with first.as_default(), af.blocking.Session(graph=first) as session:
        session.run(af.global_variables_initializer())
        path = af.train.Saver().save(session, tmp_path / "model")
        with pytest.raises(errors.InvalidArgumentError, match="the slices of 'v' are not all of it"):
            af.train.Saver(af.global_variables()[:2]).save(session, tmp_path / "part")
        assert not list(tmp_path.glob("part*")), "nothing of it is left"
    second, v = made_with(2, np.zeros((6, 7), np.float32))
    for reshape in (False, True):
        with second.as_default(), af.blocking.Session(graph=second) as session:
            session.run(af.global_variables_initializer())
            with pytest.raises(
                errors.InvalidArgumentError, match=r"v has shape \(7, 6\).*but the variable has \(6, 7\)"
            ):
                af.train.Saver(reshape=reshape).restore(session, path)
            assert not session.run(v).any()
    third, w = made_with(0, np.zeros((6, 7), np.float32))
    with third.as_default(), af.blocking.Session(graph=third) as session:
        session.run(af.global_variables_initializer())
        af.train.Saver(reshape=True).restore(session, path)
        assert session.run(w).all()


def test_a_saver_names_slices(graph: af.Graph, tmp_path: Path) -> None:
    v, w = cut("v", np.arange(4.0), 2), cut("w", -np.arange(4.0), 2)
    with pytest.raises(ValueError, match="same name: v"):
        af.train.Saver({"v": v, "v ": v} and [v, *w, af.Variable(0.0, name="v")])
    saver = af.train.Saver({"swapped": v, "piece": next(iter(w))})
    with af.blocking.Session(graph=graph) as session:
        session.run(af.global_variables_initializer())
        path = saver.save(session, tmp_path / "model")
    assert af.train.list_variables(path) == [("piece", [2]), ("swapped", [4])]


def test_init_from_checkpoint_gives_slices_their_parts(tmp_path: Path) -> None:
    value = np.arange(14, dtype=np.float32).reshape(7, 2)
    first, _ = made_with(0, value)
    with first.as_default(), af.blocking.Session(graph=first) as session:
        session.run(af.global_variables_initializer())
        path = af.train.Saver().save(session, tmp_path / "model")
    for assignment in ({"v": "new/v"}, {"/": "new/"}, "itself"):
        with af.Graph().as_default() as graph, af.variable_scope("new"):
            v = cut("v", np.zeros((7, 2), np.float32), 3)
            af.train.init_from_checkpoint(path, {"v": v} if assignment == "itself" else assignment)
            (found,) = values(graph, v)
            np.testing.assert_array_equal(found, value)


def test_f66_nodes_save_and_restore_slices(graph: af.Graph, tmp_path: Path) -> None:
    prefix = str(tmp_path / "model")
    halves = [af.constant([[1.0, 2.0]]), af.constant([[3.0, 4.0]])]
    save = save_v2(prefix, ["x", "x"], ["2 2 0,1:0,2", "2 2 1,1:0,2"], halves)
    column: Any = restore_v2(prefix, ["x"], ["2 2 0,2:1,1"], dtypes=[af.float32])
    with af.blocking.Session(graph=graph) as session:
        session.run(save)
        assert session.run(column).tolist() == [[2.0], [4.0]]
        for specs, message in (
            (["2 2 0,1:0,2", "2 2 0,1:0,2"], "one name"),
            (["3 2 0,1:0,2", "3 2 1,1:0,2"], "not all of it"),
            (["2 2 0,1:0,2", "2 2 1,1:0,1"], "can't be the part"),
            (["2 2 0,1:0,2", "2 2 2,1:0,2"], "sticks out"),
            (["2 2 0,1:0,2", "rows"], "no part of a tensor"),
        ):
            with pytest.raises(errors.InvalidArgumentError, match=message):
                session.run(save_v2(prefix, ["x", "x"], specs, halves))
        assert session.run(column).tolist() == [[2.0], [4.0]], "the one before is as it was"


def test_f66_a_checkpoint_that_lacks_a_slice_is_damaged(tmp_path: Path) -> None:
    first, _ = made_with(3, np.ones((7, 6), np.float32))
    with first.as_default(), af.blocking.Session(graph=first) as session:
        session.run(af.global_variables_initializer())
        path = af.train.Saver().save(session, tmp_path / "model")
    file = Path(f"{path}.manifest")
    whole = manifest.decode(file.read_bytes(), "it")
    assert manifest.decode(manifest.encode(whole), "it") == whole
    slices = [entry for entry in whole.entries if entry.name == "v"]
    assert len(slices) == 3 and whole.variables()["v"].shape == (7, 6)
    for changed in (
        [e for e in whole.entries if e is not slices[1]],
        [replace(e, begin=(1, 0)) if e is slices[1] else e for e in whole.entries],
        [replace(e, whole=(8, 6)) if e is slices[1] else e for e in whole.entries],
        [replace(e, begin=None) if e is slices[1] else e for e in whole.entries],
    ):
        file.write_bytes(manifest.encode(replace(whole, entries=tuple(changed))))
        with pytest.raises(errors.DataLossError, match="'v'"):
            af.train.load_variable(path, "v")


def test_f66_regions_are_copied_as_numpy_copies_them() -> None:
    """Any cut of a tensor, read in any other cut."""
    seed = random.randrange(1 << 30)
    rng = np.random.default_rng(seed)
    for _ in range(200):
        whole = tuple(int(size) for size in rng.integers(1, 9, rng.integers(1, 4)))
        value = rng.normal(size=whole)
        axis = int(rng.integers(len(whole)))
        ends = sorted({0, whole[axis], *rng.integers(0, whole[axis] + 1, 3).tolist()})
        parts = []
        for begin, end in pairwise(ends):
            shape = tuple(end - begin if d == axis else size for d, size in enumerate(whole))
            parts.append(TensorRegion(whole, tuple(begin if d == axis else 0 for d in range(len(whole))), shape))
        assert covers(parts) and not covers(parts[:-1] + parts[-1:] * 2), seed
        assert len(parts) == 1 or not covers(parts[1:]), seed
        begin = [int(rng.integers(0, size)) for size in whole]
        shape = [int(rng.integers(1, size - b + 1)) for size, b in zip(whole, begin)]
        wanted = TensorRegion(whole, tuple(begin), tuple(shape))
        target = np.zeros(shape)
        for part in parts:
            own = value[tuple(slice(b, b + s) for b, s in zip(part.begin, part.shape))]
            assert part.meets(wanted) == wanted.meets(part), seed
            part.copy(own, wanted, target)
        np.testing.assert_array_equal(
            target, value[tuple(slice(b, b + s) for b, s in zip(begin, shape))], f"seed {seed}"
        )


def test_tensorflows_names() -> None:
    for name in (
        "fixed_size_partitioner",
        "variable_axis_size_partitioner",
        "min_max_variable_partitioner",
    ):
        assert getattr(tf, name) is getattr(af, name)
