"""How variables are saved and restored.

A module here implements the checkpoint store of the core: the kernels of Save and Restore, the file formats, and the stores
that keep the files. The core finds them through the entry point groups `actorflow.checkpoint`, `actorflow.files`,
`actorflow.kernels` and `actorflow.commands`. Modules import the core as `from actorflow.x import y`, their siblings relatively,
and no other part.

command.py    `actorflow checkpoint ls|inspect|verify|clean`: looks at checkpoints without a program
copies.py     copies of variables in the memory of other tasks
kernels.py    kernels of Save and Restore
reading.py    reads a checkpoint, and believes nothing that its checksums don't say
snapshot.py   the values of a checkpoint at one instant, and their way back
standard.py   the format `standard`, and the small files of folders: the objects behind their entry points
writing.py    writes a checkpoint: shards first, under names of their own, and then the manifest, which completes the checkpoint
bundle/       TensorFlow's checkpoints: the format `tensor_bundle`
format/       the form of a checkpoint: shards, manifest, checksums
stores/       where checkpoints are kept
"""

if not __name__.startswith("actorflow."):
    raise ImportError(
        f"this folder is the package actorflow.checkpoint, not {__name__}: install the checkout (make test, or "
        "pip install -e .) and write `import actorflow.checkpoint`"
    )
