"""`LivePage`: the live page that a local cluster opens beside itself (entry point group `actorflow.pages`)."""

from __future__ import annotations

from typing import Any, Protocol

from actorflow.base.registry import plugins
from actorflow.cluster.config.credentials import Target
from actorflow.errors import UnimplementedError

_NAME = "dashboard"


class LivePage(Protocol):
    """A page for browsers of this host. It answers until it is closed."""

    @property
    def address(self) -> str:
        """The place of the page, without its token."""

    @property
    def link(self) -> str:
        """The place of the page, with its token: for a browser."""

    def close(self) -> None:
        """Ends the page. A second call does nothing."""


def open_page(target: Target, port: int) -> LivePage:
    """Opens the live page of a cluster.

    Args:
        target: a task of the cluster, with the keys.
        port: the port; 0 takes a free port.

    Raises:
        InvalidArgumentError: there is no such port.
        UnavailableError: the port is taken.
        UnimplementedError: the page, or a package that it needs, is not installed.
    """
    make: Any = plugins.load_all("pages").get(_NAME)
    if make is None:
        raise UnimplementedError(
            "No live page is installed.",
            hint=f"A package brings it by the entry point {_NAME!r} of actorflow.pages; actorflow itself has it.",
        )
    page: LivePage = make(target, port)
    return page
