"""The page at `/`, the OpenAPI description, and the lines of `actorflow serve`: which models there are, and how a model is
asked."""

from __future__ import annotations

import html
import json
import math
import shlex
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from actorflow.base.shapes import show
from actorflow.exchange.sources.signature import CLASSIFY, REGRESS, Port, Signature
from actorflow.exchange.sources.source import DEFAULT
from actorflow.frontends.http.answers import Answer
from actorflow.frontends.serving.plugin import Part
from actorflow.frontends.serving.protocols.answers import ok
from actorflow.frontends.serving.versions import Served

_LARGEST_EXAMPLE = 64
"""Elements of an example that is written out; a larger example is made by numpy."""
_HEADERS = (
    (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
)
_AGAIN = "<meta http-equiv=refresh content=2>"
"""A page with figures that change asks for itself again."""
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem}"
    "pre{background:#f3f3f3;padding:.7rem;overflow:auto}td,th{text-align:left;padding:.1rem 1rem .1rem 0}"
)


class PageEntry(NamedTuple):
    """A signature of a model that answers."""

    model: str
    versions: Sequence[int]
    name: str
    signature: Signature

    @property
    def path(self) -> str:
        """The path of a request for it."""
        verb = {CLASSIFY: "classify", REGRESS: "regress"}.get(self.signature.method, "predict")
        return f"/v1/models/{urllib.parse.quote(self.model, safe='')}:{verb}"

    @property
    def example(self) -> dict[str, Any] | None:
        """The body of a request; None where the model alone knows what it may be, or where the arrays are large."""
        ports = self.signature.inputs
        if self.signature.method in (CLASSIFY, REGRESS) or not ports:
            return None
        if sum([math.prod(_sizes(port)) for port in ports.values()]) > _LARGEST_EXAMPLE:
            return None
        body: dict[str, Any] = {} if self.name == DEFAULT else {"signature_name": self.name}
        values = {key: _value(port, _sizes(port)) for key, port in ports.items()}
        return body | {"inputs": values if len(values) > 1 else next(iter(values.values()))}

    def command(self, base: str, with_token: bool) -> str | None:
        """The command of a shell that asks it at an address.

        Args:
            base: the address, such as `http://127.0.0.1:8501`.
            with_token: whether requests have to bring a token.
        """
        if self.example is None:
            return None
        token = ' -H "Authorization: Bearer $TOKEN"' if with_token else ""
        return f"curl{token} -d {shlex.quote(json.dumps(self.example))} {shlex.quote(base + self.path)}"


def entries(models: Mapping[str, Served]) -> Iterator[PageEntry]:
    """The signatures of all models that answer."""
    for name, served in models.items():
        if versions := served.available():
            signatures = served.find(None)[1].signatures
            for key in sorted(signatures, key=lambda key: (key != DEFAULT, key)):
                yield PageEntry(name, versions, key, signatures[key])


def lines(models: Mapping[str, Served], base: str, with_token: bool) -> list[str]:
    """The lines that `actorflow serve` prints below its address: models, versions, signatures, a command that asks a model.

    Args:
        models: the models by name.
        base: the address.
        with_token: whether requests have to bring a token.
    """
    said, command = [], None
    for entry in entries(models):
        ends = " -> ".join([_ports(entry.signature.inputs), _ports(entry.signature.outputs)])
        said.append(f"  {entry.model}, version {', '.join(map(str, entry.versions))}: {entry.name}({ends})")
        command = command or entry.command(base, with_token)
    for name, part in _parts(models):
        said.append(f"  {name}: {part.says()}")
    said += [] if said else ["  no model answers yet"]
    return said + ([command] if command else [])


def page(models: Mapping[str, Served], base: str, with_token: bool) -> Answer:
    """The page at `/`. The arguments are those of `lines`."""
    parts = []
    for entry in entries(models):
        rows = [
            f"<tr><th>{kind}<td>{_plain(key)}<td>{port.dtype.name}<td>{_plain(show(port.shape))}"
            for kind, ports in (("input", entry.signature.inputs), ("output", entry.signature.outputs))
            for key, port in ports.items()
        ]
        command = entry.command(base, with_token)
        parts.append(
            f"<h2>{_plain(entry.model)}</h2><p>Version {', '.join(map(str, entry.versions))}, signature {_plain(entry.name)}, "
            f"POST {_plain(entry.path)}</p><table>{''.join(rows)}</table>"
            + (f"<pre>{_plain(command)}</pre>" if command else "")
        )
    parts += [f"<h2>{_plain(name)}</h2><p>{_plain(part.says())}</p>{_table(part)}" for name, part in _parts(models)]
    is_live = any(part.table() for _, part in _parts(models))
    body = "".join(parts) or "<p>No model answers yet.</p>"
    text = (
        f"<!doctype html><html lang=en><meta charset=utf-8>{_AGAIN if is_live else ''}<title>actorflow serve</title>"
        f"<style>{_STYLE}</style>"
        f"<h1>Models</h1>{body}<p>All requests: <a href=openapi.json>openapi.json</a>. Status: <a href=v1/models>v1/models</a>, "
        "<a href=metrics>metrics</a>.</p></html>"
    )
    return 200, b"text/html; charset=utf-8", text.encode(), _HEADERS


def openapi(models: Mapping[str, Served]) -> Answer:
    """The description of all requests, as OpenAPI has it.

    Args:
        models: the models by name.
    """
    paths: dict[str, Any] = {
        "/health": {"get": _operation("Whether the server lives.")},
        "/metrics": {"get": _operation("Counters and times, for Prometheus.")},
        "/v1/models": {"get": _operation("The models, and the versions that answer.")},
    }
    for entry in entries(models):
        place = urllib.parse.quote(entry.model, safe="")
        paths[f"/v1/models/{place}"] = {"get": _operation(f"The versions of {entry.model}.")}
        paths[f"/v1/models/{place}/metadata"] = {"get": _operation(f"The signatures of {entry.model}.")}
        paths[f"/v2/models/{place}"] = {"get": _operation(f"The inputs and outputs of {entry.model}.")}
        content: dict[str, Any] = {"schema": {"type": "object"}}
        if entry.example is not None:
            content["example"] = entry.example
        ends = " -> ".join([_ports(entry.signature.inputs), _ports(entry.signature.outputs)])
        post = _operation(f"Asks {entry.model}: {entry.name}({ends}).")
        body = {"required": True, "content": {"application/json": content}}
        paths.setdefault(entry.path, {"post": post | {"requestBody": body}})
    return ok({"openapi": "3.1.0", "info": {"title": "actorflow serve", "version": "1"}, "paths": paths})


def _table(part: Part) -> str:
    """The table of a part; nothing for a part that has none."""
    rows = [
        "<tr>" + "".join([f"<{'td' if number else 'th'}>{_plain(text)}" for text in row])
        for number, row in enumerate(part.table())
    ]
    return f"<table>{''.join(rows)}</table>" if rows else ""


def _parts(models: Mapping[str, Served]) -> Iterator[tuple[str, Part]]:
    """The models with a part: work of a plug-in, or the stages of a pipeline."""
    for name, served in models.items():
        if served.available():
            for part in served.find(None)[1].parts:
                yield name, part


def _operation(summary: str) -> dict[str, Any]:
    return {
        "summary": summary,
        "responses": {"200": {"description": "The answer."}, "default": {"description": "An error."}},
    }


def _plain(text: str) -> str:
    return html.escape(text)


def _ports(ports: Mapping[str, Port]) -> str:
    return ", ".join([f"{key}: {port.dtype.name}{show(port.shape)}" for key, port in ports.items()])


def _sizes(port: Port) -> list[int]:
    return [1 if size is None else size for size in (port.shape if port.shape is not None else (None,))]


def _value(port: Port, sizes: Sequence[int]) -> Any:
    if sizes:
        return [_value(port, sizes[1:]) for _ in range(sizes[0])]
    if port.dtype.name == "string":
        return "text"
    if port.dtype.name == "bool":
        return False
    return 1 if port.dtype.is_integer else 1.0
