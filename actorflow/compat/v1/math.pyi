# `make names` writes this file from the marks in the sources.

from actorflow.graph.ops.array.reverse import invert_permutation as invert_permutation
from actorflow.graph.ops.array.sort import in_top_k as in_top_k
from actorflow.graph.ops.array.sort import top_k as top_k
from actorflow.graph.ops.math.argmax import argmax as argmax
from actorflow.graph.ops.math.argmax import argmin as argmin
from actorflow.graph.ops.math.arithmetic import accumulate_n as accumulate_n
from actorflow.graph.ops.math.arithmetic import add as add
from actorflow.graph.ops.math.arithmetic import add_n as add_n
from actorflow.graph.ops.math.arithmetic import atan2 as atan2
from actorflow.graph.ops.math.arithmetic import div_no_nan as divide_no_nan
from actorflow.graph.ops.math.arithmetic import divide as divide
from actorflow.graph.ops.math.arithmetic import floordiv as floordiv
from actorflow.graph.ops.math.arithmetic import floormod as floormod
from actorflow.graph.ops.math.arithmetic import floormod as mod
from actorflow.graph.ops.math.arithmetic import maximum as maximum
from actorflow.graph.ops.math.arithmetic import minimum as minimum
from actorflow.graph.ops.math.arithmetic import multiply as multiply
from actorflow.graph.ops.math.arithmetic import polyval as polyval
from actorflow.graph.ops.math.arithmetic import pow as pow
from actorflow.graph.ops.math.arithmetic import scalar_mul as scalar_mul
from actorflow.graph.ops.math.arithmetic import squared_difference as squared_difference
from actorflow.graph.ops.math.arithmetic import subtract as subtract
from actorflow.graph.ops.math.arithmetic import truediv as truediv
from actorflow.graph.ops.math.cast import angle as angle
from actorflow.graph.ops.math.cast import conj as conj
from actorflow.graph.ops.math.cast import imag as imag
from actorflow.graph.ops.math.cast import real as real
from actorflow.graph.ops.math.cumulative import cumprod as cumprod
from actorflow.graph.ops.math.cumulative import cumsum as cumsum
from actorflow.graph.ops.math.cumulative import cumulative_logsumexp as cumulative_logsumexp
from actorflow.graph.ops.math.elementwise import abs as abs
from actorflow.graph.ops.math.elementwise import acos as acos
from actorflow.graph.ops.math.elementwise import acosh as acosh
from actorflow.graph.ops.math.elementwise import asin as asin
from actorflow.graph.ops.math.elementwise import asinh as asinh
from actorflow.graph.ops.math.elementwise import atan as atan
from actorflow.graph.ops.math.elementwise import atanh as atanh
from actorflow.graph.ops.math.elementwise import ceil as ceil
from actorflow.graph.ops.math.elementwise import cos as cos
from actorflow.graph.ops.math.elementwise import cosh as cosh
from actorflow.graph.ops.math.elementwise import exp as exp
from actorflow.graph.ops.math.elementwise import expm1 as expm1
from actorflow.graph.ops.math.elementwise import floor as floor
from actorflow.graph.ops.math.elementwise import is_finite as is_finite
from actorflow.graph.ops.math.elementwise import is_inf as is_inf
from actorflow.graph.ops.math.elementwise import is_nan as is_nan
from actorflow.graph.ops.math.elementwise import log as log
from actorflow.graph.ops.math.elementwise import log1p as log1p
from actorflow.graph.ops.math.elementwise import negative as negative
from actorflow.graph.ops.math.elementwise import reciprocal as reciprocal
from actorflow.graph.ops.math.elementwise import rint as rint
from actorflow.graph.ops.math.elementwise import round as round
from actorflow.graph.ops.math.elementwise import rsqrt as rsqrt
from actorflow.graph.ops.math.elementwise import sigmoid as sigmoid
from actorflow.graph.ops.math.elementwise import sign as sign
from actorflow.graph.ops.math.elementwise import sin as sin
from actorflow.graph.ops.math.elementwise import sinh as sinh
from actorflow.graph.ops.math.elementwise import sqrt as sqrt
from actorflow.graph.ops.math.elementwise import square as square
from actorflow.graph.ops.math.elementwise import tan as tan
from actorflow.graph.ops.math.elementwise import tanh as tanh
from actorflow.graph.ops.math.histogram import bincount as bincount
from actorflow.graph.ops.math.histogram import confusion_matrix as confusion_matrix
from actorflow.graph.ops.math.logic import equal as equal
from actorflow.graph.ops.math.logic import greater as greater
from actorflow.graph.ops.math.logic import greater_equal as greater_equal
from actorflow.graph.ops.math.logic import less as less
from actorflow.graph.ops.math.logic import less_equal as less_equal
from actorflow.graph.ops.math.logic import logical_and as logical_and
from actorflow.graph.ops.math.logic import logical_not as logical_not
from actorflow.graph.ops.math.logic import logical_or as logical_or
from actorflow.graph.ops.math.logic import logical_xor as logical_xor
from actorflow.graph.ops.math.logic import not_equal as not_equal
from actorflow.graph.ops.math.reduction import reduce_all as reduce_all
from actorflow.graph.ops.math.reduction import reduce_any as reduce_any
from actorflow.graph.ops.math.reduction import reduce_max as reduce_max
from actorflow.graph.ops.math.reduction import reduce_mean as reduce_mean
from actorflow.graph.ops.math.reduction import reduce_min as reduce_min
from actorflow.graph.ops.math.reduction import reduce_prod as reduce_prod
from actorflow.graph.ops.math.reduction import reduce_sum as reduce_sum
from actorflow.graph.ops.math.segment import segment_max as segment_max
from actorflow.graph.ops.math.segment import segment_mean as segment_mean
from actorflow.graph.ops.math.segment import segment_min as segment_min
from actorflow.graph.ops.math.segment import segment_prod as segment_prod
from actorflow.graph.ops.math.segment import segment_sum as segment_sum
from actorflow.graph.ops.math.segment import unsorted_segment_max as unsorted_segment_max
from actorflow.graph.ops.math.segment import unsorted_segment_mean as unsorted_segment_mean
from actorflow.graph.ops.math.segment import unsorted_segment_min as unsorted_segment_min
from actorflow.graph.ops.math.segment import unsorted_segment_prod as unsorted_segment_prod
from actorflow.graph.ops.math.segment import unsorted_segment_sqrt_n as unsorted_segment_sqrt_n
from actorflow.graph.ops.math.segment import unsorted_segment_sum as unsorted_segment_sum
from actorflow.graph.ops.math.special import bessel_i0 as bessel_i0
from actorflow.graph.ops.math.special import bessel_i0e as bessel_i0e
from actorflow.graph.ops.math.special import bessel_i1 as bessel_i1
from actorflow.graph.ops.math.special import bessel_i1e as bessel_i1e
from actorflow.graph.ops.math.special import betainc as betainc
from actorflow.graph.ops.math.special import digamma as digamma
from actorflow.graph.ops.math.special import erf as erf
from actorflow.graph.ops.math.special import erfc as erfc
from actorflow.graph.ops.math.special import erfinv as erfinv
from actorflow.graph.ops.math.special import igamma as igamma
from actorflow.graph.ops.math.special import igammac as igammac
from actorflow.graph.ops.math.special import lbeta as lbeta
from actorflow.graph.ops.math.special import lgamma as lgamma
from actorflow.graph.ops.math.special import log_sigmoid as log_sigmoid
from actorflow.graph.ops.math.special import multiply_no_nan as multiply_no_nan
from actorflow.graph.ops.math.special import ndtri as ndtri
from actorflow.graph.ops.math.special import nextafter as nextafter
from actorflow.graph.ops.math.special import polygamma as polygamma
from actorflow.graph.ops.math.special import reciprocal_no_nan as reciprocal_no_nan
from actorflow.graph.ops.math.special import xdivy as xdivy
from actorflow.graph.ops.math.special import xlog1py as xlog1py
from actorflow.graph.ops.math.special import xlogy as xlogy
from actorflow.graph.ops.math.special import zeta as zeta
from actorflow.graph.ops.math.statistics import count_nonzero as count_nonzero
from actorflow.graph.ops.math.statistics import is_non_decreasing as is_non_decreasing
from actorflow.graph.ops.math.statistics import is_strictly_increasing as is_strictly_increasing
from actorflow.graph.ops.math.statistics import reduce_euclidean_norm as reduce_euclidean_norm
from actorflow.graph.ops.math.statistics import reduce_logsumexp as reduce_logsumexp
from actorflow.graph.ops.math.statistics import reduce_std as reduce_std
from actorflow.graph.ops.math.statistics import reduce_variance as reduce_variance
from actorflow.graph.ops.math.statistics import zero_fraction as zero_fraction
from actorflow.graph.ops.nn.activation import log_softmax as log_softmax
from actorflow.graph.ops.nn.activation import softmax as softmax
from actorflow.graph.ops.nn.activation import softplus as softplus
from actorflow.graph.ops.nn.activation import softsign as softsign
from actorflow.graph.ops.nn.normalization import l2_normalize as l2_normalize

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
