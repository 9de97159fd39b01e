"""`Image`: the handler of encoded images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import actorflow.compat.v1 as tf
from actorflow.compat.contrib.slim.data.items import ItemHandler


class Image(ItemHandler):
    """An image from its encoded bytes: JPEG, PNG, GIF, BMP, or plain bytes if the format says `raw` or `RAW`.

    Args:
        image_key: the key of the bytes; `image/encoded` unless given.
        format_key: the key of the format; `image/format` unless given.
        shape: the shape of all images. Without it sizes are unknown.
        channels: the number of channels.
        dtype: the type of the pixels.
        repeated: whether the feature is a vector of images.
        dct_method: how JPEGs are decoded; see `tf.image.decode_jpeg`.
    """

    def __init__(
        self,
        image_key: str | None = None,
        format_key: str | None = None,
        shape: Any = None,
        channels: int = 3,
        dtype: Any = tf.uint8,
        repeated: bool = False,
        dct_method: str = "",
    ) -> None:
        self._image_key, self._format_key = image_key or "image/encoded", format_key or "image/format"
        self._shape, self._channels, self._dtype = shape, channels, dtype
        self._repeated, self._dct_method = repeated, dct_method
        super().__init__([self._image_key, self._format_key])

    def tensors_to_item(self, keys_to_tensors: Mapping[str, Any]) -> Any:
        """The image, or the images one behind the other."""
        contents, form = keys_to_tensors[self._image_key], keys_to_tensors[self._format_key]
        if self._repeated:
            return tf.map_fn(lambda each: self._decode(each, form), contents, dtype=self._dtype)
        return self._decode(contents, form)

    def _decode(self, contents: Any, form: Any) -> Any:
        channels = self._channels

        def raw() -> Any:
            return tf.decode_raw(contents, out_type=self._dtype)

        def jpeg() -> Any:
            pixels = tf.image.decode_jpeg(contents, channels=channels, dct_method=self._dct_method)
            return tf.cast(pixels, self._dtype)

        def other() -> Any:
            return tf.cast(tf.image.decode_image(contents, channels=channels), self._dtype)

        def encoded() -> Any:
            return tf.cond(tf.image.is_jpeg(contents), jpeg, other, name="cond_jpeg")

        is_raw = tf.logical_or(tf.equal(form, "raw"), tf.equal(form, "RAW"))
        image = tf.case([(is_raw, raw)], default=encoded, exclusive=True)
        image.set_shape([None, None, channels])
        return image if self._shape is None else tf.reshape(image, self._shape)
