"""`actorflow serve`: serves a folder of models."""

from __future__ import annotations

import argparse
import contextlib
import gc
import ssl
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from actorflow.base.origins import LOOPBACK, bracketed, opened_at
from actorflow.errors import InvalidArgumentError, NotFoundError
from actorflow.frontends.cli.main import Command
from actorflow.frontends.serving.guard import check_address
from actorflow.frontends.serving.listeners import listeners


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "models",
        nargs="+",
        help="a folder of models, or NAME=PATH for each; a path is a model, a folder of numbered versions, or FILE.py:NAME, "
        "a pipeline in a file of Python, whose code runs",
    )
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on; default: 127.0.0.1")
    parser.add_argument("--port", type=int, default=8501, help="the port; 0 takes a free one; default: 8501")
    parser.add_argument("--token-file", metavar="FILE", help="a file with the token that requests have to bring")
    parser.add_argument("--tls-cert", metavar="FILE", help="the certificate, to serve HTTPS")
    parser.add_argument("--tls-key", metavar="FILE", help="its key")
    parser.add_argument(
        "--max-batch", type=int, default=32, metavar="ROWS", help="the most rows of a step; default: 32"
    )
    parser.add_argument(
        "--max-delay",
        type=float,
        default=2.0,
        metavar="MS",
        help="how long a request waits for others while a step runs, where --steps of 2 or more leaves room for one; default: 2",
    )
    parser.add_argument(
        "--max-queued", type=int, default=1024, metavar="N", help="the most requests that wait; default: 1024"
    )
    parser.add_argument("--steps", type=int, default=1, metavar="N", help="how many steps run at a time; default: 1")
    parser.add_argument(
        "--poll", type=float, default=1.0, metavar="S", help="how often to look for new versions; default: 1"
    )
    parser.add_argument(
        "--timeout", type=float, default=30.0, metavar="S", help="the most time for an answer; default: 30"
    )
    parser.add_argument("--allow-unload", action="store_true", help="let requests load and unload models")
    parser.add_argument("--target", help="the address of a cluster whose tasks hold the models")
    for listener in listeners():
        listener.add_arguments(parser)


def _run(arguments: argparse.Namespace) -> int:
    with _late_collection() as collect:
        return _serve(arguments, collect)


@contextlib.contextmanager
def _late_collection() -> Iterator[Callable[[], None]]:
    """Lets the collector of cycles rest until its function is called: a start makes many objects, and little garbage."""
    is_enabled = gc.isenabled()
    gc.disable()

    def collect() -> None:
        if is_enabled:
            gc.enable()

    try:
        yield collect
    finally:
        collect()


def _serve(arguments: argparse.Namespace, is_ready: Callable[[], None]) -> int:
    token = _token(arguments.token_file)
    if bool(arguments.tls_cert) != bool(arguments.tls_key):
        raise InvalidArgumentError("--tls-cert and --tls-key go together.")
    check_address(arguments.host, token)
    from actorflow.frontends.http import server  # it imports asyncio, which other commands need not

    server.check_httptools("Serving", "serving", "Other ASGI servers run actorflow.serving.app(models).")
    tls = _tls(arguments.tls_cert, arguments.tls_key)
    host = bracketed(arguments.host)
    from actorflow.engine.batching.rows import Batching
    from actorflow.frontends.serving.application import Application
    from actorflow.frontends.serving.protocols.pages import lines

    application = Application(
        _models(arguments.models),
        batching=Batching(
            arguments.max_batch, arguments.max_delay / 1e3, arguments.max_queued, max_steps=arguments.steps
        ),
        poll_seconds=arguments.poll,
        timeout=arguments.timeout,
        token=token,
        hosts=None if token else (*LOOPBACK, host),
        control=arguments.allow_unload,
        target=arguments.target,
    )
    listening = server.listening(arguments.host, arguments.port)
    scheme = "https" if arguments.tls_cert else "http"
    address = f"{scheme}://{opened_at(arguments.host, listening.getsockname()[1])}"
    application.scheme = scheme

    def ready(others: Sequence[str]) -> None:
        is_ready()
        print("\n".join([address, *others, *lines(application.served, address, token is not None)]), flush=True)

    opened = [listener.open(application, arguments) for listener in listeners()]
    with server.quiet_interrupt():
        server.run(application, [listening], tls, ready, [each for each in opened if each is not None])
    return 0


def _tls(certificate: str | None, key: str | None) -> ssl.SSLContext | None:
    if certificate is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise InvalidArgumentError(f"The certificate {certificate!r} or its key can't be used: {error}.") from None
    return context


def _models(words: list[str]) -> Any:
    from actorflow.frontends.serving.pipelines.loading import load, stem_of

    if len(words) == 1 and "=" not in words[0]:
        stem = stem_of(words[0])
        return words[0] if stem is None else {stem: load(words[0])}
    pairs = [word.partition("=") for word in words]
    if not all(name and path for name, _, path in pairs):
        raise InvalidArgumentError("Several models are given as NAME=PATH.")
    return {name: path if stem_of(path) is None else load(path) for name, _, path in pairs}


def _token(file: str | None) -> str | None:
    if file is None:
        return None
    try:
        with open(file, encoding="utf-8") as opened:
            token = opened.read().strip()
    except OSError as error:
        raise NotFoundError(f"The token file {file!r} can't be read: {error.strerror}.") from None
    if len(token) < 16:
        raise InvalidArgumentError(f"The token in {file!r} has {len(token)} characters; 16 are the least.")
    return token


COMMAND = Command("serve models over HTTP", _arguments, _run)
