# `make names` writes this file from the marks in the sources.

from actorflow.compat.names.functions import get_log_device_placement as get_log_device_placement
from actorflow.compat.names.functions import set_log_device_placement as set_log_device_placement
from actorflow.graph.ops.flow.asserts import assert_equal as assert_equal
from actorflow.graph.ops.flow.asserts import assert_greater as assert_greater
from actorflow.graph.ops.flow.asserts import assert_greater_equal as assert_greater_equal
from actorflow.graph.ops.flow.asserts import assert_less as assert_less
from actorflow.graph.ops.flow.asserts import assert_less_equal as assert_less_equal
from actorflow.graph.ops.flow.asserts import assert_near as assert_near
from actorflow.graph.ops.flow.asserts import assert_negative as assert_negative
from actorflow.graph.ops.flow.asserts import assert_non_negative as assert_non_negative
from actorflow.graph.ops.flow.asserts import assert_non_positive as assert_non_positive
from actorflow.graph.ops.flow.asserts import assert_none_equal as assert_none_equal
from actorflow.graph.ops.flow.asserts import assert_positive as assert_positive
from actorflow.graph.ops.flow.asserts_static import assert_integer as assert_integer
from actorflow.graph.ops.flow.asserts_static import assert_proper_iterable as assert_proper_iterable
from actorflow.graph.ops.flow.asserts_static import assert_rank as assert_rank
from actorflow.graph.ops.flow.asserts_static import assert_rank_at_least as assert_rank_at_least
from actorflow.graph.ops.flow.asserts_static import assert_rank_in as assert_rank_in
from actorflow.graph.ops.flow.asserts_static import assert_same_float_dtype as assert_same_float_dtype
from actorflow.graph.ops.flow.asserts_static import assert_scalar as assert_scalar
from actorflow.graph.ops.flow.asserts_static import assert_type as assert_type
from actorflow.graph.ops.flow.control import Assert as Assert
from actorflow.graph.ops.flow.numerics import check_numerics as check_numerics
from actorflow.graph.ops.flow.numerics import verify_tensor_all_finite as assert_all_finite
from actorflow.graph.ops.math.elementwise import is_finite as is_finite
from actorflow.graph.ops.math.elementwise import is_inf as is_inf
from actorflow.graph.ops.math.elementwise import is_nan as is_nan
from actorflow.graph.ops.math.statistics import is_non_decreasing as is_non_decreasing
from actorflow.graph.ops.math.statistics import is_strictly_increasing as is_strictly_increasing
from actorflow.graph.ops.static import is_numeric_tensor as is_numeric_tensor

__all__ = [
    "Assert",
    "assert_all_finite",
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_integer",
    "assert_less",
    "assert_less_equal",
    "assert_near",
    "assert_negative",
    "assert_non_negative",
    "assert_non_positive",
    "assert_none_equal",
    "assert_positive",
    "assert_proper_iterable",
    "assert_rank",
    "assert_rank_at_least",
    "assert_rank_in",
    "assert_same_float_dtype",
    "assert_scalar",
    "assert_type",
    "check_numerics",
    "get_log_device_placement",
    "is_finite",
    "is_inf",
    "is_nan",
    "is_non_decreasing",
    "is_numeric_tensor",
    "is_strictly_increasing",
    "set_log_device_placement",
]
