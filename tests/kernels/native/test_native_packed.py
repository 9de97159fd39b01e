"""Packed strings against arrays of objects: each kernel that takes or gives them, and random graphs of such ops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow.base.dtypes import float32, float64, int64
from actorflow.base.packed_strings import PackedStrings, pack, together, unpacked
from actorflow.base.registry import kernel as kernels
from actorflow.base.registry.kernel import PACKS
from actorflow.engine.passes.pack_strings import pack_strings
from actorflow.engine.passes.pipeline import watched
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.kernels.io.columns import read_columns
from actorflow.kernels.native import scatter
from actorflow.kernels.native.library import loaded
from actorflow.kernels.native.strings import numbers, parts

pytestmark = pytest.mark.skipif(loaded() is None, reason="the library in C is not there")

ALPHABET = b"ab,Z 09.\0\xff\xc3\xa9_-"


def tensor(values: list[bytes], shape: tuple[int, ...] | None = None) -> Any:
    made = np.empty(len(values), object)
    made[:] = values
    return made if shape is None else made.reshape(shape)


def words(rng: np.random.Generator, count: int, letters: bytes = ALPHABET) -> list[bytes]:
    """Words of up to 40 bytes, most of them short."""
    return [
        bytes(rng.choice(list(letters), int(rng.integers(0, rng.choice([3, 9, 40])))).tolist()) for _ in range(count)
    ]


def scattered(rng: np.random.Generator, values: Any) -> PackedStrings:
    """The strings packed in another order, with other bytes between them: what parts and picked strings are like."""
    order = rng.permutation(values.size)
    data, places = b"", np.zeros((values.size, 2), np.int64)
    flat = values.reshape(-1).tolist()
    for place in order.tolist():
        data += rng.bytes(int(rng.integers(0, 3)))
        places[place] = len(data), len(flat[place])
        data += flat[place]
    return PackedStrings(places.reshape(*values.shape, 2), np.frombuffer(data, np.uint8))


def scalar(value: bytes) -> Any:
    return tensor([value]).reshape(())


def as_tuple(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def same(packed: Any, plain: Any) -> bool:
    pairs = zip(map(unpacked, as_tuple(packed)), as_tuple(plain), strict=True)
    return all(a.dtype == b.dtype and a.shape == b.shape and a.tolist() == b.tolist() for a, b in pairs)


Kernel = Callable[..., Any]
STRINGS: dict[str, tuple[Kernel, str]] = {
    "split": (lambda x, **kw: parts.string_split(np, x.reshape(-1), scalar(b" "), skip_empty=True, **kw), "any"),
    "split by two": (
        lambda x, **kw: parts.string_split(np, x.reshape(-1), scalar(b"a,"), skip_empty=False, **kw),
        "any",
    ),
    "letters": (lambda x, **kw: parts.string_split(np, x.reshape(-1), scalar(b""), skip_empty=True, **kw), "any"),
    "split v2": (lambda x, **kw: parts.string_split_v2(np, x.reshape(-1), scalar(b"ab"), maxsplit=-1, **kw), "any"),
    "split once": (lambda x, **kw: parts.string_split_v2(np, x.reshape(-1), scalar(b""), maxsplit=1, **kw), "any"),
    "strip": (lambda x, **kw: parts.strip(np, x, **kw), "any"),
    "lower": (lambda x, **kw: parts.lower(np, x, encoding="", **kw), "any"),
    "upper": (lambda x, **kw: parts.upper(np, x, encoding="", **kw), "any"),
    "join": (lambda x, **kw: parts.string_join(np, [x, x, scalar(b"!")], separator="--", **kw), "any"),
    "reduce_join": (lambda x, **kw: parts.reduce_join(np, x, np.array(-1), keep_dims=True, separator=",", **kw), "any"),
    "reduce_join 0": (
        lambda x, **kw: parts.reduce_join(np, x, np.array([0]), keep_dims=False, separator="", **kw),
        "any",
    ),
    "segments": (
        lambda x, **kw: parts.unsorted_segment_join(
            np, x.reshape(-1), np.arange(x.size) % 3, np.int32(4), separator="/", **kw
        ),
        "any",
    ),
    "replace": (
        lambda x, **kw: parts.regex_replace(np, x, scalar(b"[0-9]+"), scalar(b"#"), replace_global=True, **kw),
        "ascii",
    ),
    "replace once": (
        lambda x, **kw: parts.regex_replace(np, x, scalar(b"[ab]"), scalar(b""), replace_global=False, **kw),
        "ascii",
    ),
    "cut": (lambda x, **kw: parts.substr(np, x, np.array(0), np.array(3), unit="BYTE", **kw), "any"),
    "unique": (lambda x, **kw: scatter.unique(np, x.reshape(-1), out_idx=int64, **kw), "any"),
    "unique counted": (lambda x, **kw: scatter.unique_with_counts(np, x.reshape(-1), out_idx=int64, **kw), "any"),
    "length": (lambda x, packs=(): parts.length(np, x, unit="BYTE"), "any"),
    "characters": (lambda x, packs=(): parts.length(np, x, unit="UTF8_CHAR"), "any"),
    "fast": (lambda x, packs=(): numbers.string_to_hash_bucket_fast(np, x, num_buckets=1000), "any"),
    "old": (lambda x, packs=(): numbers.string_to_hash_bucket(np, x, num_buckets=7), "any"),
    "strong": (lambda x, packs=(): numbers.string_to_hash_bucket_strong(np, x, num_buckets=99, key=[3, 9]), "any"),
    "number": (lambda x, packs=(): numbers.string_to_number(np, x, out_type=float32), "number"),
    "exact number": (lambda x, packs=(): numbers.string_to_number(np, x, out_type=float64), "number"),
    "csv": (
        lambda x, **kw: numbers.decode_csv(
            np,
            x,
            [tensor([b"none"]), np.array([0.5], np.float32), tensor([b""])],
            field_delim=",",
            use_quote_delim=True,
            na_value="NA",
            select_cols=(),
            **kw,
        ),
        "record",
    ),
}


def values_of(rng: np.random.Generator, kind: str, count: int) -> list[bytes]:
    if kind == "number":
        signs = [b"", b"-", b" "]
        return [
            signs[i % 3] + repr(value).encode()
            for i, value in enumerate((np.abs(rng.normal(size=count)) * 10.0 ** rng.integers(-30, 30)).tolist())
        ]
    if kind == "record":
        fields = [b"", b"NA", b'"a, ""b"""', b"word", b"\xff"]
        return [
            b",".join([fields[int(rng.integers(5))], b"%.3f" % rng.normal(), fields[int(rng.integers(5))]])
            for _ in range(count)
        ]
    return words(rng, count, ALPHABET if kind == "any" else bytes(c for c in ALPHABET if c < 128))


@pytest.mark.parametrize("name", STRINGS)
def test_kernels_give_the_same_for_packed_strings(name: str, seed: int) -> None:
    function, kind = STRINGS[name]
    rng = np.random.default_rng(seed)
    for rows, columns in ((0, 1), (1, 1), (3, 2), (5, 7), (40, 1)):
        x = tensor(values_of(rng, kind, rows * columns), (rows, columns))
        wanted = function(x)
        for given in (x, pack(x), scattered(rng, x)):
            for packs in ((), (0, 1, 2)):
                found = function(given, packs=packs)
                assert same(found, wanted), (rows, columns, type(given), packs, x)
                strings = [part for part in as_tuple(found) if part.dtype == object]
                assert all(isinstance(part, PackedStrings) == bool(packs) for part in strings), (packs, strings)


def test_numbers_are_spelled_as_packed_strings(seed: int) -> None:
    rng = np.random.default_rng(seed)
    keywords: dict[str, Any] = {"precision": -1, "scientific": False, "shortest": False, "width": 9, "fill": ""}
    for x in (rng.normal(size=(4, 9)), rng.integers(-(10**9), 10**9, 50), np.array([np.nan, -np.inf, 1e300])):
        packed = numbers.as_string(np, x, **keywords, packs=(0,))
        assert isinstance(packed, PackedStrings)
        assert same(packed, numbers.as_string(np, x, **keywords))


def test_what_lies_outside_of_the_data_is_no_string() -> None:
    data = np.frombuffer(b"abc", np.uint8)
    far = 2**63 - 1
    for begin, size in ((-1, 1), (0, 4), (3, 1), (1, -1), (far, 1), (1, far), (far, far), (-far, far)):
        wrong = PackedStrings(np.array([[0, 1], [begin, size]]), data)
        for name, arguments in (
            ("buckets", (5,)),
            ("lengths", ()),
            ("lowered", (False, True)),
            ("split", (b" ", False, True, False, -1, True)),
            ("stripped", (True,)),
            ("unique", (True, True)),
            ("numbers_of", ("f",)),
        ):
            assert loaded().call(name, 1, wrong, *arguments) is NotImplemented, (begin, size, name)
    for places, bytes_of in (
        (np.zeros((2, 3), np.int64), data),
        (np.zeros((2, 2), np.int32), data),
        (np.zeros((2, 4), np.int64)[:, ::2], data),
        (np.zeros(2, np.int64), data),
        (np.zeros((2, 2), np.int64), b"abc"),
        (np.zeros((2, 2), np.int64), data.view(np.int8)),
        (None, data),
    ):
        assert loaded().call("buckets", 1, PackedStrings(places, bytes_of), 5) is NotImplemented


AGAIN = np.array([[0, 2], [3, 1], [0, 2], [0, 2]])
"""Points of which some come again."""
FIRST = np.array([[0], [2], [0], [0]])
PARTED = np.array([[0, 1, 0], [2, 0, 0], [1, 1, 1], [2, 0, 2]])
SPARSE = np.array([[0, 1], [1, 0], [1, 0], [3, 2]]), np.array([4, 3])
STRIDES = {"begin_mask": 0, "end_mask": 1, "ellipsis_mask": 0, "new_axis_mask": 4, "shrink_axis_mask": 2}
Inputs = Callable[[Any, Any, Any], tuple[Any, ...]]
MOVES: dict[str, tuple[Inputs, dict[str, Any]]] = {
    "Identity": (lambda x, y, s: (x,), {}),
    "StopGradient": (lambda x, y, s: (x,), {}),
    "GuaranteeConst": (lambda x, y, s: (x,), {}),
    "PlaceholderWithDefault": (lambda x, y, s: (x,), {}),
    "EnsureShape": (lambda x, y, s: (x,), {"shape": (4, None)}),
    "Fill": (lambda x, y, s: (np.array([2, 3]), s), {}),
    "Reshape": (lambda x, y, s: (x, np.array([3, -1])), {}),
    "ExpandDims": (lambda x, y, s: (x, np.array(0)), {}),
    "Squeeze": (lambda x, y, s: (x.reshape(4, 1, 3),), {"axis": (1,)}),
    "Transpose": (lambda x, y, s: (x, np.array([1, 0])), {}),
    "BroadcastTo": (lambda x, y, s: (x, np.array([2, 4, 3])), {}),
    "Tile": (lambda x, y, s: (x, np.array([2, 3])), {}),
    "Slice": (lambda x, y, s: (x, np.array([1, 0]), np.array([2, 2])), {}),
    "StridedSlice": (lambda x, y, s: (x, np.array([3, 1, 0]), np.array([0, 2, 0]), np.array([-2, 1, 1])), STRIDES),
    "ReverseV2": (lambda x, y, s: (x, np.array([1])), {}),
    "ReverseSequence": (lambda x, y, s: (x, np.array([3, 0, 2, 2])), {"seq_dim": 1, "batch_dim": 0}),
    "Roll": (lambda x, y, s: (x, np.array([5, -1]), np.array([0, 1])), {}),
    "Gather": (lambda x, y, s: (x, np.array([[2, 0], [1, 1]])), {}),
    "GatherV2": (lambda x, y, s: (x, np.array([1, 0, 1]), np.array(1)), {"batch_dims": 0}),
    "GatherNd": (lambda x, y, s: (x, AGAIN), {}),
    "ConcatV2": (lambda x, y, s: ([x, y, x], np.array(1)), {}),
    "Pack": (lambda x, y, s: ([x, y, x],), {"axis": 1}),
    "Unpack": (lambda x, y, s: (x,), {"num": 3, "axis": 1}),
    "Split": (lambda x, y, s: (x, np.array(0)), {"num_split": 2}),
    "SplitV": (lambda x, y, s: (x, np.array([1, -1]), np.array(1)), {"num_split": 2}),
    "Pad": (lambda x, y, s: (x, np.array([[1, 0], [0, 2]])), {}),
    "PadV2": (lambda x, y, s: (x, np.array([[1, 0], [0, 2]]), s), {}),
    "MirrorPad": (lambda x, y, s: (x, np.array([[2, 1], [0, 2]])), {"mode": "REFLECT"}),
    "OneHot": (lambda x, y, s: (np.array([1, 1, 5]), np.array(3), s, scalar(b"off")), {"axis": 0}),
    "DynamicPartition": (lambda x, y, s: (x, PARTED), {"num_partitions": 4}),
    "DynamicStitch": (lambda x, y, s: ([FIRST.reshape(-1), np.array([5, 2, 5, 0]), x, y],), {}),
    "TensorScatterUpdate": (lambda x, y, s: (x, FIRST, y), {}),
    "SpaceToBatchND": (lambda x, y, s: (x.reshape(1, 4, 3, 1), np.array([2, 2]), np.array([[0, 0], [1, 0]])), {}),
    "BatchToSpaceND": (lambda x, y, s: (x.reshape(4, 3, 1, 1), np.array([2, 2]), np.array([[0, 1], [1, 0]])), {}),
    "SpaceToDepth": (lambda x, y, s: (x.reshape(1, 2, 2, 3),), {"block_size": 2, "data_format": "NHWC"}),
    "DepthToSpace": (lambda x, y, s: (x.reshape(1, 1, 1, 12),), {"block_size": 2, "data_format": "NHWC"}),
    "SparseToDense": (lambda x, y, s: (SPARSE[0], SPARSE[1], of_row(x), s), {"validate_indices": False}),
    "SparseReorder": (lambda x, y, s: (SPARSE[0][::-1], of_row(x), SPARSE[1]), {}),
    "SparseConcat": (
        lambda x, y, s: ([SPARSE[0], SPARSE[0], of_row(x), of_row(y), SPARSE[1], SPARSE[1]],),
        {"concat_dim": 1},
    ),
    "SparseSplit": (lambda x, y, s: (np.array(0), SPARSE[0], of_row(x), SPARSE[1]), {"num_split": 2}),
    "SparseSlice": (lambda x, y, s: (SPARSE[0], of_row(x), SPARSE[1], np.array([1, 0]), np.array([3, 2])), {}),
    "SparseFillEmptyRows": (lambda x, y, s: (SPARSE[0], of_row(x), SPARSE[1], s), {}),
}


def of_row(x: Any) -> Any:
    """Four strings of a tensor of twelve."""
    if isinstance(x, PackedStrings):
        return PackedStrings(x.places.reshape(12, 2)[3:7], x.data)
    return x.reshape(12)[3:7]


def test_the_table_has_all_kernels_that_move_strings() -> None:
    assert MOVES.keys() == {op for op in kernels.registered() if kernels.packing(op)[0] == "moved"}


@pytest.mark.parametrize("op", MOVES)
def test_moved_strings_stay_packed(op: str, seed: int) -> None:
    inputs, keywords = MOVES[op]
    rng = np.random.default_rng(seed)
    function = kernels.lookup(op, "CPU", [af.string]).function
    x, y, single = tensor(words(rng, 12), (4, 3)), tensor(words(rng, 12), (4, 3)), scalar(words(rng, 1)[0])
    wanted = function(np, *inputs(x, y, single), **keywords)
    for packed in (
        (scattered(rng, x), scattered(rng, y), scattered(rng, single)),
        (scattered(rng, x), y, pack(single)),
    ):
        found = function(np, *inputs(*packed), **keywords)
        assert same(found, wanted)
        strings = [part for part in as_tuple(found) if part.dtype == object]
        assert strings and all(isinstance(part, PackedStrings) for part in strings)


async def test_strings_that_come_to_one_place_are_joined_in_a_graph_of_packed_strings() -> None:
    assert kernels.packing("ScatterNd") == ("", False)
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.string, [None])
        low = af.strings.lower(af.string_strip(x))
        joined = af.scatter_nd([[0], [2], [2], [0]], low, [4])
        fetches = [af.strings.upper(joined), af.strings.length(joined)]
    for options in (af.PlanOptions(), af.PlanOptions(optimize=False)):
        async with af.Session(graph=graph, options=options) as session:
            upper, lengths = await session.run(fetches, {x: tensor([b" Ab", b"Cde ", b"fGh", b"i"])})
        assert upper.tolist() == [b"ABI", b"", b"CDEFGH", b""]
        assert lengths.tolist() == [3, 0, 6, 0]


def test_strings_of_several_tensors_are_put_together(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b, c = (tensor(words(rng, 6), (3, 2)) for _ in range(3))
    packed = [scattered(rng, a), b, pack(c)]
    for op, tail, keywords in (("ConcatV2", (np.array(1),), {}), ("Pack", (), {"axis": 1})):
        entry = kernels.lookup(op, "CPU", [af.string])
        assert same(entry.function(np, packed, *tail, **keywords), entry.function(np, [a, b, c], *tail, **keywords)), op
    elements, data = together([packed[0], packed[0].reshape(6)])
    assert data is packed[0].data
    assert [part.shape for part in elements] == [(3, 2), (6,)]


def test_features_of_examples_are_packed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    texts = [words(rng, int(rng.integers(0, 5))) for _ in range(20)]
    messages = [
        af.train.Example(
            features=af.train.Features(
                feature={"x": af.train.Feature(bytes_list=af.train.BytesList(value=text))} if text or i % 2 else {}
            )
        ).SerializeToString()
        for i, text in enumerate(texts)
    ]
    plain, packed = (read_columns(messages, {"x": af.string}, names) for names in ((), ("x",)))
    assert plain is not None and packed is not None
    assert isinstance(packed["x"].values, PackedStrings)
    assert packed["x"].values.tolist() == plain["x"].values.tolist() == [word for text in texts for word in text]
    assert packed["x"].lengths.tolist() == plain["x"].lengths.tolist()


# ---- graphs


def grown(rng: np.random.Generator, x: Any, size: int) -> Iterator[Any]:
    """Vectors of strings: those of `x`, and of random ops on these and each other."""
    vectors = [x]
    steps: list[Callable[[Any, Any], Any]] = [
        lambda a, b: af.string_split(a, " ").values,
        lambda a, b: af.string_split(a, "").values,
        lambda a, b: af.strings.lower(a),
        lambda a, b: af.strings.upper(a),
        lambda a, b: af.string_strip(a),
        lambda a, b: af.strings.regex_replace(a, "[a-z]", "-"),
        lambda a, b: af.strings.regex_replace(a, "a|Z", "<\\0>"),
        lambda a, b: af.strings.substr(a, 0, 2),
        lambda a, b: af.string_join([a, a], "+"),
        lambda a, b: af.concat([a, b], 0),
        lambda a, b: af.gather(a, af.range_(af.size(a)) // 2),
        lambda a, b: af.identity(a),
        lambda a, b: af.reshape(af.stack([a, af.strings.lower(a)], 1), [-1]),
        lambda a, b: af.unique(a)[0],
        lambda a, b: af.as_string(af.strings.length(a)),
        lambda a, b: af.as_string(af.string_to_hash_bucket_fast(a, 10**6)),
        lambda a, b: af.reverse(a, [0]),
        lambda a, b: af.scatter_nd(af.expand_dims(af.range_(af.size(a)) // 2, 1), a, af.shape(a)),
        lambda a, b: af.py_func(lambda v: v[::-1].copy(), [a], af.string),
        lambda a, b: af.where(af.equal(a, a), a, a),
        lambda a, b: af.expand_dims(a, 0)[0],
        lambda a, b: af.reduce_join(af.stack([a, a], 0), 0, separator="|"),
    ]
    for _ in range(size):
        step = steps[int(rng.integers(len(steps)))]
        a, b = (vectors[int(rng.integers(len(vectors)))] for _ in range(2))
        made = af.reshape(step(a, b), [-1])[:50]
        vectors.append(made)
        yield made


async def test_random_graphs_give_the_same_with_packed_strings(seed: int) -> None:
    for attempt in range(12):
        rng = np.random.default_rng([seed, attempt])
        graph = af.Graph()
        with graph.as_default():
            x = af.placeholder(af.string, [None])
            vectors = list(grown(rng, x, int(rng.integers(2, 14))))
            seen = [vectors[i] for i in rng.permutation(len(vectors))[: int(rng.integers(0, 3))]]
            fetches = seen + [
                part
                for vector in vectors
                for part in (af.string_to_hash_bucket_strong(vector, 10**9, [1, 2]), af.strings.length(vector))
            ]
        feed = {x: tensor(words(rng, int(rng.integers(1, 9))))}
        results = []
        for options in (af.PlanOptions(), af.PlanOptions(optimize=False)):
            async with af.Session(graph=graph, options=options) as session:
                for _ in range(2):
                    results.append(await session.run(fetches, feed))
        for result in results[1:]:
            assert [part.tolist() for part in result] == [part.tolist() for part in results[0]], attempt


async def test_strings_are_packed_where_all_consumers_take_them() -> None:
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.string, [None])
        values = af.string_split(x, name="split").values
        low = af.strings.lower(values, name="low")
        picked = af.gather(low, [0, 0], name="picked")
        shown = af.strings.upper(values, name="shown")
        called = af.py_func(lambda v: v, [af.strings.upper(low, name="called")], af.string)
        fetches = [af.string_to_hash_bucket_fast(picked, 10), shown, called, af.strings.length(low, name="length")]
    marks: dict[str, Any] = {}

    def watch(report: Any) -> None:
        if report.name == "pack_strings":
            marks.update(
                {
                    n.name: sorted(n.attrs[PACKS])
                    for g in report.after.values()
                    for n in g.nodes.values()
                    if PACKS in n.attrs
                }
            )

    async with af.Session(graph=graph) as session:
        with watched(watch):
            result = await session.run(fetches, {x: tensor([b"Ab cD", b"E"])})
    assert result[1].tolist() == [b"AB", b"CD", b"E"]
    assert (marks["split"], marks["low"], marks["picked"]) == ([1], [0], [0])
    assert (marks["shown"], marks["called"], marks["length"]) == ([], [], [])


def test_a_graph_without_strings_is_left_as_it_is() -> None:
    graph = Subgraph({})
    assert pack_strings(graph) is graph


async def test_words_of_a_table_are_packed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    keys = tensor(sorted(set(words(rng, 60))))
    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.string, [None])
        content = af.constant(keys, af.string), af.constant(np.arange(len(keys)))
        of_words = af.lookup.StaticHashTable(af.lookup.KeyValueTensorInitializer(*content), -1)
        of_numbers = af.lookup.StaticHashTable(af.lookup.KeyValueTensorInitializer(*content[::-1]), "none")
        numbers_of = of_words.lookup(af.strings.lower(x))
        back = of_numbers.lookup(numbers_of)
        fetches = [numbers_of, af.strings.length(back), af.string_to_hash_bucket_strong(back, 10**9, [5, 6])]
        init = af.tables_initializer()
    feed = {x: tensor([*keys.tolist(), *words(rng, 30)])}
    results = []
    for options in (af.PlanOptions(), af.PlanOptions(optimize=False)):
        async with af.Session(graph=graph, options=options) as session:
            await session.run(init)
            results.append(await session.run(fetches, feed))
    assert [part.tolist() for part in results[0]] == [part.tolist() for part in results[1]]
