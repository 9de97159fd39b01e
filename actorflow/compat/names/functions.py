"""Functions of TensorFlow 1.15 that actorflow has under no own name, over public ops."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import actorflow as af
from actorflow.public import public


@public("tf")
def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f`, whose gradient is that of the identity (`tf.grad_pass_through`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.grad_pass_through(tf.round)(1.6)
        2.0
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        first = af.convert_to_tensor(args[0])
        value = f(first, *args[1:], **kwargs)
        return first + af.stop_gradient(value - first)

    return call


@public("tf")
def no_regularizer(_: Any) -> None:
    """A regularizer that adds nothing (`tf.no_regularizer`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.no_regularizer(tf.constant(1.0)) is None
        True
    """


@public("tf")
def timestamp(name: str | None = None) -> Any:
    """The seconds since 1970, as each step begins to read them (`tf.timestamp`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> float(tf.timestamp()) > 1e9
        True
    """
    value = af.py_func(time.time, [], af.float64, stateful=True, name=name)
    value.set_shape([])
    return value


@public("tf")
def vectorized_map(fn: Callable[[Any], Any], elems: Any) -> Any:
    """`tf.map_fn` with the types of what `fn` gives (`tf.vectorized_map`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.vectorized_map(lambda x: x * 2, tf.constant([1, 2]))
        [2 4]
    """
    with af.Graph().as_default():

        def placeholder(each: Any) -> Any:
            tensor = af.convert_to_tensor(each) if not hasattr(each, "dtype") else each
            return af.placeholder(tensor.dtype, tensor.shape[1:])

        types = af.nest.map_structure(lambda each: each.dtype, fn(af.nest.map_structure(placeholder, elems)))
    return af.map_fn(fn, elems, dtype=types)


@public("tf.linalg")
def matrix_rank(a: Any, tol: Any = None, validate_args: bool = False, name: str | None = None) -> Any:
    """The number of singular values above `tol` (`tf.linalg.matrix_rank`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.linalg.matrix_rank([[1.0, 2.0], [2.0, 4.0]])
        1

    Args:
        a: matrices in the last two dimensions, of a floating type.
        tol: a bound; the largest singular value times the larger size times the type's epsilon unless given.
        validate_args: changes nothing.
        name: a scope.
    """
    with af.name_scope(name, "matrix_rank", [a]):
        a = af.convert_to_tensor(a)
        values = af.svd(a, compute_uv=False)
        if tol is None:
            import numpy as np

            longest = af.reduce_max(af.shape(a)[-2:])
            epsilon = np.finfo(a.dtype.as_numpy_dtype).eps
            tol = epsilon * af.cast(longest, a.dtype) * af.reduce_max(values, -1, keepdims=True)
        return af.reduce_sum(af.cast(values > tol, af.int32), -1)


@public("tf.linalg")
def tridiagonal_matmul(diagonals: Any, rhs: Any, diagonals_format: str = "compact", name: str | None = None) -> Any:
    """The product of a matrix of three diagonals and another one (`tf.linalg.tridiagonal_matmul`).

    Args:
        diagonals: [..., 3, m]: above (its last is not read), on and below (its first is not read) the diagonal; or three.
        rhs: [..., m, n].
        diagonals_format: `compact`, or `sequence` for a list of three.
        name: a scope.

    Raises:
        ValueError: another format.

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.linalg.tridiagonal_matmul([[1.0, 0.0], [2.0, 3.0], [0.0, 4.0]], [[1.0], [1.0]])
        [[3.]
         [7.]]
    """
    if diagonals_format not in ("compact", "sequence"):
        raise ValueError(f"diagonals_format is 'compact' or 'sequence' here, not {diagonals_format!r}.")
    with af.name_scope(name, "tridiagonal_matmul", [rhs]):
        rhs = af.convert_to_tensor(rhs)
        if diagonals_format == "compact":
            upper, middle, lower = af.unstack(af.convert_to_tensor(diagonals), num=3, axis=-2)
        else:
            upper, middle, lower = (af.convert_to_tensor(each) for each in diagonals)
        zeros = af.zeros_like(rhs[..., :1, :])
        above = af.concat([rhs[..., 1:, :], zeros], -2)
        below = af.concat([zeros, rhs[..., :-1, :]], -2)
        return upper[..., None] * above + middle[..., None] * rhs + lower[..., None] * below


@public("tf.image")
def extract_patches(images: Any, sizes: Any, strides: Any, rates: Any, padding: str, name: str | None = None) -> Any:
    """Patches of images, their values in the last dimension (`tf.image.extract_patches`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.image.extract_patches([[[[1], [2]], [[3], [4]]]], [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "VALID")
        [[[[1 2 3 4]]]]

    Args:
        images: `[batch, height, width, channels]`.
        sizes, strides, rates: `[1, rows, columns, 1]`: of a patch, from patch to patch, and from value to value within a patch.
        padding: `VALID` or `SAME`.
    """
    return af.extract_image_patches(images, sizes, strides, rates, padding, name=name)


@public("tf.random")
def categorical(
    logits: Any, num_samples: Any, dtype: Any = None, seed: int | None = None, name: str | None = None
) -> Any:
    """Draws class numbers for each row of `logits` (`tf.random.categorical`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.random.categorical(tf.log([[0.0, 1.0]]), 3, tf.int32)
        [[1 1 1]]

    Args:
        logits: [batch, classes], unnormalized log-probabilities.
        num_samples: how many to draw for each row.
        dtype: int64 (the default) or int32.
        seed: makes the numbers the same in every session.
        name: the node's name.
    """
    return af.multinomial(logits, num_samples, seed, name, dtype)


@public("tf.random")
def stateless_categorical(
    logits: Any, num_samples: Any, seed: Any, dtype: Any = af.int64, name: str | None = None
) -> Any:
    """Draws of classes that go by a seed alone (`tf.random.stateless_categorical`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.random.stateless_categorical([[0.0, 100.0]], 3, [1, 2])
        [[1 1 1]]

    Args:
        logits: `[batch, classes]`, logarithms of probabilities.
        num_samples: the number of draws for each row.
        seed: two integers.
        dtype: int32 or int64.
    """
    import actorflow.compat.v1 as tf

    return tf.random.stateless_multinomial(logits, num_samples, seed, dtype, name)


@public("tf.summary")
def all_v2_summary_ops() -> list[Any]:
    """The summaries of the default graph (`tf.summary.all_v2_summary_ops`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     print(tf.summary.all_v2_summary_ops())
        []
    """
    return list(af.get_collection(af.GraphKeys.SUMMARIES))


@public("tf.test")
def is_built_with_rocm() -> bool:
    """False: there is nothing for AMD's GPUs (`tf.test.is_built_with_rocm`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.test.is_built_with_rocm()
        False
    """
    return False


@public("tf.test")
def is_built_with_gpu_support() -> bool:
    """Whether there is code for a GPU (`tf.test.is_built_with_gpu_support`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.test.is_built_with_gpu_support() == tf.test.is_built_with_cuda()
        True
    """
    import actorflow.compat.v1 as tf

    return bool(tf.test.is_built_with_cuda())


_placements = [False]


@public("tf.debugging")
def set_log_device_placement(enabled: bool) -> None:
    """Keeps the setting; a session's `explain_placement` says where nodes are, and why (`tf.debugging.set_log_device_placement`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.debugging.set_log_device_placement(False)
    """
    _placements[0] = enabled


@public("tf.debugging")
def get_log_device_placement() -> bool:
    """The setting that was kept (`tf.debugging.get_log_device_placement`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.debugging.get_log_device_placement()
        False
    """
    return _placements[0]


@public("tf.errors")
class raise_exception_on_not_ok_status:
    """A block that does nothing: an error is raised at its place (`tf.errors.raise_exception_on_not_ok_status`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> with tf.errors.raise_exception_on_not_ok_status() as status:
        ...     status is None
        True
    """

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exception: object) -> None:
        return None


@public("tf")
def function(
    func: Callable[..., Any] | None = None,
    input_signature: Any = None,
    autograph: bool = True,
    experimental_autograph_options: Any = None,
    experimental_relax_shapes: bool = False,
    experimental_compile: bool | None = None,
    **options: Any,
) -> Any:
    """`af.function`, whose `if`, `while` and `for` may depend on tensors (`tf.function`).

    Example:
        >>> import actorflow.compat.v1 as tf
        >>> tf.function(lambda x: x * 2.0)(tf.constant(3.0))
        6.0

    Args:
        func: the function; without it a decorator is given.
        input_signature: a `TensorSpec` for each argument; there is a single trace then, and other arguments are refused.
        autograph: whether Python's control flow on tensors is rewritten; a lambda, or a function without source, stays as it is.
        experimental_autograph_options: accepted for compatibility, without effect.
        experimental_relax_shapes: whether calls that differ in the sizes of their tensors share a trace.
        experimental_compile: accepted for compatibility, without effect.
        options: those of `af.function`. Numbers stay values of Python unless they say otherwise.
    """
    from actorflow.compat.autograph.conversion import convertible

    def decorate(python_function: Callable[..., Any]) -> Any:
        rewritten = convertible(python_function) if autograph else python_function
        defaults = {"numbers_are_tensors": False, "experimental_relax_shapes": experimental_relax_shapes}
        return af.function(rewritten, input_signature, **{**defaults, **options})

    return decorate if func is None else decorate(func)
