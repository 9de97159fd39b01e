"""`tensorflow.compat.v2`, as libraries use it that run on both versions: version 1's names, some with version 2's arguments.

A function of version 2 often has the arguments of version 1 in another order and without those that were deprecated: the
table has these. Functions whose values differ have version 2's values: embeddings are divided by ranges, pixels have
their centers in the middle, and split texts are ragged. Namespaces that are something else in version 2, such as its
metrics, are refused when they are used.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import actorflow.compat.v1 as v1
from actorflow.compat.door import refused
from actorflow.graph.ops.image.resizing import resized

_REDUCTIONS = "reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_sum"
_SAFE = "safe_embedding_lookup_sparse"
_SAMPLED = "weights biases labels inputs num_sampled num_classes num_true sampled_values remove_accidental_hits"
_ORDERS: tuple[tuple[str, str, str], ...] = (
    ("", "a perm conjugate name", "transpose"),
    (
        "",
        "cond body loop_vars shape_invariants parallel_iterations back_prop swap_memory maximum_iterations name",
        "while_loop",
    ),
    ("", "device_name=device_name_or_function", "device"),
    ("", "input=tensor dtype name", "ones_like zeros_like"),
    ("", "input out_type name", "shape size"),
    ("", "mean stddev seed", "random_normal_initializer"),
    ("", "minval maxval seed", "random_uniform_initializer"),
    ("", "name", "name_scope"),
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
    (" nn", "input block_shape paddings name", "space_to_batch"),
    ("", "input block_shape crops name", "batch_to_space"),
    (" debugging", "x rank message name", "assert_rank"),
    (" debugging", "x y message summarize name", "assert_equal assert_greater assert_less"),
    (" math", "input axis output_type name", "argmax argmin"),
    (" math", "input_tensor axis keepdims name", _REDUCTIONS),
    ("autograph", "entity recursive experimental_optional_features", "to_code to_graph"),
    ("debugging", "tensor message name", "assert_scalar"),
    ("debugging", "x message name", "assert_all_finite assert_integer"),
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
    (
        "feature_column",
        "key vocabulary_file vocabulary_size dtype default_value num_oov_buckets",
        "categorical_column_with_vocabulary_file",
    ),
    ("image", "image boxes box_indices crop_size method extrapolation_value name", "crop_and_resize"),
    ("image", "images boxes colors name", "draw_bounding_boxes"),
    ("image", "input size offsets centered normalized noise name", "extract_glimpse"),
    (
        "image",
        "image_size bounding_boxes seed min_object_covered aspect_ratio_range area_range max_attempts "
        "use_image_if_no_bounding_boxes name",
        "sample_distorted_bounding_box",
    ),
    ("io", "records record_defaults field_delim use_quote_delim na_value select_cols name", "decode_csv"),
    ("io", "input_bytes out_type little_endian fixed_length name", "decode_raw"),
    ("io", "serialized features example_names name", "parse_example parse_single_example"),
    ("io", "sp_input out_type name", "serialize_many_sparse serialize_sparse"),
    ("math", "input=input_tensor axis keepdims dtype name", "count_nonzero"),
    ("math", "labels predictions num_classes weights dtype name", "confusion_matrix"),
    ("math nn", "targets predictions k name", "in_top_k"),
    ("nn", "embedding_weights sparse_ids sparse_weights combiner default_id max_norm name", _SAFE),
    ("nn", "features axis name", "crelu"),
    ("nn", "input block_size data_format name", "depth_to_space space_to_depth"),
    ("nn", "input depthwise_filter pointwise_filter strides padding data_format dilations name", "separable_conv2d"),
    ("nn", "input filter strides padding data_format dilations name", "depthwise_conv2d"),
    ("nn", "input filters stride padding data_format dilations name", "conv1d"),
    ("nn", "input filters strides padding data_format dilations name", "conv2d conv3d dilation2d"),
    ("nn", "input filters=filter strides padding data_format dilations name", "convolution"),
    ("nn", "input ksize strides padding data_format name", "avg_pool max_pool"),
    (
        "nn",
        "input ksize strides padding data_format output_dtype include_batch_in_index name",
        "max_pool_with_argmax",
    ),
    (
        "nn",
        "input mean variance beta gamma variance_epsilon scale_after_normalization name",
        "batch_norm_with_global_normalization",
    ),
    ("nn", "input window_shape pooling_type strides padding data_format dilations name", "pool"),
    (
        "nn",
        "input=value filters output_shape strides padding data_format dilations name",
        "conv2d_transpose conv3d_transpose",
    ),
    ("nn", "input=value ksize strides padding data_format name", "avg_pool2d"),
    ("nn", "inputs sequence_length beam_width top_paths", "ctc_beam_search_decoder"),
    ("nn", "params ids max_norm name", "embedding_lookup"),
    ("nn", "params sp_ids sp_weights combiner max_norm name", "embedding_lookup_sparse"),
    ("nn", "value filters=kernel strides padding data_format dilations=rates name", "erosion2d"),
    ("nn", "value pooling_ratio pseudo_random overlapping seed name", "fractional_avg_pool fractional_max_pool"),
    ("nn", f"{_SAMPLED} name", "nce_loss"),
    ("nn", f"{_SAMPLED} seed name", "sampled_softmax_loss"),
    ("nn", "labels logits axis name", "softmax_cross_entropy_with_logits"),
    ("nn", "labels logits name", "sigmoid_cross_entropy_with_logits sparse_softmax_cross_entropy_with_logits"),
    ("nn", "labels logits pos_weight name", "weighted_cross_entropy_with_logits"),
    ("nn", "x axes frequency_weights keepdims name", "weighted_moments"),
    ("nn", "x axes shift keepdims name", "moments sufficient_statistics"),
    ("nn", "x rate noise_shape seed name", "dropout"),
    ("random", "shape lam dtype seed name", "poisson"),
    ("sparse", "axis sp_inputs expand_nonconcat_dims name", "concat"),
    ("sparse", "data indices segment_ids num_segments name", "segment_mean segment_sqrt_n segment_sum"),
    ("sparse", "sp_input axis keepdims output_is_sparse name", "reduce_max reduce_sum"),
    ("sparse", "sp_input num_split axis name", "split"),
    ("strings", "input num_buckets name", "to_hash_bucket"),
    ("strings", "input out_type name", "to_number"),
    ("strings", "input pos len unit name", "substr"),
    ("strings", "input unit name", "length"),
    ("strings", "inputs axis keepdims separator name", "reduce_join"),
    ("test", "expected actual", "assert_equal_graph_def"),
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

_BY_RANGES = {"partition_strategy": "div"}
_FIXED: dict[str, dict[str, Any]] = {
    "cond": {"strict": True},
    "nn.convolution": {"padding": "VALID"},
    "nn.ctc_beam_search_decoder": {"merge_repeated": False},
    "nn.embedding_lookup": _BY_RANGES,
    "nn.embedding_lookup_sparse": _BY_RANGES,
    "nn.nce_loss": _BY_RANGES,
    "nn.pool": {"padding": "VALID"},
    "nn.sampled_softmax_loss": _BY_RANGES,
    "random_normal_initializer": {"stddev": 0.05},
    "random_uniform_initializer": {"minval": -0.05, "maxval": 0.05},
    "test.assert_equal_graph_def": {"checkpoint_v2": True, "hash_table_shared_name": True},
    "while_loop": {"return_same_structure": True},
}
"""Arguments of version 1 that version 2 always sets, and the defaults that differ in version 2."""

_SINGLE: dict[str, dict[str, Any]] = {
    "image.extract_glimpse": {"noise": "uniform"},
    "io.decode_raw": {"fixed_length": None},
    "nn.dilation2d": {"data_format": "NHWC"},
    "nn.erosion2d": {"data_format": "NHWC"},
    "nn.fractional_avg_pool": {"seed": 0},
    "nn.fractional_max_pool": {"seed": 0},
    "sparse.reduce_max": {"output_is_sparse": False},
    "sparse.reduce_sum": {"output_is_sparse": False},
}
"""Arguments that version 1 has not, each with the value that means what version 1 does. Any other value is refused."""

_RENAMED = {
    "nn.avg_pool": "nn.avg_pool_v2",
    "nn.ctc_loss": "nn.ctc_loss_v2",
    "nn.max_pool": "nn.max_pool_v2",
    "nn.softmax_cross_entropy_with_logits": "nn.softmax_cross_entropy_with_logits_v2",
    "random.set_seed": "set_random_seed",
}
"""Names of version 2 that version 1 has under another."""

CHANGED = {
    "contrib": "version 2 has none",
    "data": "its datasets have no iterators of version 1: take tf.compat.v1.data",
    "initializers": "its initializers are those of Keras: take tf.compat.v1.initializers",
    "image.resize_with_pad": "its pixels have their centers elsewhere: take tf.compat.v1.image.resize_with_pad",
    "estimator": "it takes optimizers of Keras: take tf.compat.v1.estimator",
    "losses": "its losses are those of Keras: take tf.compat.v1.losses",
    "metrics": "its metrics are objects of Keras: take tf.compat.v1.metrics",
    "optimizers": "its optimizers are those of Keras: take tf.compat.v1.train",
    "saved_model.load": "it makes objects: take tf.compat.v1.saved_model.load",
    "summary": "its summaries are written by the step itself: take tf.compat.v1.summary",
    "test.compute_gradient": "it takes a function in place of a graph: take tf.compat.v1.test.compute_gradient",
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
            module = refused.RefusedModule(f"tensorflow.compat.v2.{path}", f"{reason}.")
            for own, value in _OWN.items():
                if own.startswith(f"{path}."):
                    setattr(module, own.removeprefix(f"{path}."), value)
            setattr(self, name, module)
            return module
        if path == "keras" and not hasattr(v1, "keras"):
            return refused.RefusedModule("tensorflow.keras", refused.reason("keras"))
        thing = _OWN.get(path) or _by_path(_RENAMED.get(path, path))
        if path in ARGUMENTS:
            thing = with_order(thing, ARGUMENTS[path], _FIXED.get(path, {}), _SINGLE.get(path, {}))
        elif isinstance(thing, ModuleType) and name != "keras":
            thing = Second(path)
        setattr(self, name, thing)
        return thing

    def __dir__(self) -> list[str]:
        return sorted({*dir(_by_path(self._space)), *self.__dict__})


def with_order(
    function: Callable[..., Any], words: tuple[str, ...], fixed: dict[str, Any], single: dict[str, Any]
) -> Callable[..., Any]:
    """`function` with the arguments `words` in their order, which are passed on by name.

    Args:
        function: a function of version 1.
        words: version 2's arguments, as in the table.
        fixed: values that `function` gets unless the caller names others.
        single: arguments that `function` has not, with the only value that each may have.
    """
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
        for name, value in single.items():
            if values.pop(name, value) != value:
                raise NotImplementedError(
                    f"{function.__name__}() of version 2 takes no other {name} here than {value!r}: leave it out."
                )
        return function(**fixed | {names[name] or name: value for name, value in values.items()})

    ordered.__signature__ = _signature(function, names, {"keepdims": False} | fixed | single)  # type: ignore[attr-defined]
    return ordered


def _signature(function: Callable[..., Any], names: dict[str, str], values: dict[str, Any]) -> inspect.Signature:
    """The arguments `names` with the defaults `values`, or else with the defaults of `function`."""
    before = inspect.signature(function).parameters
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    defaults = {name: values[name] if name in values else before[here or name].default for name, here in names.items()}
    needed = [name for name, default in defaults.items() if default is inspect.Parameter.empty]
    for name in list(defaults)[: list(defaults).index(needed[-1])] if needed else []:
        defaults[name] = inspect.Parameter.empty
    return inspect.Signature([inspect.Parameter(name, kind, default=default) for name, default in defaults.items()])


def _where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    if x is None and y is None:
        return v1.where(condition, name=name)
    return v1.where_v2(condition, x, y, name=name)


def _split(input: Any, sep: Any = None, maxsplit: int = -1, name: str | None = None) -> Any:
    if not isinstance(input, v1.RaggedTensor):
        texts = v1.convert_to_tensor(input, v1.string)
        rank = len(texts.shape)
        if rank < 2:
            parts = v1.strings.split(texts, sep, maxsplit, name=name)
            if rank == 0:
                return parts.values
            return v1.RaggedTensor.from_value_rowids(parts.values, parts.indices[:, 0], nrows=parts.dense_shape[0])
        input = v1.RaggedTensor.from_tensor(texts, ragged_rank=rank - 1)
    return input.with_flat_values(_split(input.flat_values, sep, maxsplit, name))


class _Reduction:
    """The reductions of losses in the words of version 2, which heads of Estimators take."""

    AUTO, NONE, SUM, SUM_OVER_BATCH_SIZE = "auto", "none", "sum", "sum_over_batch_size"

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Each of them."""
        return cls.AUTO, cls.NONE, cls.SUM, cls.SUM_OVER_BATCH_SIZE

    @classmethod
    def validate(cls, key: str) -> None:
        """Raises ValueError where `key` is none of them."""
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}. Expected keys are {cls.all()}.")


class _ResizeMethod:
    """The methods of version 2, which are words."""

    AREA, BICUBIC, BILINEAR, GAUSSIAN = "area", "bicubic", "bilinear", "gaussian"
    LANCZOS3, LANCZOS5, MITCHELLCUBIC, NEAREST_NEIGHBOR = "lanczos3", "lanczos5", "mitchellcubic", "nearest"


def _resize(
    images: Any,
    size: Any,
    method: str = "bilinear",
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Any:
    if method not in ("area", "bicubic", "bilinear", "nearest") or (antialias and method.startswith("bi")):
        raise NotImplementedError(
            f"tf.compat.v2.image.resize has no method {method!r} with antialias={antialias} here: take 'bilinear', "
            "'bicubic', 'nearest' or 'area' without antialias."
        )
    places = {} if method == "area" else {"half_pixel_centers": True}
    return resized(images, size, method, preserve_aspect_ratio, name, **places)


_OWN: dict[str, Any] = {
    "image.ResizeMethod": _ResizeMethod,
    "image.resize": _resize,
    "losses.Reduction": _Reduction,
    "strings.split": _split,
    "where": _where,
}
"""Things of version 2 that version 1 has not."""


def _by_path(path: str) -> Any:
    thing: Any = v1
    for part in filter(None, path.split(".")):
        thing = getattr(thing, part)
    return thing
