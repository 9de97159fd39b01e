"""Each public name is written once, beside what it names; namespaces, type checkers and editors have all and no others."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import pickle
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import jedi
import pytest

import actorflow as af
from actorflow.compat.v1.index import NAMES as THEIRS
from actorflow.index import NAMES

ROOT = Path(__file__).resolve().parents[2]


def tool() -> Any:
    """`tools/public_names.py` as a module."""
    sys.path.append(str(ROOT / "tools"))
    spec = importlib.util.spec_from_file_location("public_names", ROOT / "tools" / "public_names.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


public_names = tool()


def space(path: str) -> ModuleType:
    return importlib.import_module(public_names.homes(ROOT)[path])


# ---- what a namespace has


@pytest.mark.parametrize("path", [*NAMES, *THEIRS])
def test_a_namespace_lists_its_names_and_has_each(path: str) -> None:
    module = space(path)
    assert dir(module) == module.__all__ == sorted(set(module.__all__))
    assert not {"annotations", "Any", "TYPE_CHECKING", "namespace", "public"} & set(dir(module))
    assert not [name for name in dir(module) if name.startswith("_")]
    for name in module.__all__:
        getattr(module, name)
    for name in ("no_such_name", "__no_such_name__"):
        with pytest.raises(AttributeError, match=name):
            getattr(module, name)


def test_a_name_is_looked_up_once() -> None:
    module = ModuleType("made_for_this_test")
    sys.modules[module.__name__] = module
    try:
        from actorflow.public import lazily

        places = {"sqrt": "math", "root": "math:sqrt", "itself": "math:"}
        found, listed, names = lazily(module.__name__, "af.made", places, "nothing called {name} in {module}")
        module.__getattr__ = found  # type: ignore[method-assign]
        math = importlib.import_module("math")
        assert (module.sqrt, module.root, module.itself) == (math.sqrt, math.sqrt, math)
        assert {"sqrt", "root", "itself"} <= vars(module).keys()
        assert listed() == names == ["itself", "root", "sqrt"]
        with pytest.raises(AttributeError, match="nothing called sin in made_for_this_test") as error:
            _ = module.sin
        assert error.value.name == "sin"
    finally:
        del sys.modules[module.__name__]


def test_names_are_imported_from_a_namespace() -> None:
    program = """
        from actorflow.linalg import inv
        from actorflow.nn import conv2d
        import actorflow.engine.device
        import actorflow.math
        import actorflow.compat.v1.random
        import actorflow as af
        assert inv is af.matrix_inverse and conv2d is af.nn.conv2d and actorflow.math.add is af.add
        assert actorflow.compat.v1.random.uniform is af.random_uniform
        assert callable(af.device), "a package of that name does not hide the function"
        exec("from actorflow import *")
        assert placeholder is af.placeholder
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, stdin=subprocess.DEVNULL)


def test_nothing_is_imported_before_its_use() -> None:
    home = NAMES["af.nn"]["conv2d"]
    program = f"""
        import sys
        import actorflow, actorflow.nn, actorflow.train
        dir(actorflow), dir(actorflow.nn)
        late = {{"{home}", "actorflow.engine.session.session", "actorflow.models.train.optimizers.optimizers"}}
        assert not late & sys.modules.keys()
        actorflow.nn.conv2d
        assert "{home}" in sys.modules
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, stdin=subprocess.DEVNULL)


def test_a_mark_changes_nothing() -> None:
    assert pickle.loads(pickle.dumps(af.cond)) is af.cond
    assert af.cond.__module__ == "actorflow.graph.control_flow.cond"
    assert list(inspect.signature(af.nn.conv2d).parameters)[:2] == ["input", "filter"]
    assert inspect.getsource(af.Session).startswith('@public("af")')


# ---- type checkers


def checked(tmp_path: Path, *lines: str) -> list[str]:
    """The findings of mypy for a program, by its lines."""
    program = tmp_path / "program.py"
    program.write_text("\n".join(["import actorflow as af", "import actorflow.compat.v1 as tf", *lines, ""]), "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--no-pretty", program],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    said: list[str] = [""] * len(lines)
    for line in done.stdout.splitlines():
        found = re.match(r".*?program\.py:(\d+): (.*)", line)
        assert found, done.stdout
        said[int(found[1]) - 3] += found[2]
    return said


@pytest.mark.timeout(600)
def test_mypy_sees_each_public_name_with_its_type(tmp_path: Path) -> None:
    names = [f"{path}.{name}" for path in [*NAMES, *THEIRS] for name in dir(space(path))]
    names = [name for name in names if name not in ("af.TensorLike", "tf.TensorLike")]  # types, not values
    said = checked(tmp_path, *(f"reveal_type({name})" for name in names))
    wrong = [f"{n}: {s}" for n, s in zip(names, said) if not s.startswith("note: Revealed type is") or '"Any"' in s]
    assert not wrong and len(names) > 1500


@pytest.mark.timeout(600)
def test_mypy_rejects_a_typo_in_each_namespace(tmp_path: Path) -> None:
    typos = [
        *(f"{path}.{dir(space(path))[0]}_" for path in [*NAMES, *THEIRS]),
        "af.reduce_maen",
        "af.keras",
        "tf.reduce_maen",
    ]
    said = checked(tmp_path, *typos)
    assert not [typo for typo, text in zip(typos, said) if "has no attribute" not in text]


@pytest.mark.timeout(600)
def test_mypy_accepts_a_program(tmp_path: Path) -> None:
    program = """
        from actorflow.nn import relu

        def build(x: af.Tensor) -> af.Tensor:
            y = relu(af.matmul(x, af.get_variable("w", [2, 2], initializer=af.zeros_initializer())))
            picked = af.cond(af.reduce_all(x > 0.0), lambda: x + 1.0, lambda: y)
            reveal_type(picked)
            return tf.math.softplus(picked)

        async def run(y: af.Tensor) -> None:
            async with af.Session() as session:
                await session.run(y)
            with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as blocking:
                blocking.run(y, feed_dict={})
            tf.train.AdamOptimizer(0.1).minimize(y)
    """
    said = checked(tmp_path, *textwrap.dedent(program).splitlines())
    assert [text for text in said if text] == ['note: Revealed type is "actorflow.graph.tensor.Tensor"']


@pytest.mark.timeout(600)
def test_mypy_checks_the_arguments_of_functions_that_are_made_of_classes(tmp_path: Path) -> None:
    dense, wrong_name, wrong_type, pooling, typo = checked(
        tmp_path,
        "reveal_type(af.layers.dense(inputs=af.ones([2, 3]), units=2, activation=af.nn.relu))",
        "af.layers.dense(af.ones([2, 3]), unit=2)",
        "af.layers.conv2d(af.ones([2, 8, 8, 3]), 'four', 3)",
        "reveal_type(tf.layers.max_pooling2d(af.ones([2, 8, 8, 3]), 2, 2))",
        "tf.layers.separable_conv2d(af.ones([2, 8, 8, 3]), 4, 3, depth_multipliers=2)",
    )
    assert dense == pooling == 'note: Revealed type is "actorflow.graph.tensor.Tensor"'
    assert 'Unexpected keyword argument "unit" for "dense"' in wrong_name
    assert 'Argument 2 to "conv2d" has incompatible type "str"; expected "int"' in wrong_type
    assert 'Unexpected keyword argument "depth_multipliers" for "separable_conv2d"' in typo


def test_mypy_knows_the_names_of_0x(tmp_path: Path) -> None:
    said = checked(
        tmp_path,
        "import actorflow.compat.v0 as old",
        "reveal_type(old.mul)",
        "reveal_type(old.nn.softmax_cross_entropy_with_logits)",
        "reveal_type(old.nn.relu)",
        "reveal_type(old.train.Saver)",
        "old.nn.relo",
        "old.mull",
    )
    assert "TypeInfo" not in said[1] and all(text.startswith("note: Revealed type is") for text in said[1:5])
    assert "logits: Any, labels: Any" in said[2]
    assert all("has no attribute" in text for text in said[5:])


# ---- editors


def edited(program: str) -> Any:
    return jedi.Script(program, project=jedi.Project(ROOT), environment=jedi.InterpreterEnvironment())


@pytest.mark.timeout(300)
@pytest.mark.parametrize("path", ["af", "af.nn", "af.blocking", "tf", "tf.math", "tf.random"])
def test_an_editor_offers_the_names(path: str) -> None:
    """jedi completes in notebooks and in many editors."""
    program = f"import actorflow as af\nimport actorflow.compat.v1 as tf\n{path}."
    offered = {found.name for found in edited(program).complete()}
    assert offered >= set(dir(space(path)))
    assert not {"annotations", "Any", "TYPE_CHECKING", "namespace"} & offered


def test_an_editor_shows_arguments() -> None:
    program = "import actorflow.compat.v1 as tf\ntf.nn.conv2d("
    (found,) = edited(program).get_signatures()
    assert [parameter.name for parameter in found.params][:3] == ["input", "filter", "strides"]


def assigned_functions() -> dict[str, Any]:
    """The public functions that have no `def` of their own: other functions make them, and a module assigns them."""
    found = {}
    for file in sorted((ROOT / "actorflow").rglob("*.py")):
        assigned = public_names._assigned(ast.parse(file.read_text(encoding="utf-8")).body)
        for mark in public_names.marks(file, ROOT):
            value = getattr(importlib.import_module(mark.module), mark.name) if mark.name in assigned else None
            if isinstance(value, FunctionType):
                found[f"{mark.paths[0]}.{mark.name}"] = value
    return found


@pytest.mark.timeout(300)
def test_an_editor_shows_the_arguments_of_functions_that_are_assigned() -> None:
    functions = assigned_functions()
    assert {"af.layers.dense", "af.metrics.precision"} <= set(functions)
    for path, function in functions.items():
        (shown,) = edited(f"import actorflow as af\n{path}(").get_signatures()
        parameters = inspect.signature(function).parameters.values()
        assert [parameter.name for parameter in shown.params] == [parameter.name for parameter in parameters], path
        assert shown.docstring(raw=True), path


# ---- marks that can't be


@pytest.fixture
def sources(tmp_path: Path) -> Callable[[str], Path]:
    """A tree of sources with the namespaces `af`, `af.nn` and `tf`, and a module of these lines."""

    def make(text: str) -> Path:
        for file, content in {
            "actorflow/__init__.py": '__getattr__, __dir__, __all__ = _namespace("af", __name__)\n__version__ = "1"\n',
            "actorflow/nn.py": '"""Networks."""\n__getattr__, __dir__, __all__ = _namespace("af.nn", __name__)\n',
            "actorflow/compat/v1/__init__.py": '__getattr__, __dir__, __all__ = _namespace("tf", __name__)\n',
            "actorflow/compat/v1/namespaces.py": 'OWN = ("random",)\n',
            "actorflow/graph/ops/mine.py": textwrap.dedent(text),
            "actorflow/base/registry/__init__.py": "",
            "pyproject.toml": '[project.entry-points."actorflow.devices"]\nCPU = "a.b:C"\n',
        }.items():
            path = tmp_path / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        return tmp_path

    return make


def test_what_is_made_from_marks(sources: Callable[[str], Path]) -> None:
    root = sources("""
        @public("af", "af.nn:short", "tf.random")
        def long(): ...

        @other
        @public("tf:Old")
        class New: ...

        one, two = 1, 2
        three = 3
        public("af", of="three")
        public("tf:tools")
    """)
    assert public_names.tables(root) == {
        "af": {"long": "actorflow.graph.ops.mine", "three": "actorflow.graph.ops.mine", "nn": "actorflow.nn:"},
        "af.nn": {"short": "actorflow.graph.ops.mine:long"},
        "tf": {
            "Old": "actorflow.graph.ops.mine:New",
            "nn": "actorflow.compat.v1.nn:",
            "random": "actorflow.compat.v1.random:",
            "tools": "actorflow.graph.ops.mine:",
        },
        "tf.nn": {},
        "tf.random": {"long": "actorflow.graph.ops.mine"},
    }
    files = {str(path): text for path, text in public_names.generated(root).items()}
    assert "from actorflow.graph.ops.mine import long as short" in files["actorflow/nn.pyi"]
    assert '"""Networks."""' in files["actorflow/nn.pyi"]
    assert "__version__: str" in files["actorflow/__init__.pyi"]
    assert "from actorflow.graph.ops import mine as tools" in files["actorflow/compat/v1/__init__.pyi"]
    assert "from actorflow.graph.ops.mine import long as long" in files["actorflow/compat/v1/__init__.pyi"]
    assert "from actorflow.graph.ops.mine import long as short" in files["actorflow/compat/v1/nn.pyi"]
    assert '"CPU": "a.b:C"' in files["actorflow/base/registry/standard.py"]


def test_an_index_has_each_name_at_its_place() -> None:
    """However long names and modules are: a line that is full breaks between two names."""
    places = {
        "af": {f"{'name' * 15}{number}": "module" * 12 + kind for number, kind in enumerate(["", ":", ":inner"])},
        "af.nn": {"short": "actorflow.nn:long", "nn": "actorflow.nn:", "long": "actorflow.nn"},
        "af.empty": {},
    }
    index: dict[str, Any] = {}
    exec(public_names.table(places, "Names"), index)
    assert index["NAMES"] == places


def test_a_function_that_is_made_of_a_class_has_the_arguments_of_its_constructor(
    sources: Callable[[str], Path],
) -> None:
    root = sources("""
        from actorflow.graph.ops.types import Size

        def function_of(kind: type[Base]) -> Any:
            def function(inputs: Size, *args: Any) -> Size: ...
            return function

        class Base:
            def __init__(self, size: Size, name: str = "base", **inherited: Any) -> None: ...

        class Layer(Base):
            '''A layer.'''

        layer = function_of(Layer)
        public("af.nn", of="layer")
    """)
    (root / "actorflow/graph/ops/types.py").write_text("Size = int\n", encoding="utf-8")
    files = {str(path): text for path, text in public_names.generated(root).items()}
    stub = ast.parse(files["actorflow/nn.pyi"])
    (function,) = (node for node in stub.body if isinstance(node, ast.FunctionDef))
    assert function.name == "layer" and (ast.get_docstring(function) or "").startswith("A layer.")
    assert ast.unparse(function.args) == "inputs: Size, size: Size, name: str='base'" and function.returns is not None
    assert "from actorflow.graph.ops.types import Size\n" in files["actorflow/nn.pyi"]
    assert "from actorflow.nn import layer as layer" in files["actorflow/compat/v1/nn.pyi"]


def test_files_that_are_not_current_are_found(sources: Callable[[str], Path]) -> None:
    root = sources('@public("af")\ndef f(): ...\n')
    for path, text in public_names.outdated(root).items():
        (root / path).write_text(text, encoding="utf-8")
    assert public_names.outdated(root) == {}
    (root / "actorflow/old.pyi").write_text("", encoding="utf-8")
    assert public_names.outdated(root) == {Path("actorflow/old.pyi"): None}
    sources('@public("af")\ndef g(): ...\n')
    stubs = ("actorflow/__init__.pyi", "actorflow/compat/v1/__init__.pyi")
    assert set(map(str, public_names.outdated(root))) == {"actorflow/index.py", "actorflow/old.pyi", *stubs}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '@public("af.maths")\ndef f(): ...',
            r"mine\.py:2: there is no namespace af\.maths; there are: af, tf, af\.nn, tf\.nn",
        ),
        (
            '@public("af", "af")\ndef f(): ...\n\n@public("af:f")\ndef g(): ...',
            r"af has f of actorflow\.graph\.ops\.mine already",
        ),
        ('public("af", of="nothing")', r"actorflow\.graph\.ops\.mine has no constant nothing"),
        (
            '@public("af:graph")\ndef f(): ...',
            r"af\.graph is hidden by the module actorflow\.graph: let actorflow itself",
        ),
    ],
)
def test_a_mark_that_can_not_be_is_refused(sources: Callable[[str], Path], text: str, message: str) -> None:
    root = sources(text)
    with pytest.raises(public_names.Wrong, match=message):
        public_names.tables(root)
