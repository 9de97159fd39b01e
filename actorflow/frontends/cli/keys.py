"""`actorflow keys init|show`: creates the keys of a cluster or of a person, and shows the public part of them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path

from actorflow.cluster.config.credentials import (
    DEFAULT,
    VARIABLE,
    Credentials,
    default_path,
    fingerprint,
    read_keys,
    write_keys,
)
from actorflow.frontends.cli.main import Command


def _arguments(parser: argparse.ArgumentParser) -> None:
    below = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    making = below.add_parser("init", help="create a key pair and write it to a file that only you can read")
    making.add_argument("path", nargs="?", help=f"the key file; default: the variable {VARIABLE}, else {DEFAULT}")
    making.add_argument(
        "--for",
        dest="cluster",
        metavar="FILE",
        help="create a person's own keys, for the cluster whose key file is FILE",
    )
    making.set_defaults(act=_init)
    showing = below.add_parser("show", help="show the fingerprint of the keys in a file")
    showing.add_argument("path", nargs="?", help="the key file, with the same default as for init")
    showing.add_argument(
        "--public", action="store_true", help="show the whole public key too, for a cluster's allow-list"
    )
    showing.set_defaults(act=_show)


def _run(arguments: argparse.Namespace) -> int:
    act: Callable[[argparse.Namespace], int] = arguments.act
    return act(arguments)


def _path(path: str | None) -> Path:
    return Path(path or os.environ.get(VARIABLE) or default_path())


def _init(arguments: argparse.Namespace) -> int:
    path = _path(arguments.path)
    keys = Credentials.make(read_keys(arguments.cluster).peer_key() if arguments.cluster else None)
    if arguments.path is None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_keys(path, keys)
    print(f"{path}  {keys.fingerprint}")
    if arguments.cluster:
        print(f"Add this public key to the cluster's allow-list (actorflow worker --allow FILE):\n{keys.public}")
    else:
        print("Each task and each client of the cluster needs this file. Copy it over a secure channel.")
    print(f"export {VARIABLE}={path.absolute()}")
    return 0


def _show(arguments: argparse.Namespace) -> int:
    path = _path(arguments.path)
    keys = read_keys(path)
    print(f"{path}  {keys.fingerprint}")
    if keys.server is not None:
        print(f"for the cluster with the fingerprint  {fingerprint(keys.server)}")
    if arguments.public:
        print(keys.public)
    return 0


COMMAND = Command("create and show keys", _arguments, _run)
