"""Programs of numerical mathematics that have no layers."""

from __future__ import annotations

from typing import Any

from benchmarks.harness.definitions import Case
from benchmarks.models.blocks import Model, Parts, model


def gaussian_process(m: Model, points: int = 200) -> Parts:
    """A step up the marginal likelihood of a Gaussian process: a Cholesky decomposition and a solution."""
    lib = m.lib
    x, y = lib.placeholder(lib.float32, [points, 2]), lib.placeholder(lib.float32, [points, 1])
    width, noise = m.full(1.0), m.full(0.3)
    square = lib.reduce_sum(lib.square(lib.expand_dims(x, 0) - lib.expand_dims(x, 1)), 2)
    kernel = lib.exp(-square / (2.0 * lib.square(width))) + lib.eye(points) * (lib.square(noise) + 1e-2)
    root = lib.cholesky(kernel)
    solved = lib.matrix_triangular_solve(root, y)
    loss = 0.5 * lib.reduce_sum(lib.square(solved)) + lib.reduce_sum(lib.log(lib.matrix_diag_part(root)))
    return (x, y), (m.floats(points, 2), m.floats(points, 1)), loss, m.descent(loss, 1e-5)


def k_means(m: Model, points: int = 2000, centers: int = 16, width: int = 8) -> Parts:
    """A turn of k-means: each point to its nearest center, each center to the mean of its points."""
    lib = m.lib
    x = lib.placeholder(lib.float32, [points, width])
    found = m.weights(centers, width, scale=1.0)
    distances = lib.reduce_sum(lib.square(lib.expand_dims(x, 1) - lib.expand_dims(found, 0)), 2)
    nearest = lib.argmin(distances, 1)
    sums = lib.unsorted_segment_sum(x, nearest, centers)
    counts = lib.unsorted_segment_sum(lib.ones([points, 1]), nearest, centers)
    train = lib.group(lib.assign(found, sums / lib.maximum(counts, 1.0)))
    return (x,), (m.floats(points, width),), lib.reduce_mean(lib.reduce_min(distances, 1)), train


def mandelbrot(m: Model, side: int = 100, turns: int = 30) -> Parts:
    """z² + c, again and again, in a loop over real and imaginary parts."""
    lib = m.lib
    c_real, c_imaginary = (lib.placeholder(lib.float32, [side, side]) for _ in range(2))

    def body(i: Any, a: Any, b: Any, count: Any) -> tuple[Any, ...]:
        a, b = (
            lib.clip_by_value(a * a - b * b + c_real, -9.0, 9.0),
            lib.clip_by_value(2.0 * a * b + c_imaginary, -9.0, 9.0),
        )
        return i + 1, a, b, count + lib.cast(a * a + b * b < 4.0, lib.float32)

    zeros = lib.zeros([side, side])
    end = lib.while_loop(lambda i, *_: i < turns, body, (lib.constant(0), zeros, zeros, zeros))
    return (c_real, c_imaginary), (m.floats(side, side), m.floats(side, side)), lib.reduce_mean(end[3]), None


def wave(m: Model, side: int = 200) -> Parts:
    """A step of the wave equation on a grid, by a convolution with its stencil."""
    lib = m.lib
    drops = lib.placeholder(lib.float32, [1, side, side, 1])
    height = lib.Variable(m.np.zeros((1, side, side, 1), m.np.float32))
    speed = lib.Variable(m.np.zeros((1, side, side, 1), m.np.float32))
    stencil = m.np.array([[0.5, 1.0, 0.5], [1.0, -6.0, 1.0], [0.5, 1.0, 0.5]], m.np.float32).reshape(3, 3, 1, 1)
    pulled = lib.nn.conv2d(height, lib.constant(stencil), strides=[1, 1, 1, 1], padding="SAME")
    new_speed = speed + 0.03 * (pulled - 0.04 * speed)
    new_height = height + 0.03 * speed + 0.01 * drops
    energy = lib.reduce_sum(lib.square(new_speed)) + lib.reduce_sum(lib.square(new_height))
    with lib.control_dependencies([energy]):
        train = lib.group(lib.assign(speed, new_speed), lib.assign(height, new_height))
    return (drops,), (m.floats(1, side, side, 1),), energy, train


def runge_kutta(m: Model, systems: int = 64, turns: int = 10) -> Parts:
    """Ten steps of fourth order of the Lorenz system, unrolled."""
    lib = m.lib
    start = lib.placeholder(lib.float32, [systems, 3])

    def slope(p: Any) -> Any:
        x, y, z = lib.unstack(p, axis=1)
        return lib.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z], 1)

    p = start
    for _ in range(turns):
        one = slope(p)
        two = slope(p + 0.005 * one)
        three = slope(p + 0.005 * two)
        four = slope(p + 0.01 * three)
        p = p + (0.01 / 6.0) * (one + 2.0 * two + 2.0 * three + four)
    return (start,), (m.floats(systems, 3),), p, None


def fft_filter(m: Model, rows: int = 64, size: int = 4096) -> Parts:
    """A filter of signals in the domain of frequencies."""
    lib = m.lib
    signals = lib.placeholder(lib.float32, [rows, size])
    spectrum = lib.fft(lib.cast(signals, lib.complex64))
    window = lib.constant(m.np.exp(-m.np.arange(size) / 500).astype(m.np.complex64))
    return (signals,), (m.floats(rows, size),), lib.real(lib.ifft(spectrum * window)), None


def linear_systems(m: Model, size: int = 300) -> Parts:
    """The solution of a large system and the singular values of its matrix."""
    lib = m.lib
    matrix, right = lib.placeholder(lib.float32, [size, size]), lib.placeholder(lib.float32, [size, 8])
    whole = matrix + lib.eye(size) * 40.0
    result = lib.reduce_sum(lib.matrix_solve(whole, right), 1)
    values = lib.svd(whole, compute_uv=False)
    return (matrix, right), (m.floats(size, size), m.floats(size, 8)), [result, values], None


TRAINING = (
    Case("gaussian_process", "step of a Gaussian process of 200 points", model(gaussian_process)),
    Case("k_means", "turn of k-means, 2,000 points", model(k_means)),
    Case("wave", "step of the wave equation, 200 × 200", model(wave)),
)
INFERENCE = (
    Case("mandelbrot", "Mandelbrot set in a loop, 100 × 100", model(mandelbrot)),
    Case("runge_kutta", "Runge-Kutta, ten steps of 64 systems", model(runge_kutta)),
    Case("fft_filter", "filter by FFT, 64 × 4,096", model(fft_filter)),
    Case("linear_systems", "solution and singular values, 300 × 300", model(linear_systems)),
)
