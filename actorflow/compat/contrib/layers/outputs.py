"""Collections of outputs by their names, and what the functions of layers have in common."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from typing import Any

import actorflow.compat.v1 as tf
from actorflow.compat.contrib.framework.variables import model_variable

_aliases: weakref.WeakKeyDictionary[Any, list[str]] = weakref.WeakKeyDictionary()


def append_tensor_alias(tensor: Any, alias: str) -> Any:
    """Gives a tensor one more name, and gives the tensor."""
    _aliases.setdefault(tensor, []).append(alias.rstrip("/"))
    return tensor


def get_tensor_aliases(tensor: Any) -> list[str]:
    """The further names of a tensor; its own name for a tensor without further names."""
    return list(_aliases.get(tensor) or [tensor.name.removesuffix(":0")])


def collect_named_outputs(collections: Any, alias: str, outputs: Any) -> Any:
    """Puts `outputs` into collections under a name, and gives it back."""
    if collections:
        append_tensor_alias(outputs, alias)
        tf.add_to_collections(collections, outputs)
    return outputs


def convert_collection_to_dict(collection: Any, clear_collection: bool = False) -> OrderedDict[str, Any]:
    """The tensors of a collection by their names."""
    named = OrderedDict((alias, each) for each in tf.get_collection(collection) for alias in get_tensor_aliases(each))
    if clear_collection:
        tf.get_default_graph().clear_collection(collection)
    return named


def made(
    name: str,
    shape: Any,
    dtype: Any,
    initializer: Any,
    regularizer: Any = None,
    collections: Any = None,
    trainable: bool = True,
) -> Any:
    """A variable of a layer. `collections` is a list for all, or a dictionary by the name."""
    chosen = collections.get(name) if isinstance(collections, dict) else collections
    return model_variable(
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        collections=[chosen] if isinstance(chosen, str) else chosen,
        trainable=trainable,
    )


def finished(scope: Any, outputs: Any, activation_fn: Any, collections: Any) -> Any:
    """The outputs of a layer behind its activation, in collections."""
    if activation_fn is not None:
        outputs = activation_fn(outputs)
    return collect_named_outputs(collections, scope.original_name_scope, outputs)


def normalized(
    outputs: Any,
    count: int,
    normalizer_fn: Any,
    normalizer_params: Any,
    biases_initializer: Any,
    biases_regularizer: Any,
    collections: Any,
    trainable: bool,
    data_format: str | None = None,
) -> Any:
    """The outputs of a layer behind its normalizer, or with its biases."""
    if normalizer_fn is not None:
        return normalizer_fn(outputs, **(normalizer_params or {}))
    if biases_initializer is None:
        return outputs
    dtype = outputs.dtype.base_dtype
    biases = made("biases", [count], dtype, biases_initializer, biases_regularizer, collections, trainable)
    rank = outputs.shape.ndims
    if data_format is not None and data_format.startswith("NC"):
        return outputs + tf.reshape(biases, [1, count, *[1] * (rank - 2)])
    return tf.nn.bias_add(outputs, biases)


def channels(inputs: Any, axis: int, layer: str) -> int:
    """The known size of the dimension of channels. Raises ValueError for an unknown size."""
    sizes = inputs.shape.as_list() if inputs.shape.ndims is not None else None
    if sizes is None or sizes[axis] is None:
        raise ValueError(f"The channel dimension of the inputs to `{layer}` should be defined. Found `None`.")
    return int(sizes[axis])
