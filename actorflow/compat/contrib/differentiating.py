"""Functions of `tf.contrib.eager`: gradients of Python functions, and iterators over datasets."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import actorflow.compat.v1 as tf


def iterator(dataset: Any) -> Any:
    """An iterator over a dataset that computes at once: `for`, `next` and `.next()` give its elements."""
    return dataset.make_one_shot_iterator()


def implicit_value_and_gradients(f: Callable[..., Any]) -> Callable[..., tuple[Any, list[tuple[Any, Any]]]]:
    """A function that gives the value of `f`, and a pair of gradient and variable for each trainable variable that `f` reads.

    It raises ValueError if `f` reads no trainable variable.
    """

    def call(*args: Any, **kwargs: Any) -> tuple[Any, list[tuple[Any, Any]]]:
        with tf.GradientTape() as tape:
            value = f(*args, **kwargs)
        variables = list(tape.watched_variables())
        if not variables:
            raise ValueError("No trainable variables were accessed while the function was being computed.")
        return value, list(zip(tape.gradient(value, variables), variables))

    return call


def implicit_gradients(f: Callable[..., Any]) -> Callable[..., list[tuple[Any, Any]]]:
    """`implicit_value_and_gradients` without the value: what `Optimizer.apply_gradients` takes."""
    both = implicit_value_and_gradients(f)
    return lambda *args, **kwargs: both(*args, **kwargs)[1]


def value_and_gradients_function(
    f: Callable[..., Any], params: Sequence[int | str] | None = None
) -> Callable[..., tuple[Any, list[Any]]]:
    """A function that gives the value of `f`, and its gradients for all arguments, or for the arguments that `params` names.

    `params` has their numbers or names. It raises ValueError for a parameter that `f` does not have.
    """
    names = list(inspect.signature(f).parameters)
    chosen = range(len(names)) if params is None else [names.index(p) if isinstance(p, str) else p for p in params]

    def call(*args: Any, dy: Any = None) -> tuple[Any, list[Any]]:
        tensors = [tf.convert_to_tensor(each) for each in args]
        with tf.GradientTape() as tape:
            for place in chosen:
                tape.watch(tensors[place])
            value = f(*tensors)
        return value, tape.gradient(value, [tensors[place] for place in chosen], output_gradients=dy)

    return call


def gradients_function(f: Callable[..., Any], params: Sequence[int | str] | None = None) -> Callable[..., list[Any]]:
    """`value_and_gradients_function` without the value."""
    both = value_and_gradients_function(f, params)
    return lambda *args, **named: both(*args, **named)[1]
