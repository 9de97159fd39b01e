"""A forgotten `await` of any public coroutine function: the error and the warning name the call, its line and the remedy."""

from __future__ import annotations

import asyncio
import gc
import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import actorflow as af
from actorflow.index import NAMES


def _is_ours(kind: type, name: str) -> bool:
    """Whether actorflow defines a method, and asyncio or a base class of Python does not."""
    home = next(base for base in kind.__mro__ if name in vars(base))
    return home.__module__.partition(".")[0] == "actorflow"


def _coroutine_functions() -> Iterator[tuple[str, type | None, Callable[..., Any]]]:
    """All public ones: the words for it, the class, and the function."""
    seen: set[Any] = set()
    for path, places in NAMES.items():
        is_awaited = path.startswith("af") and path != "af.blocking"  # its methods wait themselves
        for public, place in places.items() if is_awaited else ():
            home, colon, inner = place.partition(":")
            if inner == "" and colon:
                continue  # a module
            value = getattr(importlib.import_module(home), inner or public)
            if isinstance(value, type) and value not in seen:
                for name, member in inspect.getmembers(value, callable):
                    if not name.startswith("_") and inspect.iscoroutinefunction(inspect.unwrap(member)):
                        if _is_ours(value, name):
                            yield f"{value.__name__}.{name}", value, inspect.getattr_static(value, name)
            elif inspect.isfunction(value) and value not in seen and inspect.iscoroutinefunction(inspect.unwrap(value)):
                yield value.__name__, None, value
            if callable(value):
                seen.add(value)


ALL = list(_coroutine_functions())
ALREADY = {"Session.run"}
"""That which is called most often warns in Python's words."""


def _called(kind: type | None, function: Callable[..., Any]) -> Any:
    """The call with None for each argument. Nothing of its body runs before it is awaited."""
    first = [] if kind is None else [object.__new__(kind)]
    parameters = list(inspect.signature(function).parameters.values())[len(first) :]
    needed = [p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    keywords = {p.name: None for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty}
    return function(*first, *(None for _ in needed), **keywords)


def test_there_are_many() -> None:
    names = {name for name, _, _ in ALL}
    assert {"Estimator.train", "Model.predict", "Supervisor.run", "Session.warmup", "train_and_evaluate"} <= names
    assert len(names) > 40


@pytest.mark.parametrize(("title", "kind", "function"), ALL, ids=[title for title, _, _ in ALL])
def test_a_call_that_is_taken_for_its_result_names_itself_and_its_line(title: str, kind: Any, function: Any) -> None:
    for use in (lambda call: call + 1, lambda call: call["loss"], lambda call: float(call), lambda call: list(call)):
        call = _called(kind, function)
        with pytest.raises(TypeError) as caught:
            use(call)
        text = str(caught.value)
        assert text.startswith(f"{title}(...) was not awaited")
        assert "write `await " in text
        assert title in ALREADY or f"called at {__file__}:" in text
    with pytest.raises(AttributeError, match=r"was not awaited.*has no 'shape'"):
        call = _called(kind, function)
        call.shape  # noqa: B018
    call.close()


@pytest.mark.parametrize(("title", "kind", "function"), ALL, ids=[title for title, _, _ in ALL])
@pytest.mark.filterwarnings("always")
def test_a_call_that_is_dropped_warns_with_the_remedy(title: str, kind: Any, function: Any) -> None:
    with pytest.warns(RuntimeWarning, match="was never awaited") as warned:
        _called(kind, function)
        gc.collect()
    texts = [str(warning.message) for warning in warned]
    assert len(texts) == 1, texts
    assert title in ALREADY or "write `await " in texts[0] and f"called at {__file__}:" in texts[0]


@pytest.mark.parametrize(
    "take",
    [
        lambda call: asyncio.create_task(call()),
        lambda call: asyncio.gather(call()),
        lambda call: asyncio.wait_for(call(), 5),
        lambda call: call(),
    ],
    ids=["a task", "gather", "wait_for", "await"],
)
async def test_a_call_that_is_awaited_warns_of_nothing(
    take: Callable[[Any], Any], recwarn: pytest.WarningsRecorder
) -> None:
    with af.Graph().as_default() as graph:
        x = af.constant(1.0)
        async with af.Session(graph=graph) as session:
            await take(lambda: session.warmup([x]))
            await take(await session.make_callable(x))
    gc.collect()
    assert not [warning for warning in recwarn if "awaited" in str(warning.message)]


EITHER: dict[str, Callable[[Any, Any, Any], Any]] = {
    "Saver.save": lambda session, x, folder: af.train.Saver().save(session, folder / "c"),
    "Saver.restore": lambda session, x, folder: af.train.Saver().restore(session, folder / "c"),
    "SavedModelBuilder.add_meta_graph_and_variables": lambda session, x, folder: af.saved_model.Builder(
        folder / "m"
    ).add_meta_graph_and_variables(session, ["serve"]),
    "load": lambda session, x, folder: af.saved_model.load(session, ["serve"], folder / "m"),
    "save": lambda session, x, folder: af.onnx.save(folder / "m.onnx", session, [x]),
    "freeze": lambda session, x, folder: af.export.freeze(session, [x]),
}
"""The functions that do their work at once for a blocking session."""


@pytest.mark.parametrize("title", EITHER)
async def test_a_call_that_is_awaited_with_an_asynchronous_session_names_itself(title: str, tmp_path: Any) -> None:
    with af.Graph().as_default() as graph:
        x = af.Variable(1.0) + 1.0
        async with af.Session(graph=graph) as session:
            with pytest.raises(TypeError) as caught:
                EITHER[title](session, x, tmp_path)[0]
            assert str(caught.value).startswith(
                f"{title}(...) was not awaited and has no values yet (called at {__file__}:"
            )
            with pytest.warns(RuntimeWarning, match="was never awaited.*write `await "):
                EITHER[title](session, x, tmp_path)


async def test_a_callable_of_a_session_that_is_not_awaited_says_so() -> None:
    with af.Graph().as_default() as graph:
        async with af.Session(graph=graph) as session:
            call = await session.make_callable(af.constant(1.0))
            with pytest.raises(
                TypeError, match=r"callable\(\.\.\.\) was not awaited.*write `await callable\(\.\.\.\)`"
            ):
                call() + 1  # type: ignore[operator]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: af.estimator.Estimator.train(object.__new__(af.estimator.LinearClassifier), None), "LinearClassifier.train"),
        (lambda: af.estimator.Estimator.train(object.__new__(af.estimator.Estimator), None), "Estimator of actorflow.compat.v1"),
    ],
)  # fmt: skip
def test_the_remedy_is_that_of_the_objects_class(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        call()[0]
