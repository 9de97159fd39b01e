"""`actorflow dashboard`: serves the page of a cluster."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from actorflow.base.origins import LOOPBACK, is_loopback
from actorflow.errors import InvalidArgumentError, NotFoundError, UnimplementedError, with_topic
from actorflow.frontends.cli import queries
from actorflow.frontends.cli.main import Command
from actorflow.graph.graph import Graph


def _arguments(parser: argparse.ArgumentParser) -> None:
    queries.add_arguments(parser)
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on; default: 127.0.0.1")
    parser.add_argument("--port", type=int, default=8265, help="the port; 0 takes a free one; default: 8265")
    parser.add_argument(
        "--behind-proxy",
        metavar="NAME",
        help="the name of a proxy with TLS before this page, to listen on other addresses",
    )
    parser.add_argument("--logdir", metavar="FOLDER", help="a folder of event files, whose scalars are shown as curves")
    parser.add_argument("--graph", metavar="FILE", help="the graph to draw: a GraphDef (.pb) or a .meta file")


def _run(arguments: argparse.Namespace) -> int:
    check_address(arguments.host, arguments.behind_proxy)
    uvicorn = _uvicorn()
    from actorflow.frontends.dashboard.application import Dashboard

    ((_, first),) = list(queries.targets(arguments).items())[:1]
    graph = read_graph(arguments.graph) if arguments.graph else None
    hosts = (*LOOPBACK, *([arguments.behind_proxy] if arguments.behind_proxy else []))
    page = Dashboard(first.address, graph=graph, credentials=first.credentials, hosts=hosts, logdir=arguments.logdir)
    config = uvicorn.Config(
        page, host=arguments.host, port=arguments.port, log_level="warning", server_header=False, lifespan="off"
    )
    server = uvicorn.Server(config)
    sockets = [config.bind_socket()]
    sockets[0].listen(config.backlog)  # who comes at once, because the address is printed, waits for the answer
    port = sockets[0].getsockname()[1]
    print(f"http://127.0.0.1:{port}/?token={page.token}", flush=True)
    with _quiet_interrupt():
        server.run(sockets=sockets)
    return 0


def check_address(host: str, proxy: str | None) -> None:
    """Raises InvalidArgumentError for an address that other machines reach, unless a proxy is said to stand before it."""
    if not is_loopback(host) and not proxy:
        raise InvalidArgumentError(
            f"The page is not served on {host}: its token would travel in the clear.",
            hint="Reach it through `ssh -L`, or put a proxy with TLS before it and name that: --behind-proxy NAME.",
        )


def read_graph(path: str) -> Graph:
    """The graph of a GraphDef or `.meta` file. Raises NotFoundError, InvalidArgumentError."""
    from actorflow.graph.graphdef.importing import import_graph_def
    from actorflow.graph.graphdef.protos import GraphDef, MetaGraphDef

    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise NotFoundError(f"The graph {path!r} can't be read: {error.strerror}.") from None
    message = MetaGraphDef.FromString(data).graph_def if path.endswith(".meta") else GraphDef.FromString(data)
    graph = Graph()
    with graph.as_default():
        import_graph_def(message, name="")
    return graph


def _uvicorn() -> Any:
    try:
        import uvicorn
    except ImportError:
        raise UnimplementedError(
            "The page needs the package uvicorn, which is not installed.",
            hint=with_topic(
                "Install it with: pip install 'actorflow[dashboard]'. `actorflow top` needs nothing.", "extra-missing"
            ),
        ) from None
    return uvicorn


@contextmanager
def _quiet_interrupt() -> Iterator[None]:
    """Ctrl-C ends the command without a traceback."""
    try:
        yield
    except KeyboardInterrupt:
        print(file=sys.stderr)


COMMAND = Command("serve a live page of a running cluster", _arguments, _run)
