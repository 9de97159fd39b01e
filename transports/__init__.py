"""How messages travel between devices and processes.

A module here implements the `Transport` interface of the core for one kind of channel. The core finds it through the
entry point group `actorflow.transports`. Modules import the core as `from actorflow.x import y`, their siblings
relatively, and no other part.
"""

if not __name__.startswith("actorflow."):
    raise ImportError(
        f"this folder is the package actorflow.transports, not {__name__}: install the checkout (make test, or "
        "pip install -e .) and write `import actorflow.transports`"
    )
