# `make names` writes this file from the marks in the sources.

"""Functions of numbers, elementwise and along axes, under the names of `tf.math`."""

from actorflow.ops.arithmetic import accumulate_n as accumulate_n
from actorflow.ops.arithmetic import add as add
from actorflow.ops.arithmetic import add_n as add_n
from actorflow.ops.arithmetic import atan2 as atan2
from actorflow.ops.arithmetic import div_no_nan as divide_no_nan
from actorflow.ops.arithmetic import divide as divide
from actorflow.ops.arithmetic import floordiv as floordiv
from actorflow.ops.arithmetic import floormod as floormod
from actorflow.ops.arithmetic import floormod as mod
from actorflow.ops.arithmetic import maximum as maximum
from actorflow.ops.arithmetic import minimum as minimum
from actorflow.ops.arithmetic import multiply as multiply
from actorflow.ops.arithmetic import polyval as polyval
from actorflow.ops.arithmetic import pow as pow
from actorflow.ops.arithmetic import scalar_mul as scalar_mul
from actorflow.ops.arithmetic import squared_difference as squared_difference
from actorflow.ops.arithmetic import subtract as subtract
from actorflow.ops.arithmetic import truediv as truediv
from actorflow.ops.complex import angle as angle
from actorflow.ops.complex import conj as conj
from actorflow.ops.complex import imag as imag
from actorflow.ops.complex import real as real
from actorflow.ops.counting import bincount as bincount
from actorflow.ops.counting import confusion_matrix as confusion_matrix
from actorflow.ops.gamma import betainc as betainc
from actorflow.ops.gamma import igamma as igamma
from actorflow.ops.gamma import igammac as igammac
from actorflow.ops.gamma import lbeta as lbeta
from actorflow.ops.gamma import zeta as zeta
from actorflow.ops.guarded import multiply_no_nan as multiply_no_nan
from actorflow.ops.guarded import nextafter as nextafter
from actorflow.ops.guarded import reciprocal_no_nan as reciprocal_no_nan
from actorflow.ops.guarded import xdivy as xdivy
from actorflow.ops.guarded import xlog1py as xlog1py
from actorflow.ops.guarded import xlogy as xlogy
from actorflow.ops.layers import l2_normalize as l2_normalize
from actorflow.ops.layers import zero_fraction as zero_fraction
from actorflow.ops.logic import equal as equal
from actorflow.ops.logic import greater as greater
from actorflow.ops.logic import greater_equal as greater_equal
from actorflow.ops.logic import less as less
from actorflow.ops.logic import less_equal as less_equal
from actorflow.ops.logic import logical_and as logical_and
from actorflow.ops.logic import logical_not as logical_not
from actorflow.ops.logic import logical_or as logical_or
from actorflow.ops.logic import logical_xor as logical_xor
from actorflow.ops.logic import not_equal as not_equal
from actorflow.ops.nn import log_softmax as log_softmax
from actorflow.ops.nn import softmax as softmax
from actorflow.ops.nn import softplus as softplus
from actorflow.ops.nn import softsign as softsign
from actorflow.ops.ordering import in_top_k as in_top_k
from actorflow.ops.ordering import invert_permutation as invert_permutation
from actorflow.ops.ordering import top_k as top_k
from actorflow.ops.reduction import reduce_all as reduce_all
from actorflow.ops.reduction import reduce_any as reduce_any
from actorflow.ops.reduction import reduce_max as reduce_max
from actorflow.ops.reduction import reduce_mean as reduce_mean
from actorflow.ops.reduction import reduce_min as reduce_min
from actorflow.ops.reduction import reduce_prod as reduce_prod
from actorflow.ops.reduction import reduce_sum as reduce_sum
from actorflow.ops.scan import argmax as argmax
from actorflow.ops.scan import argmin as argmin
from actorflow.ops.scan import cumprod as cumprod
from actorflow.ops.scan import cumsum as cumsum
from actorflow.ops.scan import cumulative_logsumexp as cumulative_logsumexp
from actorflow.ops.segment import segment_max as segment_max
from actorflow.ops.segment import segment_mean as segment_mean
from actorflow.ops.segment import segment_min as segment_min
from actorflow.ops.segment import segment_prod as segment_prod
from actorflow.ops.segment import segment_sum as segment_sum
from actorflow.ops.segment import unsorted_segment_max as unsorted_segment_max
from actorflow.ops.segment import unsorted_segment_mean as unsorted_segment_mean
from actorflow.ops.segment import unsorted_segment_min as unsorted_segment_min
from actorflow.ops.segment import unsorted_segment_prod as unsorted_segment_prod
from actorflow.ops.segment import unsorted_segment_sqrt_n as unsorted_segment_sqrt_n
from actorflow.ops.segment import unsorted_segment_sum as unsorted_segment_sum
from actorflow.ops.special import bessel_i0 as bessel_i0
from actorflow.ops.special import bessel_i0e as bessel_i0e
from actorflow.ops.special import bessel_i1 as bessel_i1
from actorflow.ops.special import bessel_i1e as bessel_i1e
from actorflow.ops.special import digamma as digamma
from actorflow.ops.special import erf as erf
from actorflow.ops.special import erfc as erfc
from actorflow.ops.special import erfinv as erfinv
from actorflow.ops.special import lgamma as lgamma
from actorflow.ops.special import log_sigmoid as log_sigmoid
from actorflow.ops.special import ndtri as ndtri
from actorflow.ops.special import polygamma as polygamma
from actorflow.ops.statistics import count_nonzero as count_nonzero
from actorflow.ops.statistics import is_non_decreasing as is_non_decreasing
from actorflow.ops.statistics import is_strictly_increasing as is_strictly_increasing
from actorflow.ops.statistics import reduce_euclidean_norm as reduce_euclidean_norm
from actorflow.ops.statistics import reduce_logsumexp as reduce_logsumexp
from actorflow.ops.statistics import reduce_std as reduce_std
from actorflow.ops.statistics import reduce_variance as reduce_variance
from actorflow.ops.trigonometry import acos as acos
from actorflow.ops.trigonometry import acosh as acosh
from actorflow.ops.trigonometry import asin as asin
from actorflow.ops.trigonometry import asinh as asinh
from actorflow.ops.trigonometry import atan as atan
from actorflow.ops.trigonometry import atanh as atanh
from actorflow.ops.trigonometry import cos as cos
from actorflow.ops.trigonometry import cosh as cosh
from actorflow.ops.trigonometry import sin as sin
from actorflow.ops.trigonometry import sinh as sinh
from actorflow.ops.trigonometry import tan as tan
from actorflow.ops.trigonometry import tanh as tanh
from actorflow.ops.unary import abs as abs
from actorflow.ops.unary import ceil as ceil
from actorflow.ops.unary import exp as exp
from actorflow.ops.unary import expm1 as expm1
from actorflow.ops.unary import floor as floor
from actorflow.ops.unary import is_finite as is_finite
from actorflow.ops.unary import is_inf as is_inf
from actorflow.ops.unary import is_nan as is_nan
from actorflow.ops.unary import log as log
from actorflow.ops.unary import log1p as log1p
from actorflow.ops.unary import negative as negative
from actorflow.ops.unary import reciprocal as reciprocal
from actorflow.ops.unary import rint as rint
from actorflow.ops.unary import round as round
from actorflow.ops.unary import rsqrt as rsqrt
from actorflow.ops.unary import sigmoid as sigmoid
from actorflow.ops.unary import sign as sign
from actorflow.ops.unary import sqrt as sqrt
from actorflow.ops.unary import square as square

__all__ = [
    "abs",
    "accumulate_n",
    "acos",
    "acosh",
    "add",
    "add_n",
    "angle",
    "argmax",
    "argmin",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bessel_i0",
    "bessel_i0e",
    "bessel_i1",
    "bessel_i1e",
    "betainc",
    "bincount",
    "ceil",
    "confusion_matrix",
    "conj",
    "cos",
    "cosh",
    "count_nonzero",
    "cumprod",
    "cumsum",
    "cumulative_logsumexp",
    "digamma",
    "divide",
    "divide_no_nan",
    "equal",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "expm1",
    "floor",
    "floordiv",
    "floormod",
    "greater",
    "greater_equal",
    "igamma",
    "igammac",
    "imag",
    "in_top_k",
    "invert_permutation",
    "is_finite",
    "is_inf",
    "is_nan",
    "is_non_decreasing",
    "is_strictly_increasing",
    "l2_normalize",
    "lbeta",
    "less",
    "less_equal",
    "lgamma",
    "log",
    "log1p",
    "log_sigmoid",
    "log_softmax",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "multiply_no_nan",
    "ndtri",
    "negative",
    "nextafter",
    "not_equal",
    "polygamma",
    "polyval",
    "pow",
    "real",
    "reciprocal",
    "reciprocal_no_nan",
    "reduce_all",
    "reduce_any",
    "reduce_euclidean_norm",
    "reduce_logsumexp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_std",
    "reduce_sum",
    "reduce_variance",
    "rint",
    "round",
    "rsqrt",
    "scalar_mul",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_prod",
    "segment_sum",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "softmax",
    "softplus",
    "softsign",
    "sqrt",
    "square",
    "squared_difference",
    "subtract",
    "tan",
    "tanh",
    "top_k",
    "truediv",
    "unsorted_segment_max",
    "unsorted_segment_mean",
    "unsorted_segment_min",
    "unsorted_segment_prod",
    "unsorted_segment_sqrt_n",
    "unsorted_segment_sum",
    "xdivy",
    "xlog1py",
    "xlogy",
    "zero_fraction",
    "zeta",
]
