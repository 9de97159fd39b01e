# `make names` writes this file from the marks in the sources.

from actorflow.compat.names.boxes import combined_non_max_suppression as combined_non_max_suppression
from actorflow.compat.names.boxes import extract_jpeg_shape as extract_jpeg_shape
from actorflow.compat.names.boxes import non_max_suppression_overlaps as non_max_suppression_overlaps
from actorflow.compat.names.boxes import non_max_suppression_padded as non_max_suppression_padded
from actorflow.compat.names.boxes import non_max_suppression_with_scores as non_max_suppression_with_scores
from actorflow.compat.names.boxes import ssim_multiscale as ssim_multiscale
from actorflow.compat.names.functions import extract_patches as extract_patches
from actorflow.graph.ops.image.adjust import adjust_brightness as adjust_brightness
from actorflow.graph.ops.image.adjust import adjust_contrast as adjust_contrast
from actorflow.graph.ops.image.adjust import adjust_gamma as adjust_gamma
from actorflow.graph.ops.image.adjust import adjust_hue as adjust_hue
from actorflow.graph.ops.image.adjust import adjust_jpeg_quality as adjust_jpeg_quality
from actorflow.graph.ops.image.adjust import adjust_saturation as adjust_saturation
from actorflow.graph.ops.image.adjust import per_image_standardization as per_image_standardization
from actorflow.graph.ops.image.adjust import random_brightness as random_brightness
from actorflow.graph.ops.image.adjust import random_contrast as random_contrast
from actorflow.graph.ops.image.adjust import random_hue as random_hue
from actorflow.graph.ops.image.adjust import random_saturation as random_saturation
from actorflow.graph.ops.image.boxes import draw_bounding_boxes as draw_bounding_boxes
from actorflow.graph.ops.image.boxes import non_max_suppression as non_max_suppression
from actorflow.graph.ops.image.boxes import sample_distorted_bounding_box as sample_distorted_bounding_box
from actorflow.graph.ops.image.colors import grayscale_to_rgb as grayscale_to_rgb
from actorflow.graph.ops.image.colors import hsv_to_rgb as hsv_to_rgb
from actorflow.graph.ops.image.colors import rgb_to_grayscale as rgb_to_grayscale
from actorflow.graph.ops.image.colors import rgb_to_hsv as rgb_to_hsv
from actorflow.graph.ops.image.colors import rgb_to_yiq as rgb_to_yiq
from actorflow.graph.ops.image.colors import rgb_to_yuv as rgb_to_yuv
from actorflow.graph.ops.image.colors import yiq_to_rgb as yiq_to_rgb
from actorflow.graph.ops.image.colors import yuv_to_rgb as yuv_to_rgb
from actorflow.graph.ops.image.convert import convert_image_dtype as convert_image_dtype
from actorflow.graph.ops.image.crops import central_crop as central_crop
from actorflow.graph.ops.image.crops import crop_to_bounding_box as crop_to_bounding_box
from actorflow.graph.ops.image.crops import pad_to_bounding_box as pad_to_bounding_box
from actorflow.graph.ops.image.crops import resize_image_with_crop_or_pad as resize_image_with_crop_or_pad
from actorflow.graph.ops.image.crops import resize_image_with_crop_or_pad as resize_with_crop_or_pad
from actorflow.graph.ops.image.crops import total_variation as total_variation
from actorflow.graph.ops.image.flips import flip_left_right as flip_left_right
from actorflow.graph.ops.image.flips import flip_up_down as flip_up_down
from actorflow.graph.ops.image.flips import random_flip_left_right as random_flip_left_right
from actorflow.graph.ops.image.flips import random_flip_up_down as random_flip_up_down
from actorflow.graph.ops.image.flips import rot90 as rot90
from actorflow.graph.ops.image.flips import transpose_image as transpose
from actorflow.graph.ops.image.flips import transpose_image as transpose_image
from actorflow.graph.ops.image.glimpse import extract_glimpse as extract_glimpse
from actorflow.graph.ops.image.quality import image_gradients as image_gradients
from actorflow.graph.ops.image.quality import psnr as psnr
from actorflow.graph.ops.image.quality import sobel_edges as sobel_edges
from actorflow.graph.ops.image.quality import ssim as ssim
from actorflow.graph.ops.image.regions import crop_and_resize as crop_and_resize
from actorflow.graph.ops.image.resize import resize_area as resize_area
from actorflow.graph.ops.image.resize import resize_bicubic as resize_bicubic
from actorflow.graph.ops.image.resize import resize_bilinear as resize_bilinear
from actorflow.graph.ops.image.resize import resize_nearest_neighbor as resize_nearest_neighbor
from actorflow.graph.ops.image.resizing import ResizeMethod as ResizeMethod
from actorflow.graph.ops.image.resizing import resize_image_with_pad as resize_image_with_pad
from actorflow.graph.ops.image.resizing import resize_image_with_pad as resize_with_pad
from actorflow.graph.ops.image.resizing import resize_images as resize
from actorflow.graph.ops.image.resizing import resize_images as resize_images
from actorflow.graph.ops.io.images import decode_and_crop_jpeg as decode_and_crop_jpeg
from actorflow.graph.ops.io.images import decode_bmp as decode_bmp
from actorflow.graph.ops.io.images import decode_gif as decode_gif
from actorflow.graph.ops.io.images import decode_image as decode_image
from actorflow.graph.ops.io.images import decode_jpeg as decode_jpeg
from actorflow.graph.ops.io.images import decode_png as decode_png
from actorflow.graph.ops.io.images import encode_jpeg as encode_jpeg
from actorflow.graph.ops.io.images import encode_png as encode_png
from actorflow.graph.ops.io.images import is_jpeg as is_jpeg
from actorflow.graph.ops.nn.conv.patches import extract_image_patches as extract_image_patches
from actorflow.graph.ops.random.distributions import random_crop as random_crop

__all__ = [
    "ResizeMethod",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_jpeg_quality",
    "adjust_saturation",
    "central_crop",
    "combined_non_max_suppression",
    "convert_image_dtype",
    "crop_and_resize",
    "crop_to_bounding_box",
    "decode_and_crop_jpeg",
    "decode_bmp",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "draw_bounding_boxes",
    "encode_jpeg",
    "encode_png",
    "extract_glimpse",
    "extract_image_patches",
    "extract_jpeg_shape",
    "extract_patches",
    "flip_left_right",
    "flip_up_down",
    "grayscale_to_rgb",
    "hsv_to_rgb",
    "image_gradients",
    "is_jpeg",
    "non_max_suppression",
    "non_max_suppression_overlaps",
    "non_max_suppression_padded",
    "non_max_suppression_with_scores",
    "pad_to_bounding_box",
    "per_image_standardization",
    "psnr",
    "random_brightness",
    "random_contrast",
    "random_crop",
    "random_flip_left_right",
    "random_flip_up_down",
    "random_hue",
    "random_saturation",
    "resize",
    "resize_area",
    "resize_bicubic",
    "resize_bilinear",
    "resize_image_with_crop_or_pad",
    "resize_image_with_pad",
    "resize_images",
    "resize_nearest_neighbor",
    "resize_with_crop_or_pad",
    "resize_with_pad",
    "rgb_to_grayscale",
    "rgb_to_hsv",
    "rgb_to_yiq",
    "rgb_to_yuv",
    "rot90",
    "sample_distorted_bounding_box",
    "sobel_edges",
    "ssim",
    "ssim_multiscale",
    "total_variation",
    "transpose",
    "transpose_image",
    "yiq_to_rgb",
    "yuv_to_rgb",
]
