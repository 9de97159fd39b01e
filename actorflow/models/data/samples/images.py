"""`ImageFolder`: a folder of images for each class."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from actorflow.base.dtypes import int64, uint8
from actorflow.engine.eager.scope import eager
from actorflow.errors import InvalidArgumentError, NotFoundError
from actorflow.graph.ops.io.images import decode_image
from actorflow.models.data.dataset import Dataset
from actorflow.public import public

_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif")


@public("af.data")
class ImageFolder(Dataset):
    """The images of a folder that has a folder for each class. An element is an image of uint8 and the number of its class.

    Images have sizes of their own: `map` brings them to a size before `batch`. Classes are numbered in the order of their names,
    and images come in the order of theirs: shuffle them before a training.

    Example:
        >>> import os
        >>> for name in ("cats", "dogs"):
        ...     os.makedirs(f"animals/{name}")
        ...     png = await session.run(af.image.encode_png(af.zeros([2, 3, 3], af.uint8)))
        ...     with open(f"animals/{name}/1.png", "wb") as file:
        ...         _ = file.write(png)
        >>> images = af.data.ImageFolder("animals")
        >>> images.classes, [(image.shape, int(label)) async for image, label in images]
        (('cats', 'dogs'), [((2, 3, 3), 0), ((2, 3, 3), 1)])

    Args:
        folder: the folder; files beside the folders of classes, and files of other endings in them, are passed over.
        channels: the channels of each image: 3, or 1 for grey.

    Raises:
        NotFoundError: there is no such folder.
        InvalidArgumentError: it has no class, a class has no image, or images have no such number of channels.

    In a run it raises InvalidArgumentError for a file that is no image; the message has its name. A thread reads and decodes the
    images, some ahead of those who pull.
    """

    __slots__ = ("classes",)

    classes: tuple[str, ...]
    """The names of the classes, by their numbers."""

    def __init__(self, folder: str | os.PathLike[str], channels: int = 3) -> None:
        if channels not in (1, 3):
            raise InvalidArgumentError(f"An image has 1 or 3 channels, not {channels}.")
        classes, files, labels = _listed(os.fspath(folder))

        def images() -> Iterator[Any]:
            for file, label in zip(files, labels):
                yield _image(file, channels), label

        super().__init__(Dataset.from_generator(images, (uint8, int64), ([None, None, channels], [])).node)
        object.__setattr__(self, "classes", classes)


def _image(file: str, channels: int) -> Any:
    """The pixels of a file. Raises NotFoundError, InvalidArgumentError."""
    try:
        with open(file, "rb") as opened, eager():
            pixels: Any = decode_image(opened.read(), channels=channels, expand_animations=False)
            return pixels.numpy()
    except OSError as error:
        raise NotFoundError(f"The image {file!r} can't be read: {error.strerror}.") from None
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"The image {file!r} can't be decoded: {error.message}") from None


def _listed(folder: str) -> tuple[tuple[str, ...], Sequence[str], Sequence[int]]:
    """The classes of a folder, its files, and the numbers of their classes."""
    try:
        classes = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir())
    except OSError as error:
        raise NotFoundError(f"The folder {folder!r} can't be read: {error.strerror}.") from None
    if not classes:
        raise InvalidArgumentError(f"The folder {folder!r} has no folder of a class in it.")
    files: list[str] = []
    labels: list[int] = []
    for number, name in enumerate(classes):
        inner = os.path.join(folder, name)
        images = sorted(file for file in os.listdir(inner) if file.lower().endswith(_ENDINGS))
        if not images:
            raise InvalidArgumentError(
                f"The class {name!r} of the folder {folder!r} has no image ({', '.join(_ENDINGS)})."
            )
        files += [os.path.join(inner, file) for file in images]
        labels += [number] * len(images)
    return tuple(classes), files, labels
