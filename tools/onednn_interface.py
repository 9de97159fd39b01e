"""Writes kernels/onednn/interface.py: the functions of oneDNN and OpenMP that kernels call, as cffi's tables.

    python tools/onednn_interface.py            writes it
    python tools/onednn_interface.py --check    exits with 1 unless it was written from the declarations here

With the tables a process calls the library without a parser of C, which takes 10 ms and a megabyte. The module names its
declarations by their hash: another version of cffi may write the same tables in another way.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import sys
import tempfile
from pathlib import Path

MODULE = Path(__file__).resolve().parent.parent / "kernels" / "onednn" / "interface.py"
HEADER = '''"""The functions of oneDNN and OpenMP that kernels call. `tools/onednn_interface.py` writes this file,
from declarations with the hash {hash}."""

from typing import Any


def interface() -> Any:
    """The functions' declarations. Needs cffi."""
    import _cffi_backend

    return '''
DECLARATIONS = """
typedef struct { int major, minor, patch; const char *hash; unsigned cpu_runtime, gpu_runtime; } version;
typedef struct { int arg; void *memory; } exec_arg;
const version *dnnl_version(void);
const char *dnnl_status2str(int status);
unsigned dnnl_get_effective_cpu_isa(void);
int dnnl_engine_create(void **engine, int kind, size_t index);
int dnnl_stream_create(void **stream, void *engine, unsigned flags);
int dnnl_stream_destroy(void *stream);
int dnnl_memory_desc_create_with_strides(void **md, int ndims, const int64_t *dims, int type, const int64_t *strides);
int dnnl_memory_desc_create_with_tag(void **md, int ndims, const int64_t *dims, int type, int tag);
int dnnl_memory_desc_destroy(void *md);
int dnnl_memory_desc_equal(const void *left, const void *right);
size_t dnnl_memory_desc_get_size(const void *md);
int dnnl_memory_create(void **memory, const void *md, void *engine, void *handle);
int dnnl_memory_set_data_handle(void *memory, void *handle);
int dnnl_memory_destroy(void *memory);
int dnnl_primitive_attr_create(void **attr);
int dnnl_primitive_attr_destroy(void *attr);
int dnnl_primitive_attr_set_scratchpad_mode(void *attr, int mode);
int dnnl_primitive_attr_set_post_ops(void *attr, const void *ops);
int dnnl_primitive_attr_set_scales_mask(void *attr, int arg, int mask);
int dnnl_post_ops_create(void **ops);
int dnnl_post_ops_destroy(void *ops);
int dnnl_post_ops_append_eltwise(void *ops, int alg, float alpha, float beta);
int dnnl_post_ops_append_binary(void *ops, int alg, const void *other);
int dnnl_convolution_forward_primitive_desc_create(void **pd, void *engine, int prop, int alg, const void *src,
    const void *weights, const void *bias, const void *dst, const int64_t *strides, const int64_t *dilates,
    const int64_t *before, const int64_t *after, const void *attr);
int dnnl_convolution_backward_data_primitive_desc_create(void **pd, void *engine, int alg, const void *diff_src,
    const void *weights, const void *diff_dst, const int64_t *strides, const int64_t *dilates,
    const int64_t *before, const int64_t *after, const void *hint, const void *attr);
int dnnl_convolution_backward_weights_primitive_desc_create(void **pd, void *engine, int alg, const void *src,
    const void *diff_weights, const void *diff_bias, const void *diff_dst, const int64_t *strides,
    const int64_t *dilates, const int64_t *before, const int64_t *after, const void *hint, const void *attr);
int dnnl_pooling_forward_primitive_desc_create(void **pd, void *engine, int prop, int alg, const void *src,
    const void *dst, const int64_t *strides, const int64_t *kernel, const int64_t *dilation,
    const int64_t *before, const int64_t *after, const void *attr);
int dnnl_pooling_backward_primitive_desc_create(void **pd, void *engine, int alg, const void *diff_src,
    const void *diff_dst, const int64_t *strides, const int64_t *kernel, const int64_t *dilation,
    const int64_t *before, const int64_t *after, const void *hint, const void *attr);
int dnnl_matmul_primitive_desc_create(void **pd, void *engine, const void *src, const void *weights,
    const void *bias, const void *dst, const void *attr);
int dnnl_reorder_primitive_desc_create(void **pd, const void *from, void *from_engine, const void *to,
    void *to_engine, const void *attr);
const void *dnnl_primitive_desc_query_md(const void *pd, int what, int index);
int dnnl_primitive_desc_destroy(void *pd);
int dnnl_primitive_create(void **primitive, const void *pd);
int dnnl_primitive_execute(const void *primitive, void *stream, int count, const exec_arg *args);
int dnnl_primitive_destroy(void *primitive);
int dnnl_sgemm(char transpose_a, char transpose_b, int64_t m, int64_t n, int64_t k, float alpha, const void *a,
    int64_t lda, const void *b, int64_t ldb, float beta, void *c, int64_t ldc);
void omp_set_num_threads(int);
int omp_get_max_threads(void);
"""
WIDTH = 100


def header() -> str:
    """The beginning of the module, which depends on the declarations alone."""
    return HEADER.format(hash=hashlib.sha256(DECLARATIONS.encode()).hexdigest()[:16])


def source() -> str:
    """The text of the module."""
    import cffi

    ffi = cffi.FFI()
    ffi.cdef(DECLARATIONS)
    ffi.set_source("onednn", None)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(None):
        path = Path(folder) / "onednn.py"
        ffi.emit_python_code(str(path))
        text = path.read_text(encoding="utf-8")
    tables = text[text.index("_cffi_backend.FFI(") :]
    tables = re.sub(r"b'[^']*'", lambda found: _wrapped(found[0]), tables)
    return f"{header()}{tables.rstrip()}\n"


def _wrapped(literal: str) -> str:
    """A literal of bytes as several, each of which fits a line."""
    pieces = re.findall(r"\\x..|[^\\]", literal[2:-1])
    lines = [""]
    for piece in pieces:
        if len(lines[-1]) + len(piece) > WIDTH:
            lines.append("")
        lines[-1] += piece
    return "\n    ".join(f"b'{line}'" for line in lines)


def main() -> int:
    """Writes the module or, with `--check`, says whether it is current. Returns the exit code."""
    if "--check" in sys.argv:
        if MODULE.exists() and MODULE.read_text(encoding="utf-8").startswith(header()):
            return 0
        print("kernels/onednn/interface.py is not current: python tools/onednn_interface.py")
        return 1
    MODULE.write_text(source(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
