"""How variables are saved and restored.

A module here implements the checkpoint store of the core: the kernels of Save and Restore, the file formats, and the
policy of what is kept. The core finds it through the entry point group `actorflow.checkpoint`. Modules import the core
as `from actorflow.x import y`, their siblings relatively, and no other part.
"""

if not __name__.startswith("actorflow."):
    raise ImportError(
        f"this folder is the package actorflow.checkpoint, not {__name__}: install the checkout (make test, or "
        "pip install -e .) and write `import actorflow.checkpoint`"
    )
