"""Status, metadata, readiness and statistics of models: answers that need no step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from actorflow.errors import InvalidArgumentError, NotFoundError
from actorflow.frontends.http.answers import JSON, Answer
from actorflow.frontends.serving.measures import Measures
from actorflow.frontends.serving.protocols import kserve, rest
from actorflow.frontends.serving.protocols.answers import ok
from actorflow.frontends.serving.protocols.pages import openapi
from actorflow.frontends.serving.protocols.routes import PathRoute, route
from actorflow.frontends.serving.protocols.writing import dump_json
from actorflow.frontends.serving.versions import Served

HEALTH = ("/health", "/healthz", "/v2/health/live")
"""Paths that ask for no token."""
PAGES = ("/", "/docs")
"""Paths of the page for people."""
_METRICS = ("/metrics", "/monitoring/prometheus/metrics")
_MOST_NAMED = 20
_READY = {"AVAILABLE": "READY", "END": "UNAVAILABLE"}


def question(path: str, models: Mapping[str, Served], measures: Measures, most_rows: int) -> Answer:
    """The answer to a GET.

    Args:
        path: the path.
        models: the models by name.
        measures: the counters.
        most_rows: the most rows of a step.

    Raises:
        OpError: there is nothing at the path, or no such model, version or label.
    """
    if path in HEALTH:
        return ok({"live": True})
    if path in _METRICS:
        return 200, b"text/plain; version=0.0.4", measures.text(_gauges(models)).encode(), ()
    if path == "/openapi.json":
        return openapi(models)
    if path in ("/v1/models", "/v1/models/"):
        return ok(_listed(models))
    if path in ("/v2", "/v2/"):
        return ok(kserve.server_metadata())
    if path == "/v2/health/ready":
        ready = is_ready(models)
        return _whether(ready, {"ready": ready})
    target = route(path)
    if target is not None and target.protocol == "rest" and not target.view.startswith(":"):
        return _of_rest(target, named(models, target.model))
    if target is not None and target.protocol == "kserve" and target.view != "infer":
        return _of_kserve(target, named(models, target.model), measures, most_rows)
    raise nothing_at("GET", path)


def _listed(models: Mapping[str, Served]) -> dict[str, Any]:
    """The models with their versions as `models`, and in the form of OpenAI's list as `data`."""
    own = [{"name": name, "versions": served.available()} for name, served in models.items()]
    data = [
        {"id": name, "object": "model", "created": served.versions[versions[-1]].since, "owned_by": "actorflow"}
        for name, served in models.items()
        if (versions := served.available())
    ]
    return {"object": "list", "data": data, "models": own}


def named(models: Mapping[str, Served], name: str) -> Served:
    """The model of a name. Raises NotFoundError."""
    served = models.get(name)
    if served is None:
        names = ", ".join(sorted(models)[:_MOST_NAMED]) or "none"
        raise NotFoundError(f"Servable not found for request: Latest({name[:200]}). The models here: {names}")
    return served


def nothing_at(method: str, path: str) -> InvalidArgumentError | NotFoundError:
    """The error of a path that no request of this method has."""
    if path.startswith("/v1"):
        return InvalidArgumentError(f"Malformed request: {method} {path[:200]}")
    return NotFoundError(f"There is nothing at {path[:200]}.")


def is_ready(models: Mapping[str, Served]) -> bool:
    """Whether all models answer that were not unloaded."""
    return bool(models) and all(served.is_unloaded or served.available() for served in models.values())


def index(models: Mapping[str, Served]) -> list[dict[str, str]]:
    """The versions of all models, as Triton's repository lists them."""
    return [
        {
            "name": served.name,
            "version": str(version.number),
            "state": _READY.get(version.state, version.state),
            "reason": "" if version.error is None else version.error.message,
        }
        for served in models.values()
        for version in served.versions.values()
    ]


def _of_rest(target: PathRoute, served: Served) -> Answer:
    number = target.number
    if target.view:
        version, model = served.find(number, target.label)
        return ok(rest.metadata(served.name, version, model.signatures))
    versions = list(served.versions.values())
    if target.label is not None:
        number = served.find(None, target.label)[0]
    if number is not None:
        versions = [version for version in versions if version.number == number]
    if not versions:
        raise NotFoundError(f"Could not find any versions of model {served.name}")
    return ok(rest.status(versions))


def _of_kserve(target: PathRoute, served: Served, measures: Measures, most_rows: int) -> Answer:
    name, number = served.name, target.number
    if target.view == "ready":
        ready = answers(served, number)
        return _whether(ready, {"name": name, "ready": ready})
    version, model = served.find(number)
    if target.view == "stats":
        return ok({"model_stats": [statistics(name, version, measures)]})
    if target.view == "config":
        return ok(kserve.configuration(name, model.default, most_rows))
    return ok(kserve.model_metadata(name, served.available(), model.default))


def answers(served: Served, number: int | None) -> bool:
    """Whether a version of a model answers, or any version for None."""
    return bool(served.available()) if number is None else number in served.available()


def _whether(ready: bool, content: Mapping[str, Any]) -> Answer:
    return (200 if ready else 503), JSON, dump_json(content), ()


def statistics(name: str, version: int, measures: Measures) -> dict[str, Any]:
    """The counts of a model, as Triton tells them."""
    good, bad, steps, seconds = measures.counts(name)
    return {
        "name": name,
        "version": str(version),
        "inference_count": good,
        "execution_count": steps,
        "inference_stats": {"success": {"count": good, "ns": int(seconds * 1e9)}, "fail": {"count": bad, "ns": 0}},
    }


def _gauges(models: Mapping[str, Served]) -> list[tuple[str, str, str, str, float]]:
    waiting = {
        name: sum(version.model.queued for version in served.versions.values() if version.model is not None)
        for name, served in models.items()
    }
    newest = {name: max(served.available(), default=0) for name, served in models.items()}
    sums: dict[tuple[str, str, str, str], float] = {}
    """Of all versions of a model, since a series has no label for them."""
    for name, served in models.items():
        for version in served.versions.values():
            if version.model is not None and version.state == "AVAILABLE":
                for part in version.model.parts:
                    for gauge in part.gauges():
                        series = f"actorflow_{gauge.name}", gauge.help, name, gauge.stage
                        sums[series] = sums.get(series, 0) + gauge.value
    return [
        *((*series, value) for series, value in sorted(sums.items())),
        *(("actorflow_serving_queued", "Requests that wait.", name, "", count) for name, count in waiting.items()),
        *(("actorflow_serving_version", "The newest version that answers.", name, "", n) for name, n in newest.items()),
    ]
