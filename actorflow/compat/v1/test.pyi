# `make names` writes this file from the marks in the sources.

from actorflow.compat.names.functions import is_built_with_gpu_support as is_built_with_gpu_support
from actorflow.compat.names.functions import is_built_with_rocm as is_built_with_rocm
from actorflow.compat.v1.testing.benchmarks import Benchmark as Benchmark
from actorflow.compat.v1.testing.benchmarks import StubOutForTesting as StubOutForTesting
from actorflow.compat.v1.testing.benchmarks import benchmark_config as benchmark_config
from actorflow.compat.v1.testing.case import TestCase as TestCase
from actorflow.compat.v1.testing.gradients import compute_gradient as compute_gradient
from actorflow.compat.v1.testing.gradients import compute_gradient_error as compute_gradient_error
from actorflow.compat.v1.testing.program import assert_equal_graph_def as assert_equal_graph_def
from actorflow.compat.v1.testing.program import create_local_cluster as create_local_cluster
from actorflow.compat.v1.testing.program import get_temp_dir as get_temp_dir
from actorflow.compat.v1.testing.program import gpu_device_name as gpu_device_name
from actorflow.compat.v1.testing.program import is_built_with_cuda as is_built_with_cuda
from actorflow.compat.v1.testing.program import is_gpu_available as is_gpu_available
from actorflow.compat.v1.testing.program import main as main
from actorflow.compat.v1.testing.program import mock as mock
from actorflow.compat.v1.testing.program import test_src_dir_path as test_src_dir_path

__all__ = [
    "Benchmark",
    "StubOutForTesting",
    "TestCase",
    "assert_equal_graph_def",
    "benchmark_config",
    "compute_gradient",
    "compute_gradient_error",
    "create_local_cluster",
    "get_temp_dir",
    "gpu_device_name",
    "is_built_with_cuda",
    "is_built_with_gpu_support",
    "is_built_with_rocm",
    "is_gpu_available",
    "main",
    "mock",
    "test_src_dir_path",
]
