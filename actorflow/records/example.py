"""`Example` and `SequenceExample`: named lists of bytes, floats or integers (`tf.train.Example` and its parts).

The classes have the fields and methods of the Protocol Buffers of those names that programs use, and give and take the
same bytes. Messages are written with the names in order, so equal messages give equal bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Generic, Self, TypeVar

from actorflow.dtypes import DType, float32, int64, string
from actorflow.public import public
from actorflow.records.features import (
    as_bytes,
    read_example,
    read_feature,
    read_sequence_example,
    write_feature,
)
from actorflow.records.wire import write_field

V = TypeVar("V")


class _Message:
    """The common part of all messages."""

    __slots__: tuple[str, ...] = ()

    def SerializeToString(self, deterministic: bool = True) -> bytes:
        """The message in the wire format; always the same bytes for the same message."""
        raise NotImplementedError

    def ParseFromString(self, serialized: bytes) -> int:
        """Makes this the message that `serialized` holds, and returns the number of bytes.

        Raises:
            InvalidArgumentError: the bytes are no such message.
        """
        raise NotImplementedError

    @classmethod
    def FromString(cls, serialized: bytes) -> Self:
        """The message that `serialized` holds. Raises InvalidArgumentError where it holds none."""
        message = cls()
        message.ParseFromString(serialized)
        return message

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__slots__)})"


class _Values(_Message):
    """A list of one element type in `value`."""

    __slots__ = ("value",)
    dtype: ClassVar[DType]

    def __init__(self, value: Iterable[Any] = ()) -> None:
        self.value: list[Any] = list(value)

    def __bool__(self) -> bool:
        return True


@public("af.train")
class BytesList(_Values):
    """Byte strings (`tf.train.BytesList`).

    Example:
        >>> af.train.BytesList(value=[b"one", b"two"]).value
        [b'one', b'two']
    """

    __slots__ = ()
    dtype = string


@public("af.train")
class FloatList(_Values):
    """Floats, stored in 32 bits (`tf.train.FloatList`).

    Example:
        >>> af.train.FloatList(value=[0.5, 1.0]).value
        [0.5, 1.0]
    """

    __slots__ = ()
    dtype = float32


@public("af.train")
class Int64List(_Values):
    """Integers of 64 bits (`tf.train.Int64List`).

    Example:
        >>> af.train.Int64List(value=range(3)).value
        [0, 1, 2]
    """

    __slots__ = ()
    dtype = int64


_LISTS: dict[DType, tuple[str, type[_Values]]] = {
    string: ("bytes_list", BytesList),
    float32: ("float_list", FloatList),
    int64: ("int64_list", Int64List),
}


@public("af.train")
class Feature(_Message):
    """One list of one of three kinds, or none (`tf.train.Feature`).

    Reading `bytes_list`, `float_list` or `int64_list` gives that list, if need be a fresh and empty one that becomes the
    feature's as soon as it has a value. At most one argument may be given.

    Example:
        >>> feature = af.train.Feature(float_list=af.train.FloatList(value=[0.5]))
        >>> feature.WhichOneof("kind"), feature.float_list.value
        ('float_list', [0.5])
    """

    __slots__ = ("_lists",)

    def __init__(
        self,
        bytes_list: BytesList | None = None,
        float_list: FloatList | None = None,
        int64_list: Int64List | None = None,
    ) -> None:
        """
        Args:
            bytes_list, float_list, int64_list: the values, of one kind at most.

        Raises:
            ValueError: more than one list is given.
        """
        given = {v.dtype: v for v in (bytes_list, float_list, int64_list) if v is not None}
        if len(given) > 1:
            raise ValueError("A feature has one list: of bytes, of floats or of integers.")
        self._lists: dict[DType, _Values] = dict(given)

    bytes_list = property(lambda self: self._list(string))
    float_list = property(lambda self: self._list(float32))
    int64_list = property(lambda self: self._list(int64))

    def _list(self, dtype: DType) -> Any:
        return self._lists.setdefault(dtype, _LISTS[dtype][1]())

    def _kept(self) -> _Values | None:
        """The list that the feature holds: the one with values, else the one that it was made with."""
        filled = [values for values in self._lists.values() if values.value]
        if len(filled) > 1:
            raise ValueError(f"A feature has one list, but this has {[type(v).__name__ for v in filled]}.")
        return filled[0] if filled else next(iter(self._lists.values()), None)

    def WhichOneof(self, group: str = "kind") -> str | None:
        """The name of the list that the feature holds: bytes_list, float_list, int64_list or None."""
        kept = self._kept()
        return None if kept is None else _LISTS[kept.dtype][0]

    def SerializeToString(self, deterministic: bool = True) -> bytes:
        """The message in protobuf's format.

        Example:
            >>> feature = af.train.Feature(int64_list=af.train.Int64List(value=[7]))
            >>> feature.SerializeToString()
            b'\\x1a\\x03\\n\\x01\\x07'
        """
        kept = self._kept()
        if kept is None:
            return b""
        values = [as_bytes(v) for v in kept.value] if kept.dtype is string else kept.value
        return write_feature(kept.dtype, values)

    def ParseFromString(self, serialized: bytes) -> int:
        """Takes the content of a message in protobuf's format; gives its length.

        Example:
            >>> feature = af.train.Feature()
            >>> _ = feature.ParseFromString(af.train.Feature(int64_list=af.train.Int64List(value=[7])).SerializeToString())
            >>> feature.int64_list.value
            [7]
        """
        found = read_feature(serialized)
        self._lists = {}
        if found is not None:
            self._lists[found[0]] = _LISTS[found[0]][1](found[1].tolist())
        return len(serialized)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Feature) and self._kept() == other._kept()

    def __repr__(self) -> str:
        return f"Feature({self._kept() or ''})"


class _Named(dict[str, V], Generic[V]):
    """A map that makes what is looked up and not there, as maps of messages do."""

    def __init__(self, kind: type[V], content: Mapping[str, V] | None = None) -> None:
        super().__init__(content or {})
        self._kind = kind

    def __missing__(self, name: str) -> V:
        made = self[name] = self._kind()
        return made


def _write_map(content: Mapping[str, Any]) -> bytes:
    entries = sorted((as_bytes(name), message.SerializeToString()) for name, message in content.items())
    return b"".join([write_field(1, write_field(1, name) + write_field(2, body)) for name, body in entries])


@public("af.train")
class Features(_Message):
    """Features by name (`tf.train.Features`); `features.feature["x"]` makes what is not there.

    Example:
        >>> features = af.train.Features()
        >>> features.feature["age"].int64_list.value.append(7)
        >>> features.feature["name"].bytes_list.value.append(b"Ada")
        >>> sorted(features.feature)
        ['age', 'name']
    """

    __slots__ = ("feature",)

    def __init__(self, feature: Mapping[str, Feature] | None = None) -> None:
        self.feature: dict[str, Feature] = _Named(Feature, feature)

    def SerializeToString(self, deterministic: bool = True) -> bytes:
        """The message in protobuf's format, the features in the order of their names.

        Example:
            >>> features = af.train.Features()
            >>> features.feature["x"].int64_list.value.append(7)
            >>> features.SerializeToString()
            b'\\n\\n\\n\\x01x\\x12\\x05\\x1a\\x03\\n\\x01\\x07'
        """
        return _write_map(self.feature)


@public("af.train")
class FeatureList(_Message):
    """A list of features (`tf.train.FeatureList`).

    Example:
        >>> steps = [af.train.Feature(int64_list=af.train.Int64List(value=[n])) for n in (1, 2)]
        >>> len(af.train.FeatureList(feature=steps).feature)
        2
    """

    __slots__ = ("feature",)

    def __init__(self, feature: Iterable[Feature] = ()) -> None:
        self.feature: list[Feature] = list(feature)

    def SerializeToString(self, deterministic: bool = True) -> bytes:
        """The message in protobuf's format.

        Example:
            >>> one = af.train.Feature(int64_list=af.train.Int64List(value=[7]))
            >>> len(af.train.FeatureList(feature=[one, one]).SerializeToString())
            14
        """
        return b"".join([write_field(1, feature.SerializeToString()) for feature in self.feature])


@public("af.train")
class FeatureLists(_Message):
    """Lists of features by name (`tf.train.FeatureLists`).

    Example:
        >>> lists = af.train.FeatureLists()
        >>> lists.feature_list["words"].feature.append(af.train.Feature(bytes_list=af.train.BytesList(value=[b"a"])))
        >>> list(lists.feature_list)
        ['words']
    """

    __slots__ = ("feature_list",)

    def __init__(self, feature_list: Mapping[str, FeatureList] | None = None) -> None:
        self.feature_list: dict[str, FeatureList] = _Named(FeatureList, feature_list)

    def SerializeToString(self, deterministic: bool = True) -> bytes:
        """The message in protobuf's format, the lists in the order of their names.

        Example:
            >>> lists = af.train.FeatureLists()
            >>> lists.feature_list["words"].feature.append(af.train.Feature(bytes_list=af.train.BytesList(value=[b"a"])))
            >>> lists.SerializeToString()
            b'\\n\\x10\\n\\x05words\\x12\\x07\\n\\x05\\n\\x03\\n\\x01a'
        """
        return _write_map(self.feature_list)


@public("af.train")
class Example(_Message):
    """One example of a data set: features by name (`tf.train.Example`).

    Example:
        >>> example = af.train.Example()
        >>> example.features.feature["age"].int64_list.value.append(7)
        >>> message = example.SerializeToString()
        >>> af.train.Example.FromString(message).features.feature["age"].int64_list.value
        [7]
    """

    __slots__ = ("features",)

    def __init__(self, features: Features | None = None) -> None:
        self.features = Features() if features is None else features

    def SerializeToString(self, deterministic: bool = True) -> bytes:
        return write_field(1, body) if (body := self.features.SerializeToString()) else b""

    def ParseFromString(self, serialized: bytes) -> int:
        """Takes the content of a message in protobuf's format; gives its length.

        Example:
            >>> written = af.train.Example()
            >>> written.features.feature["age"].int64_list.value.append(7)
            >>> example = af.train.Example()
            >>> _ = example.ParseFromString(written.SerializeToString())
            >>> example.features.feature["age"].int64_list.value
            [7]
        """
        self.features = _features(read_example(serialized))
        return len(serialized)


@public("af.train")
class SequenceExample(_Message):
    """One example with sequences: a context of features, and lists of features (`tf.train.SequenceExample`).

    Example:
        >>> example = af.train.SequenceExample()
        >>> example.context.feature["id"].int64_list.value.append(5)
        >>> words = example.feature_lists.feature_list["words"].feature
        >>> words.append(af.train.Feature(bytes_list=af.train.BytesList(value=[b"a", b"b"])))
        >>> [feature.bytes_list.value for feature in words]
        [[b'a', b'b']]
    """

    __slots__ = ("context", "feature_lists")

    def __init__(self, context: Features | None = None, feature_lists: FeatureLists | None = None) -> None:
        self.context = Features() if context is None else context
        self.feature_lists = FeatureLists() if feature_lists is None else feature_lists

    def SerializeToString(self, deterministic: bool = True) -> bytes:
        """The message in protobuf's format.

        Example:
            >>> example = af.train.SequenceExample()
            >>> example.context.feature["id"].int64_list.value.append(5)
            >>> af.train.SequenceExample.FromString(example.SerializeToString()).context.feature["id"].int64_list.value
            [5]
        """
        parts = self.context.SerializeToString(), self.feature_lists.SerializeToString()
        return b"".join([write_field(number, body) for number, body in enumerate(parts, 1) if body])

    def ParseFromString(self, serialized: bytes) -> int:
        """Takes the content of a message in protobuf's format; gives its length.

        Example:
            >>> written = af.train.SequenceExample()
            >>> written.context.feature["id"].int64_list.value.append(5)
            >>> example = af.train.SequenceExample()
            >>> _ = example.ParseFromString(written.SerializeToString())
            >>> example.context.feature["id"].int64_list.value
            [5]
        """
        context, lists = read_sequence_example(serialized)
        self.context = _features(context)
        self.feature_lists = FeatureLists(
            {name.decode(): FeatureList(map(Feature.FromString, items)) for name, items in lists.items()}
        )
        return len(serialized)


def _features(found: Mapping[bytes, bytes]) -> Features:
    return Features({name.decode(): Feature.FromString(body) for name, body in found.items()})
