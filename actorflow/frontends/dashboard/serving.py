"""`actorflow dashboard`: serves the page of a cluster."""

from __future__ import annotations

import argparse

from actorflow.base.origins import LOOPBACK, bracketed, is_loopback, opened_at
from actorflow.errors import InvalidArgumentError, NotFoundError
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
    from actorflow.frontends.dashboard.application import Dashboard  # it imports asyncio, which other commands need not
    from actorflow.frontends.http import server

    server.check_httptools("The page", "dashboard", "`actorflow top` needs nothing.")
    ((_, first),) = list(queries.targets(arguments).items())[:1]
    graph = read_graph(arguments.graph) if arguments.graph else None
    own = bracketed(arguments.host)
    names = [own if is_loopback(own) else "", arguments.behind_proxy or ""]
    hosts = (*LOOPBACK, *filter(None, names))
    page = Dashboard(first.address, graph=graph, credentials=first.credentials, hosts=hosts, logdir=arguments.logdir)
    listening = server.listening(arguments.host, arguments.port)
    print(f"http://{opened_at(arguments.host, listening.getsockname()[1])}/?token={page.token}", flush=True)
    with server.quiet_interrupt():
        server.run(page, [listening])
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


COMMAND = Command("serve a live page of a running cluster", _arguments, _run)
