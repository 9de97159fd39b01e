"""The transports that are installed: by name, by scheme, and the cheapest for `auto`."""

from __future__ import annotations

from actorflow.errors import FailedPreconditionError, InvalidArgumentError, UnimplementedError
from actorflow.registry import plugins
from actorflow.transport.base import Reach
from actorflow.transport.factory import TransportFactory

AUTO = "auto"
"""The name that takes the cheapest transports that reach a peer."""
_GROUP = "transports"


def find(name: str) -> TransportFactory:
    """The transport of that name.

    Raises:
        InvalidArgumentError: nothing of that name is installed.
        PluginError: the package that brings it can't be imported.
        UnimplementedError: it can't work on this machine.
    """
    if name not in names():
        raise InvalidArgumentError(
            f"transport={name!r}: no such transport is installed; there are {', '.join((AUTO, *names()))}.",
            hint=plugins.who_may_bring(_GROUP, "a transport", name, (AUTO, *names())),
        )
    found = _checked(name, plugins.load(_GROUP, name))
    if found.unavailable:
        raise UnimplementedError(f"transport={name!r} can't work on this machine: {found.unavailable}.")
    return found


def check(name: str) -> None:
    """Raises what `find` raises, unless `name` is "auto"."""
    if name != AUTO:
        find(name)


def names() -> list[str]:
    """The names of all that are installed; none of them is imported."""
    return plugins.names(_GROUP)


def usable() -> tuple[TransportFactory, ...]:
    """Those that work here, the cheapest first. A transport that can't be imported is left out; the log tells of it
    once."""
    found = []
    for name, made in plugins.load_all(_GROUP).items():
        try:
            found.append(_checked(name, made))
        except FailedPreconditionError as error:
            plugins.tell_once(_GROUP, name, error)
    return tuple(sorted((one for one in found if not one.unavailable), key=lambda one: (one.cost, one.name)))


def cheapest(reach: Reach) -> TransportFactory | None:
    """The cheapest one of just this reach."""
    return next((one for one in usable() if one.reach is reach), None)


def with_scheme(scheme: str) -> TransportFactory | None:
    """The cheapest one whose addresses begin with `scheme`; None where no transport is installed for them."""
    if scheme in names():  # a transport's scheme is often its name, and then the others need not be imported
        found = _checked(scheme, plugins.load(_GROUP, scheme))
        if found.scheme == scheme:
            return found
    return next((one for one in usable() if one.scheme == scheme), None)


def for_target(transport: str, target: str) -> str:
    """The name of the transport to a target: `transport`, unless the target's scheme is of another one that "auto" would not
    take, or of one that joins the tasks of one process, which nothing else reaches."""
    found = with_scheme(target.partition("://")[0])
    if found is None or found is cheapest(Reach.ANY):
        return transport
    return found.name if transport == AUTO or found.reach is Reach.PROCESS else transport


def schemes() -> list[str]:
    """The schemes with which the addresses of tasks may begin."""
    return sorted({one.scheme for one in usable() if one.reach is not Reach.HOST})


def key_maker() -> TransportFactory:
    """The cheapest one that makes keys. Raises FailedPreconditionError where there is none."""
    for one in usable():
        if one.make_keys is not None:
            return one
    raise FailedPreconditionError(
        "No transport that is installed has keys.", hint=plugins.who_may_bring(_GROUP, "a transport", "NAME", ())
    )


def _checked(name: str, made: object) -> TransportFactory:
    """`made`, if it is a transport of that name. Raises FailedPreconditionError."""
    if isinstance(made, TransportFactory) and made.name == name != AUTO:
        return made
    what = f"the transport {made.name!r}" if isinstance(made, TransportFactory) else f"a {type(made).__name__}"
    raise FailedPreconditionError(
        f"The entry point {name!r} of actorflow.{_GROUP} names {what}, but it has to name a TransportFactory of its own name.",
        hint=f"It comes from the package {plugins.packages(_GROUP, name)}.",
    )
