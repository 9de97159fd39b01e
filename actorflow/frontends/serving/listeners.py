"""`FrontendListener`: another way to the models of `actorflow serve` than HTTP (entry point group `actorflow.listeners`)."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from actorflow.base.registry import plugins as installed

if TYPE_CHECKING:
    from actorflow.frontends.serving.application import Application


class FrontendListener(Protocol):
    """Another way to the models of `actorflow serve`. It imports little before it is opened."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Adds its options to those of the command."""

    def open(
        self, application: Application, arguments: argparse.Namespace
    ) -> contextlib.AbstractAsyncContextManager[str] | None:
        """Listens until its end; the value is its address. None where the options ask for none.

        Args:
            application: answers; its models are loaded when the listener begins.
            arguments: the options of the command.
        """


def listeners() -> Sequence[FrontendListener]:
    """The listeners that are installed."""
    loaded: Mapping[str, Any] = installed.load_all("listeners")
    return list(loaded.values())
