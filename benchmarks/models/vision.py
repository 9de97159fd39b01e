"""Convolutional networks on small images."""

from __future__ import annotations

from typing import Any

from benchmarks.harness.definitions import Case
from benchmarks.models.blocks import Model, Parts, model


def _classified(m: Model, x: Any, features: Any, channels: int, batch: int, side: int) -> Parts:
    lib = m.lib
    logits = m.dense(lib.reduce_mean(features, [1, 2]), channels, 10)
    images = m.floats(batch, side, side, 3)
    if not m.training:
        return (x,), (images,), lib.nn.softmax(logits), None
    labels = lib.placeholder(lib.int32, [batch])
    loss = m.classified(logits, labels)
    return (x, labels), (images, m.ints(10, batch)), loss, m.descent(loss)


def vgg(m: Model, batch: int, side: int = 32) -> Parts:
    """Three stages of two convolutions with batch normalization and a pool."""
    lib = m.lib
    x = value = lib.placeholder(lib.float32, [batch, side, side, 3])
    channels = 3
    for width in (16, 32, 64):
        for _ in range(2):
            value = lib.nn.relu(m.norm(m.conv(value, channels, width), width))
            channels = width
        value = lib.nn.max_pool(value, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    return _classified(m, x, value, channels, batch, side)


def resnet(m: Model, batch: int, blocks: int = 2, side: int = 32) -> Parts:
    """Three stages of residual blocks, the first of a stage with a stride and a projection."""
    lib = m.lib
    x = lib.placeholder(lib.float32, [batch, side, side, 3])
    value = lib.nn.relu(m.norm(m.conv(x, 3, 16), 16))
    channels = 16
    for width in (16, 32, 64):
        for block in range(blocks):
            stride = 2 if block == 0 and width > 16 else 1
            inner = lib.nn.relu(m.norm(m.conv(value, channels, width, stride=stride), width))
            inner = m.norm(m.conv(inner, width, width), width)
            short = value if stride == 1 else m.norm(m.conv(value, channels, width, 1, stride), width)
            value = lib.nn.relu(inner + short)
            channels = width
    return _classified(m, x, value, channels, batch, side)


def mobilenet(m: Model, batch: int, side: int = 32) -> Parts:
    """Depthwise and 1 × 1 convolutions, each with batch normalization and ReLU6."""
    lib = m.lib
    x = lib.placeholder(lib.float32, [batch, side, side, 3])
    value = lib.nn.relu6(m.norm(m.conv(x, 3, 16, stride=2), 16))
    channels = 16
    for width, stride in ((32, 1), (64, 2), (64, 1), (128, 2), (128, 1)):
        kernel = m.weights(3, 3, channels, 1, scale=0.3)
        value = lib.nn.depthwise_conv2d(value, kernel, [1, stride, stride, 1], "SAME")
        value = lib.nn.relu6(m.norm(value, channels))
        value = lib.nn.relu6(m.norm(m.conv(value, channels, width, 1), width))
        channels = width
    return _classified(m, x, value, channels, batch, side)


def unet(m: Model, batch: int, side: int = 32) -> Parts:
    """Down twice by pools, up twice by transposed convolutions, with the skipped features beside; a label per pixel."""
    lib = m.lib
    x, labels = lib.placeholder(lib.float32, [batch, side, side, 1]), lib.placeholder(lib.int32, [batch, side, side])

    def double(value: Any, inputs: int, outputs: int) -> Any:
        return lib.nn.relu(m.conv(lib.nn.relu(m.conv(value, inputs, outputs)), outputs, outputs))

    one = double(x, 1, 8)
    two = double(lib.nn.max_pool(one, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), 8, 16)
    value = double(lib.nn.max_pool(two, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), 16, 32)
    for skipped, inputs, outputs, size in ((two, 32, 16, side // 2), (one, 16, 8, side)):
        kernel = m.weights(2, 2, outputs, inputs, scale=0.1)
        up = lib.nn.conv2d_transpose(value, kernel, [batch, size, size, outputs], [1, 2, 2, 1], "SAME")
        value = double(lib.concat([skipped, up], 3), 2 * outputs, outputs)
    loss = m.classified(m.conv(value, 8, 2, 1), labels)
    return (x, labels), (m.floats(batch, side, side, 1), m.ints(2, batch, side, side)), loss, m.descent(loss)


TRAINING = (
    Case("vgg", "small VGG with batch norm, batch 16", model(vgg, batch=16)),
    Case("resnet", "small ResNet, batch 16", model(resnet, batch=16)),
    Case("mobilenet", "MobileNet kind, batch 16", model(mobilenet, batch=16)),
    Case("unet", "small U-Net, batch 4", model(unet, batch=4)),
)
INFERENCE = (
    Case("vgg_inference", "small VGG, batch 1", model(vgg, training=False, batch=1)),
    Case("resnet_inference", "small ResNet, batch 1", model(resnet, training=False, batch=1)),
    Case("mobilenet_inference", "MobileNet kind, batch 1", model(mobilenet, training=False, batch=1)),
)
