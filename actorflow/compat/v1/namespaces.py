"""TensorFlow's namespaces, such as `tf.math`, over actorflow's functions.

A namespace has what actorflow's module of the same name exports, and TensorFlow 1.15's names in it of functions that
actorflow keeps at its top or in `nn`. Below, `name=other` stands where the two are spelled differently.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

import actorflow as _af

_NAMES = {
    "bitwise": "bitwise_and bitwise_or bitwise_xor invert left_shift right_shift",
    "debugging": """
        assert_all_finite=verify_tensor_all_finite assert_equal assert_greater assert_greater_equal assert_integer
        assert_less assert_less_equal assert_near assert_negative assert_non_negative assert_non_positive assert_none_equal
        assert_positive assert_proper_iterable assert_rank assert_rank_at_least assert_rank_in assert_same_float_dtype
        assert_scalar assert_type check_numerics is_finite is_inf is_nan is_non_decreasing is_numeric_tensor
        is_strictly_increasing""",
    "dtypes": "DType as_dtype as_string cast complex saturate_cast",
    "errors": "",
    "initializers": """
        constant=constant_initializer glorot_normal=glorot_normal_initializer glorot_uniform=glorot_uniform_initializer
        global_variables=global_variables_initializer he_normal he_uniform identity=identity_initializer lecun_normal
        lecun_uniform local_variables=local_variables_initializer ones=ones_initializer orthogonal=orthogonal_initializer
        random_normal=random_normal_initializer random_uniform=random_uniform_initializer
        tables_initializer truncated_normal=truncated_normal_initializer
        uniform_unit_scaling=uniform_unit_scaling_initializer variables=variables_initializer
        variance_scaling=variance_scaling_initializer zeros=zeros_initializer""",
    "image": "",
    "io": """
        FixedLenFeature FixedLenSequenceFeature PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue SparseFeature
        VarLenFeature decode_base64 decode_compressed decode_csv decode_raw deserialize_many_sparse encode_base64
        matching_files parse_example parse_single_example parse_tensor read_file serialize_many_sparse serialize_sparse
        serialize_tensor write_file""",
    "linalg": """
        adjoint=matrix_adjoint band_part=matrix_band_part cholesky cholesky_solve cross det=matrix_determinant
        diag=matrix_diag diag_part=matrix_diag_part eigh=self_adjoint_eig eigvalsh=self_adjoint_eigvals einsum
        expm=matrix_exponential eye global_norm inv=matrix_inverse l2_normalize logdet logm=matrix_logarithm
        lstsq=matrix_solve_ls lu matmul matvec norm qr set_diag=matrix_set_diag slogdet solve=matrix_solve
        sqrtm=matrix_square_root svd tensor_diag=diag tensor_diag_part=diag_part tensordot trace
        transpose=matrix_transpose triangular_solve=matrix_triangular_solve""",
    "losses": "",
    "math": """
        abs accumulate_n acos acosh add add_n angle argmax argmin asin asinh atan atan2 atanh bessel_i0 bessel_i0e bessel_i1
        bessel_i1e betainc bincount ceil confusion_matrix conj cos cosh count_nonzero cumprod cumsum cumulative_logsumexp
        digamma divide divide_no_nan=div_no_nan equal erf erfc exp expm1 floor floordiv floormod greater greater_equal
        igamma igammac imag in_top_k invert_permutation is_finite is_inf is_nan is_non_decreasing is_strictly_increasing
        l2_normalize lbeta less less_equal lgamma log log1p log_sigmoid log_softmax logical_and logical_not logical_or
        logical_xor maximum minimum mod multiply multiply_no_nan ndtri negative nextafter not_equal polygamma polyval pow
        real reciprocal reciprocal_no_nan reduce_all reduce_any reduce_euclidean_norm reduce_logsumexp reduce_max
        reduce_mean reduce_min reduce_prod reduce_std reduce_sum reduce_variance rint round rsqrt scalar_mul segment_max
        segment_mean segment_min segment_prod segment_sum sigmoid sign sin sinh softmax softplus softsign sqrt square
        squared_difference subtract tan tanh top_k truediv unsorted_segment_max unsorted_segment_mean unsorted_segment_min
        unsorted_segment_prod unsorted_segment_sqrt_n unsorted_segment_sum xdivy xlog1py xlogy zero_fraction zeta""",
    "manip": """
        batch_to_space_nd gather_nd reshape reverse roll scatter_nd space_to_batch_nd tile""",
    "nest": "",
    "nn": "",
    "python_io": "TFRecordWriter TFRecordOptions TFRecordCompressionType tf_record_iterator",
    "quantization": """
        dequantize fake_quant_with_min_max_args fake_quant_with_min_max_args_gradient fake_quant_with_min_max_vars
        fake_quant_with_min_max_vars_gradient fake_quant_with_min_max_vars_per_channel
        fake_quant_with_min_max_vars_per_channel_gradient quantize""",
    "queue": "FIFOQueue PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue",
    "random": """
        all_candidate_sampler categorical=multinomial fixed_unigram_candidate_sampler gamma=random_gamma get_seed
        learned_unigram_candidate_sampler log_uniform_candidate_sampler multinomial normal=random_normal
        poisson=random_poisson set_random_seed shuffle=random_shuffle stateless_binomial stateless_categorical
        stateless_gamma stateless_multinomial stateless_normal=stateless_random_normal
        stateless_poisson stateless_truncated_normal stateless_uniform=stateless_random_uniform truncated_normal
        uniform=random_uniform uniform_candidate_sampler""",
    "signal": "dct fft fft2d fft3d idct ifft ifft2d ifft3d irfft irfft2d irfft3d rfft rfft2d rfft3d",
    "sparse": """
        SparseTensor add=sparse_add concat=sparse_concat expand_dims=sparse_expand_dims eye=sparse_eye
        fill_empty_rows=sparse_fill_empty_rows from_dense=sparse_from_dense mask=sparse_mask
        matmul=sparse_tensor_dense_matmul maximum=sparse_maximum merge=sparse_merge minimum=sparse_minimum
        placeholder=sparse_placeholder reduce_max=sparse_reduce_max reduce_max_sparse=sparse_reduce_max_sparse
        reduce_sum=sparse_reduce_sum reduce_sum_sparse=sparse_reduce_sum_sparse reorder=sparse_reorder
        reset_shape=sparse_reset_shape reshape=sparse_reshape retain=sparse_retain segment_mean=sparse_segment_mean
        segment_sqrt_n=sparse_segment_sqrt_n segment_sum=sparse_segment_sum slice=sparse_slice softmax=sparse_softmax
        sparse_dense_matmul=sparse_tensor_dense_matmul split=sparse_split to_dense=sparse_tensor_to_dense
        to_indicator=sparse_to_indicator transpose=sparse_transpose""",
    "spectral": "dct fft fft2d fft3d idct ifft ifft2d ifft3d irfft irfft2d irfft3d rfft rfft2d rfft3d",
    "strings": """
        as_string bytes_split=string_bytes_split format=string_format join=string_join length=string_length
        lower=string_lower ngrams=string_ngrams reduce_join regex_full_match regex_replace strip=string_strip substr
        to_hash_bucket=string_to_hash_bucket to_hash_bucket_fast=string_to_hash_bucket_fast
        to_hash_bucket_strong=string_to_hash_bucket_strong to_number=string_to_number
        unsorted_segment_join upper=string_upper""",
    "summary": "",
    "train": "ClusterSpec Server",
}
NAMESPACES = frozenset(_NAMES)
_MODULES = {"python_io": "io", "spectral": "signal"}
"""Modules of actorflow that have another name than TensorFlow's namespaces over them."""


class Namespace:
    """One namespace: its names are looked up as they are used."""

    def __init__(self, name: str, names: str) -> None:
        self._name = name
        self._module = f"actorflow.{_MODULES.get(name, name)}"
        self._spelled: dict[str, str] = {}
        for entry in names.split():
            mine, _, other = entry.partition("=")
            self._spelled[mine] = other or mine

    def _places(self) -> Iterable[Any]:
        try:
            yield importlib.import_module(self._module)
        except ModuleNotFoundError as error:
            if error.name != self._module:
                raise

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        for module in self._places():
            if name in getattr(module, "__all__", ()) or _is_own(module, name):
                return getattr(module, name)
        for place in (_af.blocking, _af, _af.nn) if name in self._spelled else ():
            found = getattr(place, self._spelled[name], None)
            if found is not None:
                return found
        raise AttributeError(f"TensorFlow 1.15's tf.{self._name}.{name} is not in actorflow, if there is such a name.")

    def __dir__(self) -> list[str]:
        names = {name for name in self._spelled if hasattr(self, name)}
        for module in self._places():
            own = [n for n in vars(module) if not n.startswith("_") and _is_own(module, n)]
            names.update(getattr(module, "__all__", own))
        return sorted(names)

    def __repr__(self) -> str:
        return f"<namespace tf.{self._name} of actorflow.compat.v1>"


def _is_own(module: Any, name: str) -> bool:
    """Whether a module without `__all__` defines this name itself."""
    found = vars(module).get(name)
    return not hasattr(module, "__all__") and getattr(found, "__module__", None) == module.__name__


def namespace(name: str) -> Namespace:
    """The namespace of this name, one of `NAMESPACES`."""
    return Namespace(name, _NAMES[name])
