"""`actorflow checkpoint ls|inspect|verify|clean`: lists, shows, verifies and cleans up checkpoints."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from actorflow.engine.formats import installed
from actorflow.errors import OpError
from actorflow.frontends.cli.main import Command

from .format.manifest import Manifest
from .reading import Reader, checkpoints_in
from .stores.store import open_store


def _arguments(parser: argparse.ArgumentParser) -> None:
    below = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = below.add_parser("ls", help="list the checkpoints of a folder, oldest first")
    listing.add_argument("folder", help="a folder, or a URL of one")
    listing.set_defaults(act=_list)
    cleaning = below.add_parser(
        "clean", help="remove the remains of interrupted saves from a folder; no program may save there meanwhile"
    )
    cleaning.add_argument("folder", help="a folder, or a URL of one")
    cleaning.set_defaults(act=_clean)
    for name, act, text in (
        ("inspect", _inspect, "show the variables in a checkpoint, with type, shape and size"),
        ("verify", _verify, "read all of a checkpoint and compare each checksum"),
    ):
        sub = below.add_parser(name, help=text)
        sub.add_argument("prefix", nargs="+", help="a checkpoint, such as models/model.ckpt-100")
        sub.set_defaults(act=act)


def _run(arguments: argparse.Namespace) -> int:
    act: Callable[[argparse.Namespace], int] = arguments.act
    return act(arguments)


def _list(arguments: argparse.Namespace) -> int:
    checkpoints = checkpoints_in(open_store(arguments.folder))
    for name, manifest in checkpoints.items():
        print(f"{name}  {_summary(manifest) if isinstance(manifest, Manifest) else f'damaged: {manifest.message}'}")
    if not checkpoints:
        print(f"There are no checkpoints in {arguments.folder}.")
    return int(any(isinstance(manifest, OpError) for manifest in checkpoints.values()))


def _clean(arguments: argparse.Namespace) -> int:
    for plugin in installed.usable().values():
        for name in plugin.clean(arguments.folder):
            print(f"removed {name}")
    return 0


def _summary(manifest: Manifest) -> str:
    step = "no global step" if manifest.global_step is None else f"step {manifest.global_step}"
    size = sum(shard.size for shard in manifest.shards)
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(manifest.saved_at))
    return f"{when}  {step}  {len(manifest.variables())} variables  {size:,} bytes in {len(manifest.shards)} files"


def _inspect(arguments: argparse.Namespace) -> int:
    for prefix in arguments.prefix:
        reader = installed.of(prefix).open(prefix)
        if not isinstance(reader, Reader):
            print(f"{prefix}\n{reader.debug_string()}")
            continue
        manifest = reader.manifest
        print(f"{prefix}  {_summary(manifest)}")
        for e in sorted(manifest.entries, key=lambda e: (e.kind != "variable", e.kind, e.name)):
            kind = "" if e.kind == "variable" else f"  ({e.kind})"
            part = "" if e.whole is None else str(e.region)
            print(
                f"  {e.name}{part}  {e.dtype}  {list(e.shape)}  {e.size:,} bytes  {manifest.shards[e.shard].file}{kind}"
            )
    return 0


def _verify(arguments: argparse.Namespace) -> int:
    bad = 0
    for prefix in arguments.prefix:
        try:
            damage = installed.of(prefix).open(prefix).damage()
        except OpError as error:
            damage = [str(error)]
        bad += bool(damage)
        print(f"{prefix}: {'damaged' if damage else 'good'}")
        for line in damage:
            print(f"  {line}")
    return int(bad > 0)


COMMAND = Command("list, show, verify and clean up checkpoints", _arguments, _run)
