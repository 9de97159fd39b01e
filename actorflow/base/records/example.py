"""`Example` and `SequenceExample`: named lists of bytes, floats or integers (`tf.train.Example` and its parts).

The classes have the fields and methods of the Protocol Buffers of those names, and give and take the same bytes. A list keeps the
values that it is given, or refuses them. Messages are written with the names in order, so equal messages give equal bytes.
"""

from __future__ import annotations

from typing import ClassVar

from actorflow.base.records.messages.message import Message
from actorflow.base.records.messages.values import Field
from actorflow.public import public


@public("af.train")
class BytesList(Message):
    """Byte strings (`tf.train.BytesList`).

    Example:
        >>> af.train.BytesList(value=[b"one", b"two"]).value
        [b'one', b'two']
    """

    FIELDS: ClassVar[dict[str, Field]] = {"value": Field(1, "bytes", repeated=True, encodes=False)}


@public("af.train")
class FloatList(Message):
    """Floats, stored in 32 bits (`tf.train.FloatList`).

    Example:
        >>> af.train.FloatList(value=[0.5, 1.0]).value
        [0.5, 1.0]
    """

    FIELDS: ClassVar[dict[str, Field]] = {"value": Field(1, "float", repeated=True)}


@public("af.train")
class Int64List(Message):
    """Integers of 64 bits (`tf.train.Int64List`).

    Example:
        >>> af.train.Int64List(value=range(3)).value
        [0, 1, 2]
    """

    FIELDS: ClassVar[dict[str, Field]] = {"value": Field(1, "int", repeated=True)}


@public("af.train")
class Feature(Message):
    """One list of one of three kinds, or none (`tf.train.Feature`).

    Reading `bytes_list`, `float_list` or `int64_list` gives that list. A fresh and empty list becomes the feature's as soon as
    it has a value. At most one argument may be given.

    Example:
        >>> feature = af.train.Feature(float_list=af.train.FloatList(value=[0.5]))
        >>> feature.WhichOneof("kind"), feature.float_list.value
        ('float_list', [0.5])
    """

    FIELDS: ClassVar[dict[str, Field]] = {
        "bytes_list": Field(1, BytesList, oneof="kind"),
        "float_list": Field(2, FloatList, oneof="kind"),
        "int64_list": Field(3, Int64List, oneof="kind"),
    }


@public("af.train")
class Features(Message):
    """Features by name (`tf.train.Features`); `features.feature["x"]` makes what is not there.

    Example:
        >>> features = af.train.Features()
        >>> features.feature["age"].int64_list.value.append(7)
        >>> features.feature["name"].bytes_list.value.append(b"Ada")
        >>> sorted(features.feature)
        ['age', 'name']
    """

    FIELDS: ClassVar[dict[str, Field]] = {"feature": Field(1, Feature, key="string")}


@public("af.train")
class FeatureList(Message):
    """A list of features (`tf.train.FeatureList`).

    Example:
        >>> steps = [af.train.Feature(int64_list=af.train.Int64List(value=[n])) for n in (1, 2)]
        >>> len(af.train.FeatureList(feature=steps).feature)
        2
    """

    FIELDS: ClassVar[dict[str, Field]] = {"feature": Field(1, Feature, repeated=True)}


@public("af.train")
class FeatureLists(Message):
    """Lists of features by name (`tf.train.FeatureLists`).

    Example:
        >>> lists = af.train.FeatureLists()
        >>> lists.feature_list["words"].feature.append(af.train.Feature(bytes_list=af.train.BytesList(value=[b"a"])))
        >>> list(lists.feature_list)
        ['words']
    """

    FIELDS: ClassVar[dict[str, Field]] = {"feature_list": Field(1, FeatureList, key="string")}


@public("af.train")
class Example(Message):
    """One example of a data set: features by name (`tf.train.Example`).

    Example:
        >>> example = af.train.Example()
        >>> example.features.feature["age"].int64_list.value.append(7)
        >>> message = example.SerializeToString()
        >>> af.train.Example.FromString(message).features.feature["age"].int64_list.value
        [7]
    """

    FIELDS: ClassVar[dict[str, Field]] = {"features": Field(1, Features)}


@public("af.train")
class SequenceExample(Message):
    """One example with sequences: a context of features, and lists of features (`tf.train.SequenceExample`).

    Example:
        >>> example = af.train.SequenceExample()
        >>> example.context.feature["id"].int64_list.value.append(5)
        >>> words = example.feature_lists.feature_list["words"].feature
        >>> words.append(af.train.Feature(bytes_list=af.train.BytesList(value=[b"a", b"b"])))
        >>> [feature.bytes_list.value for feature in words]
        [[b'a', b'b']]
    """

    FIELDS: ClassVar[dict[str, Field]] = {
        "context": Field(1, Features),
        "feature_lists": Field(2, FeatureLists),
    }
