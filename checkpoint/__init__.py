"""How variables are saved and restored.

A module here implements the checkpoint store of the core: the kernels of Save and Restore, the file formats, and the
places where they are kept. The core finds them through the entry point groups `actorflow.checkpoint`,
`actorflow.kernels` and `actorflow.commands`. Modules import the core as `from actorflow.x import y`, their siblings
relatively, and no other part.
"""

if not __name__.startswith("actorflow."):
    raise ImportError(
        f"this folder is the package actorflow.checkpoint, not {__name__}: install the checkout (make test, or "
        "pip install -e .) and write `import actorflow.checkpoint`"
    )
