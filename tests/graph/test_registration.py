"""Ops and kernels are added from outside, and what is registered in part or twice is refused with the place of the fault."""

from __future__ import annotations

import functools
import inspect
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE

import actorflow as af
from actorflow import errors
from actorflow.base.dtypes import FLOATING
from actorflow.base.registry import kernel, opdef, plugins
from actorflow.base.registry.standard import ENTRY_POINTS
from actorflow.graph.ops.declare import Op
from actorflow.graph.ops.shape_rules import elementwise, unchanged

THIRD_PARTY = Path(__file__).parents[1] / "third_party"


@pytest.fixture
def tables() -> Iterator[None]:
    """Registrations of a test are forgotten after it."""
    plugins.load_kernels()
    ops, kernels = dict(opdef._OPS), {op: list(entries) for op, entries in kernel._KERNELS.items()}
    yield
    for table, before in ((opdef._OPS, ops), (kernel._KERNELS, kernels)):
        table.clear()
        table.update(before)  # type: ignore[arg-type]
    plugins._verify.cache_clear()


pytestmark = pytest.mark.usefixtures("tables")


def line_of(function: Callable[..., Any]) -> str:
    return f"{__file__}:{inspect.unwrap(function).__code__.co_firstlineno}"


def declare(name: str = "Twice", **traits: Any) -> Any:
    """An op with one input and the attribute `times`."""

    @af.op(name, shape=unchanged, **{"gradient": None, **traits})
    def twice(x: af.TensorLike, *, times: int = 2, name: str | None = None) -> af.Tensor:
        """x times."""

    return twice


def opens() -> None:
    """Makes a session, whose first act is to check all registrations. It has run nothing, so there is nothing to close."""
    af.Session(graph=af.Graph())


# ---- F11: a third party's package


def run_program(*paths: Path) -> dict[str, Any]:
    """The output of the third party's program in a process of its own that finds packages in `paths`."""
    root = Path(af.__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-W", "error", THIRD_PARTY / "program.py"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [*paths, THIRD_PARTY, root]))},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def installed(folder: Path) -> Path:
    """`folder` with what an installer writes from the package's pyproject.toml: its name and its entry points."""
    project = tomllib.loads((THIRD_PARTY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    name, version = project["name"], project["version"]
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    lines = []
    for group, entries in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{key} = {value}" for key, value in entries.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def test_f11_a_package_adds_an_op_and_kernels_for_two_device_types(tmp_path: Path) -> None:
    found = run_program(installed(tmp_path))
    expected = [[3.0, 9.0, 19.0], [4.0, 8.0, 12.0]]  # 1 + 2x² and 4x
    assert found["values"] == {"CPU": expected, "SIM": expected}
    assert {kind: name.rpartition("/")[2] for kind, name in found["placed"].items()} == {
        "CPU": "device:CPU:0",
        "SIM": "device:SIM:0",
    }
    assert set(found["launched"]) == {"CPU", "SIM"}


def test_f11_kernels_that_no_entry_point_names_are_not_found(tmp_path: Path) -> None:
    found = run_program(tmp_path)
    assert "Op Polynomial has no kernel" in found["error"]
    assert "node y_" in found["error"] and "program.py:" in found["error"]


async def test_f11_a_program_adds_an_op_and_its_kernel_in_its_own_module() -> None:
    twice = declare()

    @af.kernel("Twice")
    def kernel_of_twice(xp: Any, x: Any, *, times: int) -> Any:
        return x * times

    graph = af.Graph()
    with graph.as_default():
        y = twice(af.constant([1.0, 2.0]), times=3)
    async with af.Session(graph=graph) as session:
        assert (await session.run(y)).tolist() == [3.0, 6.0]


EVALUATED = """
import collections.abc
import typing

import actorflow as af
from actorflow.base.dtypes import DTypeLike
from actorflow.graph.ops.shape_rules import unchanged
from actorflow.graph.ops.declare import op as declare

@declare("Evaluated", shape=unchanged, result="dtype", gradient=None)
def evaluated(
    x: af.TensorLike,
    more: SEQUENCE[af.TensorLike],
    other: af.Tensor,
    *,
    dtype: DTypeLike = af.float32,
    times: int = 2,
    name: typing.Optional[str] = None,
) -> af.Tensor:
    'x as another type'
"""


@pytest.mark.parametrize("postponed", [True, False])
@pytest.mark.parametrize("sequence", ["collections.abc.Sequence", "typing.Sequence"])
def test_annotations_may_be_evaluated_or_postponed(postponed: bool, sequence: str) -> None:
    """A module need not say `from __future__ import annotations`, and may name things by their modules."""
    source = EVALUATED.replace("SEQUENCE", sequence)
    names: dict[str, Any] = {"__name__": "theirs"}
    exec(
        compile("from __future__ import annotations\n" * postponed + source, __file__, "exec", dont_inherit=True), names
    )
    graph = af.Graph()
    with graph.as_default():
        y = names["evaluated"](af.constant(1.0), [2.0, 3.0], 4.0, dtype="int64")
        assert y.dtype is af.int64 and len(y.op.inputs) == 4
        with pytest.raises(TypeError, match="'times' is an int"):
            names["evaluated"](1.0, [], 1.0, times=1.5)


# ---- F10: which kernel a device gets


async def test_f10_an_op_with_a_kernel_for_another_device_only_is_refused_by_name() -> None:
    twice = declare()

    @af.kernel("Twice", device="GPU")
    def on_gpu(xp: Any, x: Any) -> Any:
        raise AssertionError("no GPU is there")

    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder(af.float32, [], name="x")
        y = twice(x, name="far")
    async with af.Session(graph=graph) as session:
        with pytest.raises(errors.UnimplementedError) as caught:
            await session.run(y, {x: 1.0})
        error = caught.value
        assert (error.node, error.op) == ("far", "Twice")
        assert error.where == y.where and f"{__file__}:" in str(error)
        assert "Op Twice has no kernel for CPU; it has kernels for: GPU" in str(error)
        assert await session.run(x, {x: 1.0}) == 1.0


async def test_f10_a_node_goes_to_the_first_device_that_has_a_kernel() -> None:
    twice = declare()

    @af.kernel("Twice", device="SIM")
    def on_sim(xp: Any, x: Any) -> Any:
        return x + x

    graph = af.Graph()
    with graph.as_default():
        y = twice(af.placeholder_with_default(2.0, []), name="y")
    async with af.Session(graph=graph, devices={"CPU": 1, "SIM": 1}) as session:
        assert await session.run(y) == 4.0
        assert session.placement(y).endswith("device:SIM:0")


async def test_f10_a_kernel_for_a_device_goes_before_one_for_all_and_one_for_types_before_one_for_every_type() -> None:
    twice = declare()
    marks = {}
    for mark, options in enumerate(
        ({}, {"dtypes": frozenset({af.int32})}, {"device": "SIM"}, {"device": "SIM", "dtypes": frozenset({af.int32})})
    ):

        def function(xp: Any, x: Any, mark: int = mark) -> Any:
            return x.dtype.type(mark)

        function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [inspect.Parameter(p, inspect.Parameter.POSITIONAL_OR_KEYWORD) for p in ("xp", "x")]
        )
        marks[mark] = options
        af.kernel("Twice", **options)(function)  # type: ignore[arg-type]

    graph = af.Graph()
    found = {}
    with graph.as_default():
        for device in ("CPU", "SIM"):
            for dtype in (af.float32, af.int32):
                with af.device(f"/device:{device}:0"):
                    found[f"{device} {dtype}"] = twice(af.placeholder_with_default(af.constant(7, dtype), []))
    async with af.Session(graph=graph, devices={"CPU": 1, "SIM": 1}) as session:
        values = {key: int(value) for key, value in (await session.run(found)).items()}
    assert values == {"CPU float32": 0, "CPU int32": 1, "SIM float32": 2, "SIM int32": 3}


async def test_f10_a_type_that_no_kernel_takes_is_refused_by_name() -> None:
    twice = declare()

    @af.kernel("Twice", dtypes=frozenset({af.float32}))
    def only_float32(xp: Any, x: Any) -> Any:
        return x + x

    graph = af.Graph()
    with graph.as_default():
        fine, bad = twice(1.0, name="fine"), twice(1, name="bad")
    async with af.Session(graph=graph) as session:
        with pytest.raises(errors.UnimplementedError) as caught:
            await session.run(bad)
        text = str(caught.value)
        assert "node bad (Twice)" in text and f"{__file__}:" in text and "int32" in text and "float32" in text
        assert await session.run(fine) == 2.0


async def test_f10_a_device_whose_kernels_do_not_take_the_type_is_passed_over() -> None:
    twice = declare()

    @af.kernel("Twice", device="CPU", dtypes=frozenset({af.float32}))
    def only_float32(xp: Any, x: Any) -> Any:
        return x + x

    @af.kernel("Twice", device="SIM")
    def every_type(xp: Any, x: Any) -> Any:
        return x + x

    graph = af.Graph()
    with graph.as_default():
        y = twice(af.placeholder_with_default(1, []), name="y")
    async with af.Session(graph=graph, devices={"CPU": 1, "SIM": 1}) as session:
        assert await session.run(y) == 2
        assert session.placement(y).endswith("device:SIM:0")


@pytest.mark.parametrize("fed", [True, False])
async def test_f10_a_kernel_with_another_number_of_outputs_than_its_op_is_named(fed: bool) -> None:
    twice = declare()

    @af.kernel("Twice")
    def gives_two(xp: Any, x: Any) -> Any:
        return x, x

    graph = af.Graph()
    with graph.as_default():
        x = af.placeholder_with_default(1.0, [])
        y = twice(x, name="y")
    async with af.Session(graph=graph) as session:
        with pytest.raises(errors.InternalError, match="returned 2 values") as caught:
            await session.run(y, {x: 3.0} if fed else {})
        assert "node y (Twice)" in str(caught.value)


# ---- what is declared in part


def test_an_op_that_says_nothing_of_its_gradient_is_refused_by_the_first_session() -> None:
    @af.op("Silent", shape=elementwise, dtypes=FLOATING)
    def silent(x: af.TensorLike, *, name: str | None = None) -> af.Tensor:
        """x itself."""

    with pytest.raises(TypeError, match="Ops without a gradient: Silent") as caught:
        opens()
    assert line_of(silent) in str(caught.value)
    with pytest.raises(TypeError, match="Silent"):
        opdef.verify()
    silent.gradient(None)
    opens()


def test_every_op_of_the_core_has_a_docstring() -> None:
    plugins.import_ops()
    modules = [module for name, module in sys.modules.items() if name.startswith("actorflow.graph.ops.")]
    ops = {value for module in modules for value in vars(module).values() if isinstance(value, Op)}
    assert len(ops) > 300
    assert not [op for op in ops if not op.__doc__], "say what it computes, shapes, types and errors"


def test_an_input_of_an_unknown_annotation_is_refused() -> None:
    with pytest.raises(TypeError, match="Op Odd: the parameter 'x' is annotated 'dict'") as caught:

        @af.op("Odd", shape=unchanged, gradient=None)
        def odd(x: dict, *, name: str | None = None) -> af.Tensor:  # type: ignore[type-arg]
            """x."""

    assert "TensorLike" in str(caught.value) and "RefLike" in str(caught.value)
    assert "Odd" not in opdef.registered()


def test_an_input_without_an_annotation_is_refused() -> None:
    with pytest.raises(TypeError, match="Op Bare: the parameter 'x' has no annotation"):

        @af.op("Bare", shape=unchanged, gradient=None)
        def bare(x, *, name: str | None = None) -> af.Tensor:  # type: ignore[no-untyped-def]
            """x."""


@pytest.mark.parametrize("star", ["*x", "**x"])
def test_inputs_behind_a_star_are_refused(star: str) -> None:
    names: dict[str, Any] = {"af": af}
    exec(f"def starred({star}: af.TensorLike) -> af.Tensor:\n    'x.'", names)
    with pytest.raises(TypeError, match=r"Op Starred: the parameter 'x'.*Sequence"):
        af.op("Starred", shape=unchanged, gradient=None)(names["starred"])


def test_types_of_an_input_that_is_not_there_are_refused() -> None:
    with pytest.raises(TypeError, match=r"Op Twice: `types` names \['z'\], which are no inputs"):
        declare(types={"z": af.int32})


def test_an_op_that_is_declared_twice_names_both_places() -> None:
    first = declare("Once")
    with pytest.raises(ValueError, match="'Once'") as caught:

        @af.op("Once", shape=unchanged, gradient=None)
        def once(x: af.TensorLike, *, name: str | None = None) -> af.Tensor:
            """x."""

    assert line_of(first) in str(caught.value)
    assert opdef.lookup("Once") is first.definition
    declare("Once")  # the same lines again: a module that is imported again


# ---- kernels that fit no op


def test_a_kernel_for_an_unknown_op_is_refused_by_the_first_session() -> None:
    @af.kernel("Nowhere")
    def lost(xp: Any, x: Any) -> Any:
        return x

    with pytest.raises(TypeError, match=r"lost.* is for 'Nowhere', which is no op") as caught:
        opens()
    assert line_of(lost) in str(caught.value)


def test_a_kernel_that_names_an_unknown_attribute_is_refused_by_the_first_session() -> None:
    declare()

    @af.kernel("Twice")
    def odd(xp: Any, x: Any, *, often: int) -> Any:
        return x

    with pytest.raises(TypeError, match=r"kernel of Twice .* names \['often'\].*\['times'\]") as caught:
        opens()
    assert line_of(odd) in str(caught.value)


@pytest.mark.parametrize("inputs", [0, 2])
def test_a_kernel_of_another_number_of_inputs_is_refused_by_the_first_session(inputs: int) -> None:
    declare()
    functions: Sequence[Callable[..., Any]] = (lambda xp: xp, None, lambda xp, x, y: x)  # type: ignore[assignment]
    af.kernel("Twice")(functions[inputs])
    with pytest.raises(TypeError, match=r"kernel of Twice .* has to take xp and 1 inputs"):
        opens()


def test_the_parameters_of_a_kernel_are_those_of_its_signature() -> None:
    """Of all kernels, and of functions of other kinds: what their code says is what `inspect` says."""

    def by_name(xp: Any, x: Any = 1, /, y: Any = 2, *rest: Any, times: int, **more: Any) -> Any:
        return x

    def gathered(*rest: Any) -> Any:
        return rest

    def named_behind(*rest: Any, xp: Any) -> Any:
        return xp

    @functools.wraps(by_name)
    def wrapped(*arguments: Any, **keywords: Any) -> Any:
        return by_name(*arguments, **keywords)

    tables = (kernel._KERNELS, kernel._FROM_LIBRARIES)
    functions = [entry.function for table in tables for entries in table.values() for entry in entries]
    for function in (*functions, by_name, gathered, named_behind, wrapped, lambda: None, lambda *, times: times, opens):
        parameters = list(inspect.signature(function).parameters.values())
        positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        assert kernel._parameters(function) == (
            parameters[0].name if parameters else None,
            sum(p.default is p.empty for p in positional),
            len(positional),
            any(p.kind is p.VAR_POSITIONAL for p in parameters),
            tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY),
        ), line_of(function)


def test_a_kernel_that_does_not_take_the_array_module_first_is_refused() -> None:
    declare()
    with pytest.raises(TypeError, match=r"kernel .*late for Twice has to take `xp` first"):

        @af.kernel("Twice")
        def late(x: Any, xp: Any) -> Any:
            return x

    assert "Twice" not in kernel.registered()


def test_a_second_kernel_for_one_device_and_type_names_both_places() -> None:
    declare()

    @af.kernel("Twice", device="CPU")
    def first(xp: Any, x: Any) -> Any:
        return x

    with pytest.raises(ValueError, match="Op Twice has a kernel for device CPU already") as caught:

        @af.kernel("Twice", device="CPU")
        def second(xp: Any, x: Any) -> Any:
            return x

    text = str(caught.value)
    assert line_of(first) in text and "second" in text
    assert [entry.function for entry in kernel.registered()["Twice"]] == [first]
    af.kernel("Twice", device="SIM")(first)
    af.kernel("Twice", device="CPU", dtypes=FLOATING)(first)
    assert set(kernel.devices_of("Twice")) == {"CPU", "SIM"}
    opens()


def test_one_look_at_the_installed_packages_finds_plug_ins_of_all_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look reads a file of each package. One for each kind took most of the time in which a lost task starts again."""
    looks: list[object] = []
    look = plugins.entry_points

    def counted(**selection: Any) -> Any:
        looks.append(selection)
        return look(**selection)

    monkeypatch.setattr(plugins, "entry_points", counted)
    plugins.look_again()
    assert all(plugins.entries(name.removeprefix("actorflow.")) for name in ENTRY_POINTS) and len(looks) == 1
    plugins.look_again()
    plugins.entries("transports")
    assert len(looks) == 2
