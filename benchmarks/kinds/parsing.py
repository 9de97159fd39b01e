"""Examples of TFRecord files and raw bytes, as tensors: dense and sparse features of each type, several at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.harness.definitions import Case
from benchmarks.models.blocks import BATCHES, Model, Parts, model

RUNGS = ((1, 4), (16, 10), (128, 30), (1000, 30), (2000, 50))
"""Examples, and elements of a feature of each."""


def _features(m: Model, count: int, feature: Callable[[int], dict[str, Any]]) -> list[Any]:
    """Serialized examples, a vector for each batch. `feature` makes those of the example with a number."""
    lib, np = m.lib, m.np
    made = []
    for _ in range(BATCHES):
        examples = [lib.train.Example(features=lib.train.Features(feature=feature(i))) for i in range(count)]
        made.append(np.array([example.SerializeToString() for example in examples], object))
    return made


def _parsed(m: Model, count: int, feature: Callable[[int], dict[str, Any]], wanted: dict[str, Any]) -> Parts:
    lib = m.lib
    x = lib.placeholder(lib.string, [count])
    tensors = lib.io.parse_example(x, wanted)
    results: list[Any] = []
    for name in sorted(tensors):
        tensor = tensors[name]
        if isinstance(tensor, lib.SparseTensor):
            results += [tensor.indices, tensor.dense_shape]
            tensor = tensor.values
        results.append(lib.strings.length(tensor) if tensor.dtype == lib.string else tensor)
    return (x,), (_features(m, count, feature),), results, None


def _floats(m: Model, size: int) -> Any:
    return m.lib.train.Feature(float_list=m.lib.train.FloatList(value=m.data.normal(size=size)))


def _ints(m: Model, size: int) -> Any:
    return m.lib.train.Feature(int64_list=m.lib.train.Int64List(value=m.data.integers(0, 10**6, size)))


def _strings(m: Model, size: int) -> Any:
    words = [b"Word%d" % number for number in m.data.integers(0, 5000, size)]
    return m.lib.train.Feature(bytes_list=m.lib.train.BytesList(value=words))


def floats(m: Model, examples: int, each: int) -> Parts:
    """One dense feature of floats."""
    return _parsed(
        m, examples, lambda _: {"x": _floats(m, each)}, {"x": m.lib.io.FixedLenFeature([each], m.lib.float32)}
    )


def ints(m: Model, examples: int, each: int) -> Parts:
    """One dense feature of whole numbers."""
    return _parsed(m, examples, lambda _: {"x": _ints(m, each)}, {"x": m.lib.io.FixedLenFeature([each], m.lib.int64)})


def words(m: Model, examples: int, each: int) -> Parts:
    """One dense feature of strings."""
    return _parsed(
        m, examples, lambda _: {"x": _strings(m, each)}, {"x": m.lib.io.FixedLenFeature([each], m.lib.string)}
    )


def scalars(m: Model, examples: int, each: int) -> Parts:
    """Many dense features of one element: floats, whole numbers and strings in turns. Some features have a default."""
    lib, count = m.lib, max(3, each // 3)
    kinds = ((_floats, lib.float32, 0.5), (_ints, lib.int64, 7), (_strings, lib.string, b"none"))

    def feature(number: int) -> dict[str, Any]:
        return {f"f{k}": kinds[k % 3][0](m, 1) for k in range(count) if k % 5 or number % 2}

    wanted = {f"f{k}": lib.io.FixedLenFeature([], kinds[k % 3][1], kinds[k % 3][2]) for k in range(count)}
    return _parsed(m, examples, feature, wanted)


def lists(m: Model, examples: int, each: int) -> Parts:
    """Sparse features of each type, of different lengths."""
    lib = m.lib

    def feature(number: int) -> dict[str, Any]:
        sizes = m.data.integers(0, each + 1, 3)
        return {"a": _floats(m, sizes[0]), "b": _ints(m, sizes[1]), "c": _strings(m, sizes[2])}

    types = {"a": lib.float32, "b": lib.int64, "c": lib.string}
    return _parsed(m, examples, feature, {name: lib.io.VarLenFeature(kind) for name, kind in types.items()})


def padded(m: Model, examples: int, each: int) -> Parts:
    """Sequences of floats of different lengths, filled up with a number."""
    wanted = {"x": m.lib.io.FixedLenSequenceFeature([], m.lib.float32, allow_missing=True, default_value=-1.0)}
    return _parsed(m, examples, lambda _: {"x": _floats(m, int(m.data.integers(0, each + 1)))}, wanted)


def mixed(m: Model, examples: int, each: int) -> Parts:
    """An image of bytes, a label, a vector of floats and a list of ids."""
    lib = m.lib

    def feature(number: int) -> dict[str, Any]:
        image = lib.train.Feature(bytes_list=lib.train.BytesList(value=[m.data.bytes(each * 10)]))
        return {"i": image, "l": _ints(m, 1), "v": _floats(m, each), "w": _ints(m, int(m.data.integers(0, each + 1)))}

    wanted = {
        "i": lib.io.FixedLenFeature([], lib.string),
        "l": lib.io.FixedLenFeature([], lib.int64),
        "v": lib.io.FixedLenFeature([each], lib.float32),
        "w": lib.io.VarLenFeature(lib.int64),
    }
    return _parsed(m, examples, feature, wanted)


def raw(m: Model, examples: int, each: int) -> Parts:
    """Vectors of float32 of raw bytes, and of uint8 as floats."""
    lib, np = m.lib, m.np
    x = lib.placeholder(lib.string, [examples])
    batches = [
        np.array([m.data.normal(size=each).astype(np.float32).tobytes() for _ in range(examples)], object)
        for _ in range(BATCHES)
    ]
    return (x,), (batches,), [lib.decode_raw(x, lib.int32), lib.cast(lib.decode_raw(x, lib.uint8), lib.float32)], None


PROGRAMS: tuple[Callable[..., Parts], ...] = (floats, ints, words, scalars, lists, padded, mixed, raw)
CASES = tuple(
    Case(
        f"{program.__name__}_{examples}x{each}",
        f"{program.__name__}: {examples} examples of {each}",
        model(program, examples=examples, each=each),
    )
    for program in PROGRAMS
    for examples, each in RUNGS
)
