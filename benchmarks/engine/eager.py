"""Ops that run at once, tapes, and functions that are traced, beside TensorFlow 2.

Both sides run the same program: it is given the library, and enters eager execution where the library has to be asked for it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks.harness.definitions import Call, Comparison
from benchmarks.harness.sides import our_library

INPUTS, HIDDEN, CLASSES, BATCH, RATE = 784, 128, 10, 32, 0.01
Program = Callable[[Any], Call]


@contextmanager
def ours(program: Program) -> Iterator[Call]:
    """The program under `af.eager()`."""
    af = our_library()
    with af.eager():
        yield program(af)


@contextmanager
def peer(program: Program) -> Iterator[Call]:
    """The program under TensorFlow 2, which is eager by itself."""
    yield program(importlib.import_module("tensorflow"))


def add(lib: Any) -> Call:
    """The sum of two small tensors."""
    x, y = (lib.constant(np.ones((2, 2), np.float32)) for _ in range(2))
    return lambda: x + y


def tape(lib: Any) -> Call:
    """The gradient of x·x."""
    x = lib.constant(3.0)

    def call() -> Any:
        with lib.GradientTape() as recorded:
            recorded.watch(x)
            y = x * x
        return recorded.gradient(y, x)

    return call


def _step(lib: Any) -> Call:
    rng = np.random.default_rng(7)

    def variable(*shape: int) -> Any:
        return lib.Variable(rng.normal(0, 0.05, shape).astype(np.float32))

    variables = [variable(INPUTS, HIDDEN), variable(HIDDEN), variable(HIDDEN, CLASSES), variable(CLASSES)]
    images = lib.constant(rng.normal(size=(BATCH, INPUTS)).astype(np.float32))
    labels = lib.constant(rng.integers(0, CLASSES, BATCH).astype(np.int32))

    def call() -> Any:
        w1, b1, w2, b2 = variables
        with lib.GradientTape() as recorded:
            logits = lib.matmul(lib.nn.relu(lib.matmul(images, w1) + b1), w2) + b2
            loss = lib.reduce_mean(lib.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        for variable, gradient in zip(variables, recorded.gradient(loss, variables)):
            variable.assign_sub(RATE * gradient)
        return loss

    return call


def step_by_function(lib: Any) -> Call:
    """A training step as one function that is traced."""
    traced: Call = lib.function(_step(lib))
    traced()
    return traced


def call_of_function(lib: Any) -> Call:
    """A function of one op."""
    traced = lib.function(lambda x: x * x)
    x = lib.constant(3.0)
    traced(x)
    return lambda: traced(x)


def _compare(name: str, work: str, program: Program) -> Comparison:
    return Comparison(name, work, ours=lambda: ours(program), peer=lambda: peer(program))


BENCHMARKS = (
    _compare("add", "eager sum of two 2 x 2 tensors", add),
    _compare("tape", "tape over x·x, and its gradient", tape),
    _compare("mlp_step", f"eager training step, {INPUTS}-{HIDDEN}-{CLASSES}, batch {BATCH}", _step),
    _compare("mlp_function", "the same step by `function`", step_by_function),
    _compare("function_call", "call of a function of one op", call_of_function),
)
