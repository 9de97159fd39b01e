"""A transport is what its entry point says: found by name or scheme, ranked by cost, refused with what is installed instead."""

from __future__ import annotations

import ast
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import actorflow as af
from actorflow import errors
from actorflow.base.registry import plugins
from actorflow.cluster.config.credentials import Credentials
from actorflow.cluster.config.spec import ClusterSpec
from actorflow.cluster.wire.endpoints import chosen, open_endpoints
from actorflow.engine.transport import installed
from actorflow.engine.transport.base import Reach

CORE = Path(af.__file__).parent
Install = Callable[..., None]
GOOD = """
from actorflow.engine.transport.base import Reach
from actorflow.engine.transport.factory import TransportFactory

def refuse(*args, **options):
    raise NotImplementedError

MADE = TransportFactory({name!r}, {scheme!r}, Reach.{reach}, refuse, cost={cost}, unavailable={unavailable!r})
"""


def forget() -> None:
    """Plug-ins are looked up again."""
    plugins.look_again()
    plugins._broken.clear()
    plugins._told.clear()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs a package of somebody else's, with one module and one entry point."""
    monkeypatch.syspath_prepend(str(tmp_path))
    made: list[str] = []

    def add(name: str, source: str | None = None, *, group: str = "transports", **fields: object) -> None:
        module = f"somebodys_{name}"
        text = source or GOOD.format(
            **{"name": name, "scheme": name, "reach": "ANY", "cost": 100, "unavailable": "", **fields}
        )
        (tmp_path / f"{module}.py").write_text(text, encoding="utf-8")
        info = tmp_path / f"{module}-2.5.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 2.5\n", encoding="utf-8")
        (info / "entry_points.txt").write_text(f"[actorflow.{group}]\n{name} = {module}:MADE\n", encoding="utf-8")
        made.append(module)
        forget()

    yield add
    for module in made:
        sys.modules.pop(module, None)
    monkeypatch.undo()
    forget()


def test_auto_takes_the_cheapest_that_reach_any_host_and_this_one() -> None:
    control, data = chosen("auto")
    assert (control.name, control.scheme, control.reach) == ("zmq", "tcp", Reach.ANY)
    assert data is not None and (data.name, data.reach) == ("shm", Reach.HOST) and data.cost < control.cost


def test_one_that_reaches_one_host_is_taken_beside_one_that_reaches_all() -> None:
    assert [one and one.name for one in chosen("shm")] == ["zmq", "shm"]
    assert [one and one.name for one in chosen("zmq")] == ["zmq", None]
    assert [one and one.name for one in chosen("local")] == ["local", None]


def test_another_packages_transport_is_found_by_its_name_and_its_scheme(install: Install) -> None:
    install("pigeons")
    assert installed.find("pigeons").reach is Reach.ANY
    assert installed.for_target("auto", "pigeons://a:1") == "pigeons"
    assert installed.for_target("auto", "tcp://a:1") == installed.for_target("auto", "local://a").replace(
        "local", "auto"
    )
    assert ClusterSpec({"ps": ["pigeons://A:7"]}).address_of("/job:ps/task:0") == "pigeons://a:7"
    assert [one and one.name for one in chosen("auto")] == ["zmq", "shm"], "it costs more than ours"


def test_a_cheaper_transport_is_what_auto_takes(install: Install) -> None:
    install("verbs", cost=5)
    assert [one and one.name for one in chosen("auto")] == ["verbs", None], "shared memory costs more than that"


@pytest.mark.parametrize(
    "ask",
    [
        lambda name: af.LocalCluster({"ps": 1}, transport=name),
        lambda name: af.blocking.LocalCluster({"ps": 1}, transport=name),
        lambda name: af.Server({"ps": ["localhost:7"]}, "ps", 0, transport=name),
        lambda name: open_endpoints(name),
    ],
    ids=["cluster", "blocking cluster", "server", "endpoints"],
)
def test_an_unknown_transport_is_refused_with_those_that_are_installed(
    install: Install, ask: Callable[[str], object]
) -> None:
    install("pigeons")
    with pytest.raises(errors.InvalidArgumentError) as refused:
        ask("rdma")
    said = str(refused.value)
    assert "transport='rdma': no such transport is installed; there are auto, local, pigeons, shm, zmq." in said
    assert "actorflow-rdma" in said and "actorflow, somebodys_pigeons 2.5" in said


def test_a_misspelt_transport_is_guessed() -> None:
    with pytest.raises(errors.InvalidArgumentError, match="Is 'zmq' meant"):
        installed.find("zqm")


def test_an_address_of_an_unknown_scheme_is_refused_with_those_that_are_spoken(install: Install) -> None:
    install("pigeons")
    with pytest.raises(
        errors.InvalidArgumentError, match=r"begins with rdma://.* by local://, pigeons://, tcp:// only"
    ):
        ClusterSpec({"ps": ["rdma://a:1"]})


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("import no_such_module_anywhere", "ModuleNotFoundError"),
        ("MADE = 1 / 0", "ZeroDivisionError"),
        ("x = 1", "MADE"),
    ],
    ids=["import", "fault", "nothing of that name"],
)
def test_a_plug_in_that_fails_to_import_is_told_once_and_disturbs_nothing(
    install: Install, caplog: pytest.LogCaptureFixture, source: str, why: str
) -> None:
    install("broken", source)
    install("pigeons")
    for _ in range(3):
        assert [one and one.name for one in chosen("auto")] == ["zmq", "shm"]
        assert installed.find("pigeons").name == "pigeons"
        with pytest.raises(plugins.PluginError) as refused:
            installed.find("broken")
        plugins.look_again()
    said = str(refused.value)
    assert "'broken' of actorflow.transports comes from the package somebodys_broken 2.5" in said and why in said
    told = [record for record in caplog.records if record.name == "actorflow.plugins"]
    assert len(told) == 1 and told[0].levelno == logging.WARNING
    assert "somebodys_broken" in caplog.text and "Traceback" in caplog.text and why in caplog.text


@pytest.mark.parametrize("group", ["kernels", "compilers"])
def test_a_broken_plug_in_of_another_kind_disturbs_nothing_either(
    install: Install, caplog: pytest.LogCaptureFixture, group: str
) -> None:
    install("broken", "MADE = 1 / 0", group=group)
    found = plugins.load_all(group)
    assert found.keys() == {entry.name for entry in plugins.entries(group)} - {"broken"}
    plugins.load_all.cache_clear()
    plugins.load_all(group)
    assert caplog.text.count("ZeroDivisionError: ") == 1


def test_what_is_no_transport_is_refused_with_its_package(install: Install, caplog: pytest.LogCaptureFixture) -> None:
    install("number", "MADE = 7")
    with pytest.raises(errors.FailedPreconditionError, match=r"names a int.*\n.*somebodys_number 2.5"):
        installed.find("number")
    assert [one and one.name for one in chosen("auto")] == ["zmq", "shm"]
    assert "a plug-in is left out" in caplog.text


def test_a_transport_that_cannot_work_here_says_why(install: Install) -> None:
    install("verbs", cost=1, unavailable="there is no adapter")
    with pytest.raises(
        errors.UnimplementedError, match="transport='verbs' can't work on this machine: there is no adapter"
    ):
        installed.find("verbs")
    assert chosen("auto")[0].name == "zmq"


def test_keys_are_not_dropped_silently(install: Install) -> None:
    install("pigeons")
    with pytest.raises(errors.InvalidArgumentError, match="The transport 'pigeons' has no keys"):
        open_endpoints("pigeons", credentials=Credentials.make())


def test_no_module_of_the_core_names_a_transport() -> None:
    """In its code, that is: docstrings may give examples. `tracebacks` lists libraries whose frames are not shown."""
    ours = {entry.name for entry in plugins.entries("transports")}
    found = []
    for path in sorted(CORE.rglob("*.py")):
        if path.name in ("standard.py", "tracebacks.py") and path.parent.name in ("registry", "reports"):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        where = path.relative_to(CORE)
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found += [(str(where), alias.name) for alias in node.names if alias.name.partition(".")[0] == "zmq"]
            elif isinstance(node, ast.Compare | ast.keyword | ast.Dict | ast.Tuple | ast.List | ast.Set | ast.Call):
                found += [
                    (str(where), value.value)
                    for value in ast.iter_child_nodes(node)
                    if isinstance(value, ast.Constant)
                    and isinstance(value.value, str)
                    and (value.value in ours or value.value.partition("://")[0] in ours and "://" in value.value)
                ]
    assert found == [(str(Path(p)), "local") for p in OTHER_MEANINGS]


OTHER_MEANINGS = (
    "cluster/processes/blocking_server.py",
    "cluster/processes/fork_server.py",
    "cluster/worker/worker.py",
    "engine/session/local.py",
)
"""The first has the name of the job of a local server, the others load the rendezvous of one process: `local`."""
