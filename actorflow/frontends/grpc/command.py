"""The options of `actorflow serve` for gRPC."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from actorflow.errors import InvalidArgumentError

if TYPE_CHECKING:
    from actorflow.frontends.serving.application import Application


class _Listener:
    """gRPC beside HTTP, on a port of its own."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Adds `--grpc-port`."""
        parser.add_argument(
            "--grpc-port", type=int, metavar="PORT", help="answer by gRPC too, on this port; 0 takes a free one"
        )

    def open(
        self, application: Application, arguments: argparse.Namespace
    ) -> contextlib.AbstractAsyncContextManager[str] | None:
        """Listens where the port is given, with the address and the certificate of HTTP."""
        if arguments.grpc_port is None:
            return None
        from actorflow.frontends.grpc.server import GrpcServer, grpc_package

        grpc_package()
        tls = None
        if arguments.tls_cert:
            tls = _content(arguments.tls_cert), _content(arguments.tls_key)

        @contextlib.asynccontextmanager
        async def listening() -> AsyncIterator[str]:
            async with GrpcServer(application, arguments.host, arguments.grpc_port, tls=tls) as server:
                yield server.address

        return listening()


def _content(file: str) -> bytes:
    try:
        with open(file, "rb") as opened:
            return opened.read()
    except OSError as error:
        raise InvalidArgumentError(f"The file {file!r} can't be read: {error.strerror}.") from None


LISTENER = _Listener()
