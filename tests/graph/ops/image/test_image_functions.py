"""Functions of images beside what TensorFlow's answers show: sizes that only a run knows, random numbers, refusals, files."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow import errors


@pytest.fixture(autouse=True)
def graph() -> Iterator[af.Graph]:
    with af.Graph().as_default() as made:
        yield made


@pytest.fixture
def session(graph: af.Graph) -> Iterator[af.blocking.Session]:
    with af.blocking.Session(graph=graph) as made:
        yield made


def images(seed: int, *shape: int, dtype: Any = np.float32) -> Any:
    return np.random.default_rng(seed).uniform(0, 1, shape).astype(dtype)


@pytest.mark.parametrize(
    "build",
    [
        lambda x: af.image.central_crop(x, 0.5),
        lambda x: af.image.resize_image_with_crop_or_pad(x, 4, 12),
        lambda x: af.image.crop_to_bounding_box(x, 1, 2, 3, 4),
        lambda x: af.image.pad_to_bounding_box(x, 1, 2, 11, 12),
        lambda x: af.image.resize_images(x, [4, 5]),
        lambda x: af.image.resize_images(x, [20, 5], preserve_aspect_ratio=True),
        lambda x: af.image.resize_image_with_pad(x, 9, 5),
        lambda x: af.image.flip_left_right(x),
        lambda x: af.image.rot90(x, 3),
        lambda x: af.image.per_image_standardization(x),
        lambda x: af.image.total_variation(x),
        lambda x: af.image.adjust_contrast(x, 0.5),
        lambda x: af.image.rgb_to_grayscale(x),
    ],
)
def test_sizes_that_only_the_run_knows(
    session: af.blocking.Session, seed: int, build: Callable[[Any], af.Tensor]
) -> None:
    value = images(seed, 2, 6, 9, 3)
    some = af.placeholder(af.float32, [None, None, None, None])
    one = af.placeholder(af.float32, [None, None, None])
    expected = session.run(build(value))
    np.testing.assert_allclose(session.run(build(some), {some: value}), expected, rtol=1e-6)
    np.testing.assert_allclose(session.run(build(one), {one: value[0]}), expected[0], rtol=1e-5, atol=1e-6)


def test_known_sizes_stay_known() -> None:
    x = af.placeholder(af.float32, [None, 8, 6, 3])
    assert af.image.resize_images(x, [4, 5]).shape == (None, 4, 5, 3)
    assert af.image.central_crop(x, 0.5).shape == (None, 4, 4, 3)
    assert af.image.crop_to_bounding_box(x, 1, 1, 2, 3).shape == (None, 2, 3, 3)
    assert af.image.pad_to_bounding_box(x, 1, 1, 10, 9).shape == (None, 10, 9, 3)
    assert af.image.resize_image_with_crop_or_pad(x, 3, 9).shape == (None, 3, 9, 3)
    assert af.image.crop_and_resize(x, np.zeros((5, 4)), np.zeros(5, np.int32), [2, 7]).shape == (5, 2, 7, 3)
    assert af.image.sobel_edges(x).shape == (None, 8, 6, 3, 2)


def numeric(function: Callable[[Any], Any], x: Any, step: float = 1e-3) -> Any:
    """The slopes of a sum by differences."""
    made = np.zeros_like(x, np.float64)
    for at in np.ndindex(*x.shape):
        up, down = x.copy(), x.copy()
        up[at] += step
        down[at] -= step
        made[at] = (function(up) - function(down)) / (2 * step)
    return made


@pytest.mark.parametrize("method", ["resize_bilinear", "resize_bicubic", "resize_area", "resize_nearest_neighbor"])
def test_slopes_of_slopes(session: af.blocking.Session, seed: int, method: str) -> None:
    """A resize is linear: its slopes are those of differences, and theirs are a resize again."""
    x, weight = images(seed, 1, 4, 5, 1), images(seed + 1, 1, 3, 7, 1)
    source, slope = af.placeholder(af.float32, x.shape), af.placeholder(af.float32, weight.shape)
    resized = getattr(af.image, method)(source, [3, 7])
    (back,) = af.gradients(resized, [source], slope)
    expected = numeric(lambda v: float((session.run(resized, {source: v}) * weight).sum(dtype=np.float64)), x, 0.05)
    np.testing.assert_allclose(session.run(back, {source: x, slope: weight}), expected, atol=2e-4)
    (again,) = af.gradients(back, [slope], source)
    np.testing.assert_allclose(
        session.run(again, {source: x, slope: weight}), session.run(resized, {source: x}), atol=1e-5
    )


def test_integers_have_no_slopes(session: af.blocking.Session) -> None:
    x = af.placeholder(af.uint8, [1, 4, 4, 1])
    assert af.gradients(af.image.resize_bilinear(x, [2, 2]), [x]) == [None]


# ---- random numbers


def test_flips_at_random(session: af.blocking.Session) -> None:
    x = images(0, 400, 2, 3, 1)
    for random, plain in (
        (af.image.random_flip_left_right, af.image.flip_left_right),
        (af.image.random_flip_up_down, af.image.flip_up_down),
    ):
        made, again, turned = session.run([random(x, seed=3), random(x, seed=4), plain(x)])
        flipped = [np.array_equal(one, other) for one, other in zip(made, turned)]
        assert all(f or np.array_equal(one, other) for f, one, other in zip(flipped, made, x))
        assert 120 < sum(flipped) < 280 and not np.array_equal(made, again)
        one = random(x[0])
        seen = {session.run(one).tobytes() for _ in range(40)}
        assert seen == {x[0].tobytes(), turned[0].tobytes()}


def test_adjustments_at_random(session: af.blocking.Session) -> None:
    x = images(0, 4, 4, 3) * np.float32(0.5) + np.float32(0.2)
    brighter = af.image.random_brightness(x, 0.2)
    deltas = np.array([(session.run(brighter) - x).mean() for _ in range(30)])
    assert np.abs(deltas).max() <= 0.2 and deltas.std() > 0.02
    contrast = af.image.random_contrast(x, 0.5, 1.5)
    factors = np.array([session.run(contrast).std() / x.std() for _ in range(30)])
    assert factors.min() > 0.4 and factors.max() < 1.6 and factors.std() > 0.05
    for random in (af.image.random_hue(x, 0.2), af.image.random_saturation(x, 0.2, 0.8)):
        first, second = session.run(random), session.run(random)
        assert not np.array_equal(first, second)
        np.testing.assert_allclose(first.max(-1), x.max(-1), rtol=1e-4)


def test_boxes_at_random_show_enough(session: af.blocking.Session) -> None:
    objects = np.array([[[0.1, 0.2, 0.6, 0.7]]], np.float32)
    begin, size, box = af.image.sample_distorted_bounding_box(
        [60, 80, 3], objects, min_object_covered=0.5, aspect_ratio_range=[0.5, 2.0], area_range=[0.1, 0.9]
    )
    assert (begin.dtype, size.dtype, box.shape) == (af.int32, af.int32, (1, 1, 4))
    seen = set()
    for _ in range(50):
        (top, left, _), (high, wide, all_channels), found = session.run([begin, size, box])
        np.testing.assert_allclose(found[0, 0], [top / 60, left / 80, (top + high) / 60, (left + wide) / 80], rtol=1e-6)
        assert 0 <= top and top + high <= 60 and 0 <= left and left + wide <= 80 and all_channels == -1
        seen.add((top, left, high, wide))
        if (high, wide) == (60, 80):
            continue  # none was found
        assert 0.1 <= high * wide / 4800 <= 0.9 and 0.45 < wide / high < 2.2
        common = (min(36, top + high) - max(6, top)) * (min(56, left + wide) - max(16, left))
        assert common >= 0.5 * 30 * 40 - 1e-6
    assert len(seen) > 40


def test_boxes_at_random_without_an_object(session: af.blocking.Session) -> None:
    none = np.zeros((1, 0, 4), np.float32)
    with pytest.raises(errors.InvalidArgumentError, match="No bounding boxes"):
        session.run(af.image.sample_distorted_bounding_box([6, 8, 3], none))
    made = af.image.sample_distorted_bounding_box([60, 80, 3], none, use_image_if_no_bounding_boxes=True, seed=5)
    assert session.run(made)[1][2] == -1
    with pytest.raises(errors.InvalidArgumentError, match=r"within \[0, 1\]"):
        session.run(af.image.sample_distorted_bounding_box([6, 8, 3], [[[0.5, 0.0, 0.2, 1.0]]]))
    impossible = af.image.sample_distorted_bounding_box(
        [6, 8, 3], [[[0.0, 0.0, 1.0, 1.0]]], min_object_covered=1.0, area_range=[0.1, 0.2], max_attempts=3
    )
    assert session.run(impossible)[1].tolist() == [6, 8, -1]


# ---- refusals

IMAGE = np.zeros((4, 5, 3), np.float32)


@pytest.mark.parametrize(
    ("words", "build"),
    [
        ("at least three-dimensional", lambda: af.image.flip_left_right(np.zeros((2, 2)))),
        ("must have either 3 or 4", lambda: af.image.flip_left_right(np.zeros((1, 1, 1, 1, 1)))),
        ("has to be known", lambda: af.image.resize_images(af.placeholder(af.float32), [2, 2])),
        ("not implemented: 7", lambda: af.image.resize_images(IMAGE, [2, 2], 7)),
        ("1-D Tensor of 2 elements", lambda: af.image.resize_images(IMAGE, [2, 2, 2])),
        ("one or more, not", lambda: af.image.resize_bilinear(IMAGE[None], [0, 2])),
        ("align_corners must be False", lambda: af.image.resize_bilinear(IMAGE[None], [2, 2], True, True)),
        ("central_fraction must be", lambda: af.image.central_crop(IMAGE, 0.0)),
        ("width must be >= target", lambda: af.image.crop_to_bounding_box(IMAGE, 0, 3, 2, 3)),
        ("offset_height must be >= 0", lambda: af.image.crop_to_bounding_box(IMAGE, -1, 0, 2, 3)),
        ("target_width must be > 0", lambda: af.image.crop_to_bounding_box(IMAGE, 0, 0, 2, 0)),
        ("height must be <= target", lambda: af.image.pad_to_bounding_box(IMAGE, 2, 0, 5, 5)),
        ("target_height must be > 0", lambda: af.image.resize_image_with_crop_or_pad(IMAGE, 0, 5)),
        ("Gamma should be", lambda: af.image.adjust_gamma(IMAGE, -1)),
        ("max_delta must be non-negative", lambda: af.image.random_brightness(IMAGE, -1)),
        ("max_delta must be <= 0.5", lambda: af.image.random_hue(IMAGE, 0.7)),
        ("upper must be > lower", lambda: af.image.random_contrast(IMAGE, 1.0, 1.0)),
        ("lower must be non-negative", lambda: af.image.random_saturation(IMAGE, -1.0, 1.0)),
        ("3 channels", lambda: af.image.rgb_to_grayscale(IMAGE[..., :2])),
        ("1 channels", lambda: af.image.grayscale_to_rgb(IMAGE)),
        ("bilinear or nearest", lambda: af.image.crop_and_resize(IMAGE[None], [[0.0] * 4], [0], [2, 2], "area")),
        ("`box_ind`", lambda: af.image.crop_and_resize(IMAGE[None], [[0.0] * 4])),
        (r"in \[0, 1\]", lambda: af.image.non_max_suppression([[0.0] * 4], [1.0], 1, 2.0)),
        ("1, 3 or 4 channels", lambda: af.image.draw_bounding_boxes(IMAGE[None, ..., :2], np.zeros((1, 1, 4)))),
        ("area_range", lambda: af.image.sample_distorted_bounding_box([4, 4, 3], [[[0.0] * 4]], area_range=[0.5, 2.0])),
        ("differ in shape", lambda: af.image.psnr(IMAGE, IMAGE[:2], 1.0)),
    ],
)  # fmt: skip
def test_what_is_refused_as_the_graph_is_built(words: str, build: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match=words):
        build()


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_the_best_boxes_of_both_types_are_kept(session: af.blocking.Session, dtype: type) -> None:
    boxes = np.array([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3]], dtype)
    kept = af.image.non_max_suppression(boxes, np.array([0.7, 0.9, 0.5], dtype), 3)
    assert session.run(kept).tolist() == [1, 2]
    with pytest.raises(TypeError, match="float64"):
        af.image.non_max_suppression(boxes, af.constant([0.7, 0.9, 0.5], af.float64), 3)


def test_what_is_refused_in_the_run(session: af.blocking.Session) -> None:
    some, size = af.placeholder(af.float32), af.placeholder(af.int32)
    image = af.placeholder(af.float32, [None, None, None])
    numbers = af.placeholder(af.int32)
    for words, made, feeds in (
        ("batch, height, width", af.image.resize_bilinear(some, [2, 2]), {some: IMAGE}),
        ("one or more, not", af.image.resize_area(IMAGE[None], size), {size: [2, 0]}),
        ("three channels", af.image.rgb_to_hsv(some), {some: IMAGE[..., :2]}),
        ("height must be >= target", af.image.crop_to_bounding_box(image, 0, 0, 9, 2), {image: IMAGE}),
        ("is not in \\[0, 1\\)", af.image.crop_and_resize(IMAGE[None], [[0.0] * 4], numbers, [2, 2]), {numbers: [1]}),
        ("Boxes \\[n, 4\\]", af.image.non_max_suppression(some, [1.0], 1), {some: [[0.0] * 3]}),
    ):
        with pytest.raises(errors.InvalidArgumentError, match=words):
            session.run(made, feeds)


# ---- files


def test_images_of_all_formats(session: af.blocking.Session) -> None:
    from PIL import Image

    pixels = (images(0, 4, 6, 3) * 255).astype(np.uint8)
    flat = np.zeros((2, 3, 3), np.uint8)

    def written(kind: str, *frames: Any) -> bytes:
        file = io.BytesIO()
        first, *others = map(Image.fromarray, frames)
        first.save(file, kind, **({"save_all": True, "append_images": others} if others else {}))
        return file.getvalue()

    bmp = session.run(af.image.decode_bmp(written("BMP", pixels)))
    assert np.array_equal(bmp, pixels)
    gif = session.run(af.image.decode_gif(written("GIF", flat, flat + 255)))
    assert np.array_equal(gif, np.stack([flat, flat + 255]))
    assert np.array_equal(session.run(af.image.decode_png(af.image.encode_png(pixels))), pixels)
    jpeg = session.run(af.image.encode_jpeg(pixels))
    whole = session.run(af.image.decode_jpeg(jpeg))
    part = session.run(af.image.decode_and_crop_jpeg(jpeg, [1, 2, 3, 4]))
    assert np.array_equal(part, whole[1:4, 2:6])
    assert session.run([af.image.is_jpeg(jpeg), af.image.is_jpeg(b"\x89PNG")]) == [True, False]
    smooth = np.linspace(0, 1, 192, dtype=np.float32).reshape(8, 8, 3)
    poor, good = session.run([af.image.adjust_jpeg_quality(smooth, q) for q in (5, 98)])
    assert poor.dtype == np.float32 and 0.02 > np.abs(good - smooth).mean() < np.abs(poor - smooth).mean()
    for decode, text in ((af.image.decode_bmp, jpeg), (af.image.decode_gif, b"no image")):
        with pytest.raises(errors.InvalidArgumentError, match=r"no .*(BMP|GIF) image"):
            session.run(decode(text))


OF_ONE_OR_MANY: dict[str, Callable[[Any], af.Tensor]] = {
    "crop_to_bounding_box": lambda x: af.image.crop_to_bounding_box(x, 0, 0, 2, 2),
    "pad_to_bounding_box": lambda x: af.image.pad_to_bounding_box(x, 0, 0, 4, 6),
    "resize_image_with_crop_or_pad": lambda x: af.image.resize_image_with_crop_or_pad(x, 2, 2),
}


@pytest.mark.parametrize("name", sorted(OF_ONE_OR_MANY))
def test_a_frame_is_put_around_images_of_known_ranks_and_sizes(session: af.blocking.Session, name: str) -> None:
    build = OF_ONE_OR_MANY[name]
    for shape in [(3, 5), (1, 3, 5, 1, 1)]:
        with pytest.raises(ValueError, match="'image' must have either 3 or 4 dimensions"):
            build(np.zeros(shape, np.float32))
    for shape in [(0, 5, 1), (3, 0, 1), (3, 5, 0)]:
        with pytest.raises(ValueError, match=r"all dims of 'image\.shape' must be > 0"):
            build(np.zeros(shape, np.float32))
        fed = af.placeholder(af.float32, [None, None, None])
        with pytest.raises(
            errors.InvalidArgumentError, match=r"assertion failed: .*all dims of 'image\.shape' must be > 0"
        ):
            session.run(build(fed), {fed: np.zeros(shape, np.float32)})
    unknown = af.placeholder(af.float32)
    value = images(0, 3, 5, 2)
    framed = build(unknown)
    assert framed.shape.as_list()[:2] == build(value).shape.as_list()[:2]
    np.testing.assert_array_equal(session.run(framed, {unknown: value}), session.run(build(value)))


@pytest.mark.parametrize("number", [0, 1, 2, 3, 4, -1])
@pytest.mark.parametrize("shape", [(2, 3, 1), (2, 2, 3, 1)])
def test_a_turn_that_only_the_run_knows(session: af.blocking.Session, number: int, shape: tuple[int, ...]) -> None:
    value = images(0, *shape)
    turns = af.placeholder(af.int32, [])
    expected = np.rot90(value, number, axes=(len(shape) - 3, len(shape) - 2))
    np.testing.assert_array_equal(session.run(af.image.rot90(value, turns), {turns: number}), expected)


def test_sizes_and_offsets_of_int64(session: af.blocking.Session) -> None:
    numbers = af.constant([1, 0, 4, 3], af.int64)
    padded = af.image.pad_to_bounding_box(np.ones([3, 3, 1]), *(numbers[i] for i in range(4)))
    assert session.run(padded)[:, 0, 0].tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize("offsets", [(-1, 0, 3, 3), (0, -1, 3, 3), (0, 0, 0, 3), (2, 0, 3, 3)])
def test_a_crop_that_can_not_be_is_named_by_its_numbers(offsets: tuple[int, ...]) -> None:
    fed = af.placeholder(af.float32, [None, None, None])
    with af.blocking.Session() as session, pytest.raises((ValueError, errors.OpError), match="must be >"):
        session.run(af.image.crop_to_bounding_box(fed, *map(af.constant, offsets)), {fed: np.zeros([4, 4, 1])})


def test_the_whole_of_an_image_is_the_image() -> None:
    image = af.constant(np.ones([3, 3, 1]))
    assert af.image.central_crop(image, 1.0) is image


@pytest.mark.parametrize("size", [[6, 4.0], [None, 4], [6, None], [6.5, 4]])
def test_a_size_that_is_no_two_integers(size: Any) -> None:
    with pytest.raises(ValueError, match="'size' must be"):
        af.image.resize_images(np.zeros([2, 2, 1]), size)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 1), (2, 2, 3, 1)])
def test_gamma_of_any_rank(session: af.blocking.Session, shape: tuple[int, ...]) -> None:
    value = images(0, *shape)
    np.testing.assert_allclose(session.run(af.image.adjust_gamma(value, 2.0)), value**2, rtol=1e-5)
    with pytest.raises(errors.InvalidArgumentError, match="non-negative"):
        session.run(af.image.adjust_gamma(value, af.constant(-1.0)))
