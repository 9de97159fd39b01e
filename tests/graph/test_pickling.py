"""The objects that a program is given can be pickled and copied, or say in a sentence why not."""

from __future__ import annotations

import asyncio
import concurrent.futures
import copy
import dataclasses
import inspect
import multiprocessing
import pickle
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import actorflow as af
from actorflow import errors
from actorflow.base.records.wire import BrokenMessageError
from actorflow.engine.eager.functions.function import Function
from actorflow.engine.session.partial.run import PartialRun
from actorflow.engine.session.statistics import EdgeReport
from actorflow.engine.transport import errors as transport_errors
from actorflow.errors import Where
from actorflow.graph.lint.races import Race
from actorflow.training.supervisor import events

FLOAT = af.float32
WAYS: dict[str, Callable[[Any], Any]] = {"pickle": lambda x: pickle.loads(pickle.dumps(x)), "deepcopy": copy.deepcopy}
NAMESPACES = (af, af.train, af.io, af.losses)
ABSTRACT = {af.QueueBase, af.ReaderBase, af.train.Optimizer}
"""Bases, of which no program has objects."""


def example() -> Any:
    feature = af.train.Feature(int64_list=af.train.Int64List(value=[1, 2]))
    return af.train.Example(features=af.train.Features(feature={"a": feature}))


PLAIN: dict[type, Callable[[], Any]] = {
    af.ClusterSpec: lambda: af.ClusterSpec({"ps": ["a:1"], "worker": {3: "b:2"}}),
    af.DType: lambda: [af.float32, af.string, af.int64.ref, af.bfloat16],
    af.TensorShape: lambda: [af.TensorShape([None, 3]), af.TensorShape(None)],
    af.SessionStatistics: lambda: statistics(),
    af.Trace: lambda: traced(),
    af.IndexedSlicesValue: lambda: af.IndexedSlicesValue(np.ones((2, 3)), np.array([0, 4]), np.array([5, 3])),
    af.SparseTensorValue: lambda: af.SparseTensorValue(np.array([[0]]), np.array([1.0]), np.array([1])),
    af.FixedLenFeature: lambda: af.FixedLenFeature([2], FLOAT, 1.0),
    af.FixedLenSequenceFeature: lambda: af.FixedLenSequenceFeature([2], FLOAT, allow_missing=True),
    af.VarLenFeature: lambda: af.VarLenFeature(af.string),
    af.SparseFeature: lambda: af.SparseFeature("at", "value", af.float32, 4),
    af.GraphGrowthWarning: lambda: af.GraphGrowthWarning("it grows"),
    af.train.CheckpointState: lambda: af.train.CheckpointState("a", ["a", "b"]),
    af.train.Example: example,
    af.train.Features: lambda: example().features,
    af.train.Feature: lambda: example().features.feature["a"],
    af.train.BytesList: lambda: af.train.BytesList(value=[b"a"]),
    af.train.FloatList: lambda: af.train.FloatList(value=[1.5]),
    af.train.Int64List: lambda: af.train.Int64List(value=[1]),
    af.TensorSpec: lambda: af.TensorSpec([None, 3], FLOAT, "x"),
    af.SparseTensorSpec: lambda: af.SparseTensorSpec([None, 3], FLOAT),
    af.PlanOptions: lambda: af.PlanOptions(coalesce=False, lossy=True),
    af.Recording: lambda: af.Recording(every=7, folder="a"),
    af.SessionLimits: lambda: af.SessionLimits(threads=1, file_roots=["a"]),
    af.Batching: lambda: af.Batching(max_size=8),
    af.MembershipChange: lambda: af.MembershipChange(2, {"/job:ps/task:0": "a:1"}, ("/job:ps/task:0",), ()),
    af.ValueOptions: lambda: af.ValueOptions(writable=True),
    af.CostModel: af.CostModel,
    af.train.Replicas: lambda: af.train.Replicas(8, "worker", 3),
    af.train.VocabInfo: lambda: af.train.VocabInfo("a", 3, 1, "b"),
    af.train.SessionRunArgs: lambda: af.train.SessionRunArgs("loss:0", {"x:0": 1.0}),
    af.train.SessionRunValues: lambda: af.train.SessionRunValues([1.0], None, None),
    af.train.SecondOrStepTimer: lambda: af.train.SecondOrStepTimer(every_steps=3),
    af.train.FeatureList: lambda: af.train.FeatureList(feature=[af.train.Feature()]),
    af.train.FeatureLists: lambda: af.train.FeatureLists(feature_list={"a": af.train.FeatureList()}),
    af.train.SequenceExample: lambda: af.train.SequenceExample(),
    af.io.TFRecordOptions: lambda: af.io.TFRecordOptions("GZIP"),
    af.io.TFRecordCompressionType: lambda: af.io.TFRecordCompressionType.ZLIB,
    af.VariableScope: lambda: af.VariableScope(False, "a", af.zeros_initializer()),
    af.TaskState: lambda: af.TaskState(1, "a", "Add", Where("a.py", 3), "waits"),
    Where: lambda: Where("a.py", 3),
    EdgeReport: lambda: EdgeReport("a:0", "x", "y", "shm", 1, 2, 3, 0.5),
    Race: lambda: Race(*(f.name for f in Race.__dataclass_fields__.values())),
    events.WorkerLost: lambda: events.WorkerLost(1.0, "a", events.DeathReport("a", "it ended", 1, 2)),
    events.WorkerEnded: lambda: events.WorkerEnded(1.0, "a"),
    events.LoopStalled: lambda: events.LoopStalled(1.0, "a", 2.0),
    events.StepAborted: lambda: events.StepAborted(1.0, 3, "it failed"),
    events.TaskRestarted: lambda: events.TaskRestarted(1.0, "a", 2.0),
    events.Restored: lambda: events.Restored(1.0, "p", 3, 1),
    events.ReplicasMapped: lambda: events.ReplicasMapped(1.0, {"a": (0, 1)}),
    events.WaitsForTasks: lambda: events.WaitsForTasks(1.0, ("a",), 0.5),
    events.CheckpointSaved: lambda: events.CheckpointSaved(1.0, "p", 3),
    **{
        kind: (lambda kind=kind: kind(3, FLOAT) if "constant" in kind.__name__ else kind())
        for name in dir(af)
        if name.endswith("_initializer") and inspect.isclass(kind := getattr(af, name))
    },
    **{
        kind: (lambda kind=kind: kind(0.1))
        for name in dir(af.train)
        if name.endswith("Optimizer")
        and inspect.isclass(kind := getattr(af.train, name))
        and kind
        not in (*ABSTRACT, af.train.AdagradDAOptimizer, af.train.SyncReplicasOptimizer, af.train.MomentumOptimizer)
    },
    af.train.MomentumOptimizer: lambda: af.train.MomentumOptimizer(0.1, 0.9),
    af.train.ExponentialMovingAverage: lambda: af.train.ExponentialMovingAverage(0.9),
}
"""Records and settings, which have their own equal: of each public kind one."""


def tensor() -> af.Tensor:
    return af.constant([1.0], name="c")


def statistics() -> af.SessionStatistics:
    with af.blocking.Session() as session:
        session.run(tensor())
        return session.statistics()


def traced() -> af.Trace:
    trace = af.Trace()
    with af.blocking.Session() as session:
        x = af.placeholder(FLOAT, [])
        session.run(x + 1.0, {x: 1.0}, trace=trace)
    assert trace.events
    return trace


def queue() -> af.FIFOQueue:
    return af.FIFOQueue(1, [FLOAT])


BOUND: dict[type, Callable[[], Any]] = {
    af.Graph: af.get_default_graph,
    af.Tensor: tensor,
    af.Operation: lambda: tensor().op,
    af.Variable: lambda: af.Variable(1.0),
    af.PartitionedVariable: lambda: af.get_variable("p", [4], partitioner=af.fixed_size_partitioner(2)),
    af.train.LooperThread: lambda: af.train.LooperThread(af.train.Coordinator(), 1),
    af.SparseTensor: lambda: af.SparseTensor([[0]], [1.0], [1]),
    af.IndexedSlices: lambda: af.IndexedSlices(tensor(), af.constant([0])),
    af.TensorArray: lambda: af.TensorArray(FLOAT, 1),
    af.FIFOQueue: queue,
    af.PaddingFIFOQueue: lambda: af.PaddingFIFOQueue(1, [FLOAT], [[None]]),
    af.PriorityQueue: lambda: af.PriorityQueue(1, [FLOAT], [[]]),
    af.RandomShuffleQueue: lambda: af.RandomShuffleQueue(1, 0, [FLOAT]),
    af.Barrier: lambda: af.Barrier([FLOAT]),
    af.ConditionalAccumulator: lambda: af.ConditionalAccumulator(FLOAT, []),
    af.SparseConditionalAccumulator: lambda: af.SparseConditionalAccumulator(FLOAT),
    af.CriticalSection: af.CriticalSection,
    af.FixedLengthRecordReader: lambda: af.FixedLengthRecordReader(1),
    af.IdentityReader: af.IdentityReader,
    af.TFRecordReader: af.TFRecordReader,
    af.TextLineReader: af.TextLineReader,
    af.WholeFileReader: af.WholeFileReader,
    af.Session: af.Session,
    af.PlacementTrial: lambda: af.PlacementTrial.__new__(af.PlacementTrial),
    af.LocalCluster: lambda: af.LocalCluster({"worker": 1}),
    af.Server: lambda: af.Server({"worker": ["127.0.0.1:1"]}, "worker", 0),
    af.Supervisor: lambda: af.Supervisor.__new__(af.Supervisor),
    af.blocking.Supervisor: lambda: af.blocking.Supervisor.__new__(af.blocking.Supervisor),
    af.blocking.Server: lambda: af.blocking.Server.__new__(af.blocking.Server),
    af.blocking.Session: af.blocking.Session,
    af.blocking.LocalCluster: lambda: af.blocking.LocalCluster.__new__(af.blocking.LocalCluster),
    af.train.AdagradDAOptimizer: lambda: af.train.AdagradDAOptimizer(0.1, af.train.get_or_create_global_step()),
    af.train.SyncReplicasOptimizer: lambda: minimized(),
    af.train.QueueRunner: lambda: af.train.QueueRunner(queue(), [queue().enqueue(1.0)]),
    af.train.Coordinator: af.train.Coordinator,
    af.train.Saver: lambda: af.train.Saver([af.Variable(1.0)]),
    af.train.MonitoredSession: lambda: af.train.MonitoredSession.__new__(af.train.MonitoredSession),
    af.train.SingularMonitoredSession: lambda: af.train.SingularMonitoredSession.__new__(
        af.train.SingularMonitoredSession
    ),
    af.train.Checkpoint: lambda: af.train.Checkpoint(),
    af.train.CheckpointManager: lambda: af.train.CheckpointManager.__new__(af.train.CheckpointManager),
    Function: lambda: af.function(lambda x: x),
    af.GradientTape: lambda: af.GradientTape(),
    PartialRun: lambda: PartialRun.__new__(PartialRun),
}
"""The objects that belong to a graph or to this process."""

OTHERS = {af.AggregationMethod, af.Defun, af.RegisterGradient, af.GraphKeys, af.losses.Reduction, af.io.TFRecordWriter}
OTHERS |= {af.train.GreedyLoadBalancingStrategy, af.UnconnectedGradients, af.eager, af.RetracingWarning}
OTHERS |= {af.train.NanLossDuringTrainingError, af.train.Scaffold, af.train.SessionManager}
OTHERS |= {af.PlacementStudy}
OTHERS |= {af.train.SessionRunHook, af.train.CheckpointSaverListener, af.train.SessionCreator}
"""Names of constants, decorators, a file that is open, a strategy with the program's own function, a scope, exceptions;
a study, which has a file format of its own; and what is handed to a monitored session of this process, by the base classes."""


def minimized() -> Any:
    made = af.train.SyncReplicasOptimizer(af.train.GradientDescentOptimizer(0.1), 1)
    made.minimize(af.square(af.Variable(1.0)), global_step=af.train.get_or_create_global_step())
    return made


@pytest.fixture(autouse=True)
def graph() -> Iterator[af.Graph]:
    with af.Graph().as_default() as made:
        yield made


def parts(value: Any) -> Any:
    """The parts that make two objects equal if they do not say so themselves."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.tolist()
    if isinstance(value, tuple | list):
        return [type(value), *map(parts, value)]
    if isinstance(value, dict):
        return {key: parts(one) for key, one in value.items()}
    if type(value).__eq__ is object.__eq__ and hasattr(value, "__dict__"):
        return type(value), parts(vars(value))
    return value


def test_the_table_has_all_public_classes() -> None:
    public = {
        kind
        for space in NAMESPACES
        for name in dir(space)
        if not name.startswith("_") and inspect.isclass(kind := getattr(space, name))
    }
    named = ABSTRACT | OTHERS | set(PLAIN) | set(BOUND)
    handed = (af.train.SessionRunHook, af.train.SessionCreator, af.train.SessionRunContext)
    assert {kind.__name__ for kind in public - named if not issubclass(kind, handed)} == set()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", PLAIN, ids=lambda kind: kind.__name__)
def test_records_and_settings_come_back_equal(kind: type, way: str) -> None:
    made = PLAIN[kind]()
    assert parts(WAYS[way](made)) == parts(made)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", BOUND, ids=lambda kind: f"{kind.__module__}.{kind.__name__}")
def test_what_belongs_to_this_process_says_so(kind: type, way: str) -> None:
    made = BOUND[kind]()
    if isinstance(made, af.blocking.Session):
        made.close()
    assert isinstance(made, kind)
    with pytest.raises(TypeError) as caught:
        WAYS[way](made)
    assert re.fullmatch(
        r"[A-Z].* (is|are) not pickled.*\.\n  More: actorflow explain not-pickled", str(caught.value)
    ), caught.value


@pytest.mark.parametrize("way", WAYS)
async def test_the_state_of_a_node_goes_without_its_task(way: str) -> None:
    task = asyncio.current_task()
    state = af.TaskState(1, "a", "Add", None, "runs", task)
    assert WAYS[way](state) == dataclasses.replace(state, task=None) and state.task is task


@pytest.mark.parametrize("way", WAYS)
def test_results_come_back_equal(way: str) -> None:
    with af.blocking.Session() as session:
        found = session.run(
            {
                "array": af.constant(np.arange(6.0).reshape(2, 3)),
                "scalar": af.constant(3),
                "texts": af.constant([b"a", b"bc"]),
                "sparse": af.SparseTensor([[0]], [1.0], [1]),
                "none": af.no_op(),
            }
        )
    assert parts(WAYS[way](found)) == parts(found)


# ---- errors


def all_errors() -> list[type[errors.OpError]]:
    found, left = [], [errors.OpError]
    while left:
        found.append(left.pop())
        left += [kind for kind in found[-1].__subclasses__() if kind.__module__.startswith("actorflow.")]
    assert {errors.Overloaded, transport_errors.PeerLost, BrokenMessageError} <= set(found)
    return sorted(set(found), key=lambda kind: kind.__qualname__)


def failed(kind: type[errors.OpError]) -> errors.OpError:
    error = kind(
        "\n".join(["It failed:", *"abcdefgh"]),
        node="n",
        op="MatMul",
        device="/device:CPU:0",
        where=Where(__file__, 3),
        details=[f"detail {number}" for number in range(20)],
        hint="Don't.",
    )
    if isinstance(error, errors.Overloaded):
        error.retry_after = 2.5
    error.add_note("a note")
    return error


def facts(error: BaseException) -> Any:
    return type(error), str(error), error.args, vars(error)


@pytest.mark.parametrize("way", [*WAYS, "copy"])
@pytest.mark.parametrize("kind", all_errors(), ids=lambda kind: kind.__name__)
def test_errors_keep_all_that_they_know(kind: type[errors.OpError], way: str) -> None:
    error = failed(kind)
    there = (WAYS | {"copy": copy.copy})[way](error)
    assert facts(there) == facts(error)
    assert facts(there.located(node="other")) == facts(error.located(node="other"))


def fail_in_a_run() -> None:
    with af.Graph().as_default() as graph, af.blocking.Session(graph=graph) as session:
        session.run(af.placeholder(FLOAT, name="x") + 1.0)


def test_an_error_comes_back_from_another_process() -> None:
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        with pytest.raises(errors.InvalidArgumentError) as caught:
            pool.submit(fail_in_a_run).result()
    assert caught.value.node == "x" and caught.value.where is not None and caught.value.where.file == __file__
