"""The transports that are installed: by name, by scheme, and the cheapest for `auto`."""

from __future__ import annotations

from actorflow.base.registry import plugins
from actorflow.engine.transport.base import Reach
from actorflow.engine.transport.factory import TransportFactory
from actorflow.errors import FailedPreconditionError, InvalidArgumentError, UnimplementedError

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
    factory = _checked(name, plugins.load(_GROUP, name))
    if factory.unavailable:
        raise UnimplementedError(f"transport={name!r} can't work on this machine: {factory.unavailable}.")
    return factory


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
    factories = []
    for name, plugin in plugins.load_all(_GROUP).items():
        try:
            factories.append(_checked(name, plugin))
        except FailedPreconditionError as error:
            plugins.tell_once(_GROUP, name, error)
    return tuple(
        sorted(
            (factory for factory in factories if not factory.unavailable),
            key=lambda factory: (factory.cost, factory.name),
        )
    )


def cheapest(reach: Reach) -> TransportFactory | None:
    """The cheapest transport of just this reach."""
    return next((factory for factory in usable() if factory.reach is reach), None)


def with_scheme(scheme: str) -> TransportFactory | None:
    """The cheapest transport whose addresses begin with `scheme`; None if no such transport is installed."""
    if scheme in names():  # a transport's scheme is often its name, and then the others need not be imported
        factory = _checked(scheme, plugins.load(_GROUP, scheme))
        if factory.scheme == scheme:
            return factory
    return next((candidate for candidate in usable() if candidate.scheme == scheme), None)


def for_target(transport: str, target: str) -> str:
    """The name of the transport to a target: `transport`, unless the target's scheme is of another transport that "auto" would
    not take, or of a transport within a process, which nothing else reaches."""
    factory = with_scheme(target.partition("://")[0])
    if factory is None or factory is cheapest(Reach.ANY):
        return transport
    return factory.name if transport == AUTO or factory.reach is Reach.PROCESS else transport


def schemes() -> list[str]:
    """The schemes with which the addresses of tasks may begin."""
    return sorted({factory.scheme for factory in usable() if factory.reach is not Reach.HOST})


def key_maker() -> TransportFactory:
    """The cheapest transport that makes keys. Raises FailedPreconditionError if no transport does."""
    for factory in usable():
        if factory.make_keys is not None:
            return factory
    raise FailedPreconditionError(
        "No transport that is installed has keys.", hint=plugins.who_may_bring(_GROUP, "a transport", "NAME", ())
    )


def _checked(name: str, plugin: object) -> TransportFactory:
    """`plugin`, if it is a transport of that name. Raises FailedPreconditionError."""
    if isinstance(plugin, TransportFactory) and plugin.name == name != AUTO:
        return plugin
    what = f"the transport {plugin.name!r}" if isinstance(plugin, TransportFactory) else f"a {type(plugin).__name__}"
    raise FailedPreconditionError(
        f"The entry point {name!r} of actorflow.{_GROUP} names {what}, but it has to name a TransportFactory of its own name.",
        hint=f"It comes from the package {plugins.packages(_GROUP, name)}.",
    )
