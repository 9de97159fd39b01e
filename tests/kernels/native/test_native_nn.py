"""Functions of neural networks in C: softmax and its losses, normalizations, pools, convolutions of single channels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from native_cases import SEED, TRIES, Rng, check, numbers, on, same, shape

import actorflow as af
from actorflow.base.registry import kernel, library
from actorflow.kernels.native import norm, window
from actorflow.kernels.native.library import loaded
from actorflow.kernels.nn import activation as nn
from actorflow.kernels.nn import fused, normalization, pool
from actorflow.kernels.nn.conv import depthwise
from actorflow.kernels.shared import threads

pytestmark = pytest.mark.skipif(loaded() is None, reason="the library in C is not there")


def test_the_softmax_along_another_dimension(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for sizes, axis in (((4, 16, 80), 1), ((3, 7, 129), 1), ((40, 2, 5, 3), 0), ((2, 1, 600), 1), ((1, 9, 5, 64), -3)):
        x = (rng.normal(size=sizes) * 9).astype("f4")
        x.reshape(-1)[:3] = -np.inf, np.inf, np.nan
        with np.errstate(all="ignore"):
            wanted = nn.softmax(np, x, axis=axis)
        found = [loaded().call("softmax", several, x, None, axis) for several in (1, 2)]
        np.testing.assert_allclose(found[0], wanted, rtol=1e-5, atol=1e-6)
        assert same(*found)
    assert loaded().call("softmax", 1, x, None, 4) is NotImplemented
    assert loaded().call("softmax", 1, x.astype("f8"), None, 1) is NotImplemented


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_small_softmaxes_and_cross_entropies_of_few_classes_have_the_bits_of_numpys(dtype: str) -> None:
    check("softmax", on(nn.softmax, axis=-1), lambda rng: (numbers(rng, shape(rng)[:3], dtype),))

    def few(rng: Rng) -> tuple[Any, ...]:
        count, classes = int(rng.integers(1, 60)), int(rng.integers(1, 65))
        labels = rng.integers(0, classes + (rng.random() < 0.05), count).astype(rng.choice(["i4", "i8"]))
        return numbers(rng, (count, classes), dtype) * 9, labels

    check("cross_entropy", on(nn.sparse_softmax_cross_entropy), few)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_cross_entropies_of_fewer_than_1024_elements_have_the_bits_of_numpys(dtype: str) -> None:
    def some(rng: Rng) -> tuple[Any, ...]:
        classes = int(rng.integers(65, 600))
        count = int(rng.integers(1, 1 + 1023 // classes))
        labels = rng.integers(0, classes + (rng.random() < 0.1), count).astype(rng.choice(["i4", "i8"]))
        return numbers(rng, (count, classes), dtype) * 9, labels

    check("cross_entropy", on(nn.sparse_softmax_cross_entropy), some)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_softmax_and_the_cross_entropy_of_long_rows(dtype: str) -> None:
    rng = np.random.default_rng(SEED)
    for attempt in range(12):
        high = (40, 90) if attempt % 3 else (10, 20)
        x = numbers(rng, (int(rng.integers(*high)), int(rng.integers(110, 400))), dtype) * 10
        labels = rng.integers(0, x.shape[1], len(x)).astype("i4" if attempt % 2 else "i8")
        with np.errstate(all="ignore"):
            close = {"rtol": 1e-5 if dtype == "f4" else 1e-12, "atol": 1e-6 if dtype == "f4" else 1e-13}
            found = [loaded().call("softmax", several, x) for several in (1, 2, 4)]
            np.testing.assert_allclose(found[0], nn.softmax(np, x, axis=-1), **close)
            assert same(found[0], found[1]) and same(found[0], found[2])
            both = loaded().call("cross_entropy", 2, x, labels)
            for given, wanted in zip(both, nn.sparse_softmax_cross_entropy(np, x, labels), strict=True):
                np.testing.assert_allclose(given, wanted, **close)
    assert loaded().call("cross_entropy", 1, x, labels + x.shape[1]) is NotImplemented


def test_the_batch_normalization_of_a_training_step_and_its_gradient() -> None:
    rng = np.random.default_rng(SEED)
    nothing = np.zeros(0, "f4")
    attrs = {"epsilon": 1e-3, "data_format": "NHWC", "is_training": True}
    for sizes in ((3, 7, 9, 5), (2, 3, 3, 64), (1, 1, 9, 300), (32, 14, 14, 16)):
        x, dy = (rng.normal(size=sizes).astype("f4") for _ in range(2))
        scale, offset = rng.uniform(0.5, 2, sizes[3]).astype("f4"), rng.normal(size=sizes[3]).astype("f4")
        found = norm.fused_batch_norm(np, x * 3 + 2, scale, offset, nothing, nothing, **attrs)
        wanted = normalization.fused_batch_norm(np, x * 3 + 2, scale, offset, nothing, nothing, **attrs)
        mean, variance = wanted[3], wanted[4]
        slopes = norm.fused_batch_norm_grad(np, dy, x, scale, mean, variance, nothing, **attrs)
        expected = normalization.fused_batch_norm_grad(np, dy, x, scale, mean, variance, nothing, **attrs)
        for one, other in zip((*found, *slopes), (*wanted, *expected), strict=True):
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-4)


@pytest.mark.parametrize("sizes", [(1, 1), (3, 5), (4, 70), (2, 3, 64), (2, 9000), (900, 300), (40_000, 3)])
def test_layer_norms_and_their_gradients(sizes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(SEED)
    x, dy = (rng.normal(size=sizes).astype("f4") for _ in range(2))
    scale, offset = (rng.uniform(0.5, 2, sizes[-1]).astype("f4") for _ in range(2))
    calls = (
        ("standardized", (x, scale, offset, 1e-3, None), fused.layer_norm, (x, scale, offset)),
        ("standardized", (x, scale, None, 1e-3, None), fused.rms_norm, (x, scale)),
        ("layer_norm_grad", (dy, x, scale, 1e-3, None), fused.layer_norm_grad, (dy, x, scale)),
        ("layer_norm_scale_grad", (dy, x, 1e-3), fused.layer_norm_scale_grad, (dy, x)),
    )
    for name, given, python, inputs in calls:
        wanted = python(np, *(one.astype("f8") for one in inputs), epsilon=1e-3)
        found = [loaded().call(name, several, *given) for several in (1, 2, 4, 8)]
        assert all(same(one, found[0]) for one in found[1:]), name
        np.testing.assert_allclose(found[0], wanted, rtol=1e-4, atol=1e-6 * (1 + np.abs(wanted).max()), err_msg=name)
    for wrong in (dy[:, :1], dy.astype("f8"), scale):
        assert (
            loaded().call("layer_norm_grad", 1, wrong, x[:, 1:] if sizes[-1] == 1 else x, scale, 1e-3, None)
            is NotImplemented
        )
        assert loaded().call("layer_norm_scale_grad", 1, scale, x, 1e-3) is NotImplemented


def test_gradients_of_layer_norms_take_slopes_whose_rows_lie_anywhere() -> None:
    rng = np.random.default_rng(SEED)
    x, scale = rng.normal(size=(3, 4, 5, 70)).astype("f4"), rng.uniform(0.5, 2, 70).astype("f4")
    every = rng.normal(size=(4, 3, 10, 72)).astype("f4")
    some = np.broadcast_to(every[:3, :1, :5, :70], x.shape), np.broadcast_to(every[0, 0, 0, :70], x.shape)
    for dy in (*some, every.transpose(1, 0, 2, 3)[:, :, ::2, 1:71]):
        for name, vector in (("layer_norm_grad", (scale,)), ("layer_norm_scale_grad", ())):
            wanted = loaded().call(name, 1, dy.copy(), x, *vector, 1e-3)
            for several in (1, 2, 4, 8):
                assert same(loaded().call(name, several, dy, x, *vector, 1e-3), wanted)
    memory = np.zeros_like(x)
    for dy, out in ((x[..., ::-1], None), (x[::-1], None), (np.broadcast_to(memory[:1, :1], x.shape), memory)):
        assert loaded().call("layer_norm_grad", 1, dy, x, scale, 1e-3, out) is NotImplemented


@pytest.mark.parametrize("sizes", [(1, 1), (3, 5), (4, 70), (2, 3, 64), (2, 9000), (900, 300), (40_000, 3), (7,)])
def test_gradients_of_softmax(sizes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(SEED)
    dy, y = rng.normal(size=sizes).astype("f4"), rng.dirichlet(np.ones(sizes[-1]), sizes[:-1]).astype("f4")
    wanted = fused.softmax_grad(np, dy.astype("f8"), y.astype("f8"), scale=0.5)
    found = [loaded().call("softmax_grad", several, dy, y, 0.5, None) for several in (1, 2, 4, 8)]
    assert all(same(one, found[0]) for one in found[1:])
    np.testing.assert_allclose(found[0], wanted, rtol=1e-4, atol=1e-6)
    assert loaded().call("softmax_grad", 1, dy, y, 0.5, dy) is dy
    assert same(dy, found[0])
    for wrong in (dy[..., None], dy.astype("f8"), np.float32(1)):
        assert loaded().call("softmax_grad", 1, wrong, y, 0.5, None) is NotImplemented


@pytest.mark.parametrize("activation", ["", "Relu", "Relu6"])
@pytest.mark.parametrize("channels", [1, 3, 8, 16, 24, 64, 100, 200])
def test_a_batch_normalization_and_its_activation(activation: str, channels: int) -> None:
    """Channels that fill a group of vectors, several rows that fill one, and those that are left over."""
    rng = np.random.default_rng(SEED)
    x, dy = (rng.normal(size=(3, 6, 10, channels)).astype("f4") for _ in range(2))
    scale, offset = rng.uniform(0.5, 4, channels).astype("f4"), rng.normal(size=channels).astype("f4")
    nothing: Any = np.zeros(0, np.float32)
    attrs = {"epsilon": 1e-3, "data_format": "NHWC", "activation": activation}
    how: dict[str, Any] = {**attrs, "is_training": True}
    found = norm.fused_batch_norm_and_activation(np, x, scale, offset, nothing, nothing, **how)
    wanted = fused.fused_batch_norm(np, x, scale, offset, nothing, nothing, **how)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    y, _, _, mean, variance, _ = wanted
    given = (np, dy, x, scale, mean, variance, nothing, y)
    gradients = norm.fused_batch_norm_and_activation_grad(*given, **how)
    for one, other in zip(gradients, fused.fused_batch_norm_grad(*given, **how), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
    how["is_training"] = False
    stored = norm.fused_batch_norm_and_activation(np, x, scale, offset, mean, variance, **how)
    for one, other in zip(stored, fused.fused_batch_norm(np, x, scale, offset, mean, variance, **how), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    number = norm._NUMBERS[activation]
    for count in (1, 2, 4):
        y, average, spread = np.empty_like(x), np.empty_like(scale), np.empty_like(scale)
        threads._pool().call("batch_norm", count, x, scale, offset, y, average, spread, 1e-3, number)
        np.testing.assert_array_equal(y, found[0])


def test_pools_of_maxima_go_before_those_of_another_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ACTORFLOW_KERNELS", raising=False)
    attrs = {"ksize": (1, 2, 2, 1), "strides": (1, 2, 2, 1), "padding": "VALID"}
    images, pooled = (8, 28, 28, 32), (8, 14, 14, 32)
    for op, shapes in (("MaxPool", [images]), ("MaxPoolGrad", [images, pooled, pooled])):
        base = kernel.lookup(op, "CPU", [af.float32])
        assert library.best(base, "CPU", [af.float32], attrs, shapes).library == "native"


def test_pools_of_maxima_and_their_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    """With NaN, with equal maxima, with windows that overlap or leave gaps, and with elements that no window has."""
    rng = np.random.default_rng(SEED)
    tried = {False: 0, True: 0}
    windows = ((2, 2, 2, 2), (3, 2, 3, 2), (1, 3, 1, 3), (3, 3, 2, 2), (2, 1, 3, 1))
    monkeypatch.setattr(window, "onednn_pool", None)  # whatever does not fit would fail
    for attempt in range(TRIES):
        high, wide, down, right = windows[int(rng.integers(len(windows)))]
        sizes = (*(int(n) for n in rng.integers((1, 3, 3), (4, 9, 9))), int(rng.choice([1, 8, 16, 19, 32])))
        x = rng.integers(-3, 3, sizes).astype("f4") if rng.random() < 0.5 else numbers(rng, sizes)
        attrs: dict[str, Any] = {"ksize": (1, high, wide, 1), "strides": (1, down, right, 1)}
        attrs["padding"] = str(rng.choice(["SAME", "VALID"]))
        y = pool.max_pool(np, x, **attrs)
        dy = rng.normal(size=y.shape).astype("f4")
        told = f"seed {SEED}, attempt {attempt}: {sizes}, {attrs}"
        for gradient, can in ((False, window._can_pool), (True, window._can_pool_grad)):
            if not can(attrs, [sizes]):
                continue
            tried[gradient] += 1
            if gradient:
                found, wanted = window.max_pool_grad(np, x, y, dy, **attrs), pool.max_pool_grad(np, x, y, dy, **attrs)
            else:
                found, wanted = window.max_pool(np, x, **attrs), y
            np.testing.assert_array_equal(found, wanted, told)
    assert min(tried.values()) > 20


def test_convolutions_of_single_channels_and_their_gradients(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(40):
        count, height, width, high, wide, stride, far = (int(n) for n in rng.integers(1, (4, 12, 12, 4, 4, 3, 3)))
        channels = int(rng.choice([1, 3, 16, 21, 64]))
        attrs: dict[str, Any] = {
            "strides": (1, stride, stride, 1),
            "padding": str(rng.choice(["SAME", "VALID"])),
            "explicit_paddings": (),
            "data_format": "NHWC",
            "dilations": (1, 1, 1, 1) if stride > 1 else (1, far, far, 1),
        }
        x = rng.normal(size=(count, height + 8, width + 8, channels)).astype("f4")
        w = rng.normal(size=(high, wide, channels, 1)).astype("f4")
        y = depthwise.depthwise(np, x, w, **attrs)
        dy = rng.normal(size=y.shape).astype("f4")
        sizes = np.array(x.shape, "i4"), np.array(w.shape, "i4")
        for found, wanted in (
            (window.depthwise(np, x, w, **attrs), y),
            (
                window.depthwise_to_input(np, sizes[0], w, dy, **attrs),
                depthwise.depthwise_to_input(np, sizes[0], w, dy, **attrs),
            ),
            (
                window.depthwise_to_filter(np, x, sizes[1], dy, **attrs),
                depthwise.depthwise_to_filter(np, x, sizes[1], dy, **attrs),
            ),
        ):
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4, err_msg=str((x.shape, w.shape, attrs)))
