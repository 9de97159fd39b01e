"""An application ends all that it has, although the end of some of it fails."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import anyio
import pytest
from frontends.serving.served import application, write_line

import actorflow as af
from actorflow.engine.runtime.event_loops.background_tasks import BackgroundTasks


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[af.serving.Model]:
    """The models that were closed; each raises then."""
    models: list[af.serving.Model] = []
    close = af.serving.Model.close

    async def failing(model: af.serving.Model) -> None:
        await close(model)
        models.append(model)
        raise OSError("The disk is gone.")

    monkeypatch.setattr(af.serving.Model, "close", failing)
    return models


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("one", "two"):
        for version in ("1", "2"):
            write_line(tmp_path / name / version, 2)
    return tmp_path


def states(app: af.serving.Application) -> set[str]:
    return {version.state for served in app.served.values() for version in served.versions.values()}


async def test_all_models_and_all_tasks_end_although_models_do_not_close_well(
    folder: Path, closed: list[af.serving.Model]
) -> None:
    app = application(folder, policy=af.serving.VersionPolicy(latest=2))
    await app.__aenter__()
    tasks = app.tasks
    with pytest.raises(OSError, match="The disk is gone"):
        await app.__aexit__(None, None, None)
    assert len(closed) == 4 and states(app) == {"END"}
    assert tasks is not None and tasks.closed and app.tasks is None
    await app.__aexit__(None, None, None)


async def test_all_models_close_although_the_tasks_do_not_end_well(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = application(folder)
    await app.__aenter__()
    close = BackgroundTasks.close

    async def failing(tasks: BackgroundTasks) -> None:
        await close(tasks)
        if tasks is ended:
            raise OSError("The tasks are gone.")

    ended = app.tasks
    monkeypatch.setattr(BackgroundTasks, "close", failing)
    with pytest.raises(OSError, match="The tasks are gone"):
        await app.__aexit__(None, None, None)
    assert states(app) == {"END"} and app.tasks is None


async def test_a_version_that_does_not_close_well_has_ended(folder: Path, closed: list[af.serving.Model]) -> None:
    app = application(folder)
    await app.__aenter__()
    (served, _) = app.served.values()
    write_line(folder / "one" / "3", 2)
    failures: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: failures.append(context["exception"]))
    await app.refresh()
    assert served._ends is not None
    while served._ends.is_busy:
        await anyio.lowlevel.checkpoint()
    assert [str(error) for error in failures] == ["The disk is gone."]
    assert {number: version.state for number, version in served.versions.items()} == {2: "END", 3: "AVAILABLE"}
    with pytest.raises(OSError, match="The disk is gone"):
        await app.__aexit__(None, None, None)


async def test_a_server_of_asgi_hears_that_the_end_has_failed(folder: Path, closed: list[af.serving.Model]) -> None:
    words: list[str] = []

    async def receive() -> dict[str, Any]:
        return {"type": "lifespan"}

    async def send(message: Any) -> None:
        words.append(f"{message['type']} {message.get('message', '')}".strip())

    await application(folder)({"type": "lifespan"}, receive, send)
    assert words == ["lifespan.startup.complete", "lifespan.shutdown.failed The disk is gone."]
