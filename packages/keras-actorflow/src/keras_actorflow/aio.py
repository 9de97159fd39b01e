"""`fit`, `evaluate` and `predict` of a model in a running event loop."""

from __future__ import annotations

from typing import Any

from keras_actorflow.hook import install

install()


async def fit(model: Any, *args: Any, **kwargs: Any) -> Any:
    """`model.fit(...)`, while other coroutines run. A deadline or a cancellation stops it between two steps.

    Example:
        >>> history = await keras_actorflow.fit(model, x, y, epochs=3)

    Args:
        model: a model of Keras that is compiled.
        args: the data, as `Model.fit` takes them.
        kwargs: the options of `Model.fit`.
    """
    return await _run(model.fit_loop(*args, **kwargs))


async def evaluate(model: Any, *args: Any, **kwargs: Any) -> Any:
    """`model.evaluate(...)`, while other coroutines run.

    Example:
        >>> loss = await keras_actorflow.evaluate(model, x, y)

    Args:
        model: a model of Keras that is compiled.
        args: the data, as `Model.evaluate` takes them.
        kwargs: the options of `Model.evaluate`.
    """
    return await _run(model.evaluate_loop(*args, **kwargs))


async def predict(model: Any, *args: Any, **kwargs: Any) -> Any:
    """`model.predict(...)`, while other coroutines run.

    Example:
        >>> outputs = await keras_actorflow.predict(model, x)

    Args:
        model: a model of Keras.
        args: the data, as `Model.predict` takes them.
        kwargs: the options of `Model.predict`.
    """
    return await _run(model.predict_loop(*args, **kwargs))


async def _run(loop: Any) -> Any:
    try:
        step, data = next(loop)
        while True:
            step, data = loop.send(await step.run(data))
    except StopIteration as end:
        return end.value
    finally:
        loop.close()
