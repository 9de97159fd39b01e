"""`tensorflow.compat.v2`, as libraries use it that run on both versions: version 1's names, some with version 2's arguments.

A function of version 2 often has the arguments of version 1 in another order and without those that were deprecated: the
table has these. Namespaces that are something else in version 2, such as its metrics, are refused
when they are used.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import actorflow.compat.v1 as v1
from actorflow.compat.door import refused

_REDUCTIONS = "reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_sum"
_ORDERS: tuple[tuple[str, str, str], ...] = (
    ("", "a perm conjugate name", "transpose"),
    (
        "",
        "cond body loop_vars shape_invariants parallel_iterations back_prop swap_memory maximum_iterations name",
        "while_loop",
    ),
    ("", "condition x y name", "where"),
    ("", "input=tensor dtype name", "ones_like zeros_like"),
    ("", "input out_type name", "shape size"),
    ("", "params indices batch_dims name", "gather_nd"),
    ("", "params indices validate_indices axis batch_dims name", "gather"),
    ("", "pred true_fn false_fn name", "cond"),
    ("", "tensor mask axis name", "boolean_mask"),
    ("", "tensor paddings mode constant_values name", "pad"),
    ("", "tensors control_inputs name", "tuple"),
    ("", "value dtype dtype_hint=preferred_dtype name", "convert_to_tensor"),
    ("", "ys xs gate_gradients aggregation_method name", "hessians"),
    (
        "",
        "ys xs grad_ys name gate_gradients aggregation_method stop_gradients unconnected_gradients",
        "gradients",
    ),
    (" debugging", "x rank message name", "assert_rank"),
    (" debugging", "x y message summarize name", "assert_equal assert_greater assert_less"),
    (" math", "input axis output_type name", "argmax argmin"),
    (" math", "input_tensor axis keepdims name", _REDUCTIONS),
    ("debugging", "x message name", "assert_integer"),
    (
        "debugging",
        "x message summarize name",
        "assert_negative assert_non_negative assert_non_positive assert_positive",
    ),
    ("debugging", "x rank message name", "assert_rank_at_least"),
    ("debugging", "x ranks message name", "assert_rank_in"),
    ("debugging", "x y message summarize name", "assert_greater_equal assert_less_equal"),
    ("debugging", "x y rtol atol message summarize name", "assert_near"),
    ("debugging", "x y summarize message name", "assert_none_equal"),
    ("math", "input=input_tensor axis keepdims dtype name", "count_nonzero"),
    ("math", "labels predictions num_classes weights dtype name", "confusion_matrix"),
    ("math nn", "targets predictions k name", "in_top_k"),
    ("nn", "input filters strides padding data_format dilations name", "conv2d"),
    ("nn", "labels logits axis name", "softmax_cross_entropy_with_logits"),
    ("nn", "labels logits name", "sigmoid_cross_entropy_with_logits sparse_softmax_cross_entropy_with_logits"),
    ("nn", "labels logits pos_weight name", "weighted_cross_entropy_with_logits"),
    ("nn", "x axes frequency_weights keepdims name", "weighted_moments"),
    ("nn", "x axes shift keepdims name", "moments sufficient_statistics"),
    ("nn", "x rate noise_shape seed name", "dropout"),
    ("random", "shape lam dtype seed name", "poisson"),
)
"""Namespaces (the first may be `tf` itself, which is empty), version 2's arguments, and the functions that have them.

`input=tensor` says what version 1 calls an argument.
"""

ARGUMENTS: dict[str, tuple[str, ...]] = {
    f"{space}.{name}".lstrip("."): tuple(words.split())
    for spaces, words, names in _ORDERS
    for space in spaces.split(" ")
    for name in names.split()
}
"""The arguments of each function in version 2, in their order."""

_FIXED = {"cond": {"strict": True}, "while_loop": {"return_same_structure": True}}
"""Arguments of version 1 that version 2 always sets."""

_RENAMED = {"random.set_seed": "set_random_seed"}
"""Names of version 2 that version 1 has under another."""

CHANGED = {
    "contrib": "version 2 has none",
    "data": "its datasets have no iterators of version 1: take tf.compat.v1.data",
    "initializers": "its initializers are those of Keras: take tf.compat.v1.initializers",
    "estimator": "it takes optimizers of Keras: take tf.compat.v1.estimator",
    "losses": "its losses are those of Keras: take tf.compat.v1.losses",
    "metrics": "its metrics are objects of Keras: take tf.compat.v1.metrics",
    "optimizers": "its optimizers are those of Keras: take tf.compat.v1.train",
    "saved_model.load": "it makes objects: take tf.compat.v1.saved_model.load",
    "summary": "its summaries are written by the step itself: take tf.compat.v1.summary",
}
"""Names that are something else in version 2, each with what it is and what to do."""


class Second(ModuleType):
    """`tf.compat.v2`, or a namespace of it such as `tf.compat.v2.linalg`."""

    def __init__(self, path: str = "") -> None:
        super().__init__(f"tensorflow.compat.v2.{path}".rstrip("."), "Names of TensorFlow 1.15's `tf.compat.v2`.")
        self.__path__: list[str] = []
        self._space = path

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name)
        path = f"{self._space}.{name}".lstrip(".")
        if reason := CHANGED.get(path):
            return refused.RefusedModule(f"tensorflow.compat.v2.{path}", f"{reason}.")
        if path == "keras" and not hasattr(v1, "keras"):
            return refused.RefusedModule("tensorflow.keras", refused.reason("keras"))
        thing = _by_path(_RENAMED.get(path, path))
        if path in ARGUMENTS:
            thing = with_order(_where if path == "where" else thing, ARGUMENTS[path], _FIXED.get(path, {}))
        elif isinstance(thing, ModuleType) and name != "keras":
            thing = Second(path)
        setattr(self, name, thing)
        return thing

    def __dir__(self) -> list[str]:
        return sorted({*dir(_by_path(self._space)), *self.__dict__})


def with_order(function: Callable[..., Any], words: tuple[str, ...], fixed: dict[str, Any]) -> Callable[..., Any]:
    """`function` with the arguments `words` in their order, which are passed on by name, and those that are `fixed`."""
    names = dict(word.partition("=")[::2] for word in words)

    @functools.wraps(function)
    def ordered(*arguments: Any, **named: Any) -> Any:
        if len(arguments) > len(names):
            raise TypeError(
                f"{function.__name__}() takes {len(names)} arguments in version 2, and got {len(arguments)}"
            )
        values = dict(zip(names, arguments, strict=False))
        for name, value in named.items():
            if name in values or name not in names:
                which = "more than one value for" if name in values else "no"
                raise TypeError(f"{function.__name__}() of version 2 takes {which} argument {name!r}")
            values[name] = value
        return function(**{names[name] or name: value for name, value in values.items()}, **fixed)

    ordered.__signature__ = _signature(function, names)  # type: ignore[attr-defined]
    return ordered


def _signature(function: Callable[..., Any], names: dict[str, str]) -> inspect.Signature:
    """The arguments `names` with those defaults that `function` has for them."""
    before = inspect.signature(function).parameters
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    defaults = {name: False if name == "keepdims" else before[here or name].default for name, here in names.items()}
    return inspect.Signature([inspect.Parameter(name, kind, default=default) for name, default in defaults.items()])


def _where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    if x is None and y is None:
        return v1.where(condition, name=name)
    return v1.where_v2(condition, x, y, name=name)


def _by_path(path: str) -> Any:
    thing: Any = v1
    for part in filter(None, path.split(".")):
        thing = getattr(thing, part)
    return thing
