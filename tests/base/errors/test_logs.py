"""The log goes through the standard `logging`: as the program has configured it, and never to stdout."""

from __future__ import annotations

import io
import json
import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import structlog
from logged import capture_logs

import actorflow as af
from actorflow.base.reports import logs

ROOT = Path(__file__).parents[3]
FOLDERS = ("actorflow", "transports", "devices", "kernels", "checkpoint")


def python(code: str, *options: str) -> subprocess.CompletedProcess[str]:
    """The result of a process of its own, without this one's configuration."""
    return subprocess.run(
        [sys.executable, *options, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )


SUPERVISED = """
import anyio, json, tempfile
import actorflow as af

async def main():
    graph = af.Graph()
    with graph.as_default():
        step = af.train.get_or_create_global_step()
        total = af.Variable(0.0, name="total")
        with af.control_dependencies([total.assign_add(1.0)]):
            train = af.train.GradientDescentOptimizer(0.1).minimize(af.square(total), global_step=step)
    with tempfile.TemporaryDirectory() as folder:
        async with af.LocalCluster({"worker": 1}) as cluster:
            async with af.Supervisor(cluster, graph=graph, checkpoint_dir=folder, save_steps=2) as supervisor:
                async for attempt in supervisor.steps(until=4):
                    async with attempt:
                        await supervisor.run(train)
    print(json.dumps({"done": True}))

anyio.run(main)
"""


def test_stdout_is_the_script_s_own_beside_a_supervisor() -> None:
    quiet = python(SUPERVISED)
    assert (json.loads(quiet.stdout), quiet.stderr) == ({"done": True}, ""), "what is no warning is not shown"
    shown = python("import logging; logging.basicConfig(level=logging.INFO)\n" + SUPERVISED)
    assert json.loads(shown.stdout) == {"done": True}
    assert re.search(r"INFO:actorflow\.supervisor:CheckpointSaved path=\S+ step=4\n", shown.stderr), shown.stderr


WARNING = """
import logging, sys
{configuration}
from actorflow.base.reports.logs import get_logger
get_logger("supervisor").info("it went well")
get_logger("supervisor").warning("a task is missing", task="/job:ps/task:0", tries=3)
"""


@pytest.mark.parametrize(
    ("configuration", "shown"),
    [
        ("", "a task is missing task=/job:ps/task:0 tries=3\n"),
        ("logging.basicConfig(level=logging.ERROR)", ""),
        ("logging.getLogger('actorflow').addHandler(logging.NullHandler())", ""),
        ("logging.basicConfig(); logging.getLogger('actorflow.supervisor').setLevel('ERROR')", ""),
        (
            "logging.basicConfig(); logging.getLogger('actorflow').setLevel('INFO')",
            "INFO:actorflow.supervisor:it went well\n"
            "WARNING:actorflow.supervisor:a task is missing task=/job:ps/task:0 tries=3\n",
        ),
    ],
)
def test_the_log_goes_where_logging_says(configuration: str, shown: str) -> None:
    ended = python(WARNING.format(configuration=configuration))
    assert (ended.stdout, ended.stderr, ended.returncode) == ("", shown, 0)


def test_records_that_nobody_takes_import_no_structlog() -> None:
    code = "log = get_logger('part'); log.info('a record'); print('structlog' in sys.modules)"
    imports = "import logging, sys; from actorflow.base.reports.logs import get_logger;"
    assert python(f"{imports} {code}").stdout == "False\n"
    assert python(f"{imports} logging.basicConfig(level='INFO'); {code}").stdout == "True\n"


def test_a_record_has_the_fields_and_the_caller(caplog: pytest.LogCaptureFixture) -> None:
    log = logs.get_logger("part").bind(step=7)
    log.error("no use", name="x y", task="/job:a", error=ValueError("bad"), table="\n1 2")
    (record,) = caplog.records
    assert record.name == "actorflow.part" and record.levelno == logging.ERROR
    assert record.getMessage() == "no use step=7 name='x y' task=/job:a error=ValueError('bad') table=\n1 2"
    assert vars(record)["event"] == "no use" and vars(record)["step"] == 7 and vars(record)["name_"] == "x y"
    assert (record.pathname, record.funcName) == (__file__, "test_a_record_has_the_fields_and_the_caller")


def test_a_record_has_the_exception(caplog: pytest.LogCaptureFixture) -> None:
    logs.get_logger("part").error("it broke", exc_info=ValueError("bad"))
    assert caplog.records[0].exc_info is not None and "ValueError: bad" in caplog.text


def test_percent_signs_stay(caplog: pytest.LogCaptureFixture) -> None:
    logs.get_logger("part").warning("100 %s", share="50 %d")
    assert caplog.records[0].getMessage() == "100 %s share='50 %d'"


def test_structlog_stays_as_the_program_configured_it(capsys: pytest.CaptureFixture[str]) -> None:
    stream = io.StringIO()
    structlog.configure(
        processors=[structlog.processors.JSONRenderer()], logger_factory=structlog.PrintLoggerFactory(stream)
    )
    try:
        before = structlog.get_config()
        with capture_logs() as seen, structlog.contextvars.bound_contextvars(request="r1"):
            logs.get_logger("part").warning("one of ours")
        structlog.get_logger().info("one of theirs")
        assert structlog.get_config() == before
    finally:
        structlog.reset_defaults()
    assert seen == [{"event": "one of ours", "request": "r1", "log_level": "warning"}]
    assert json.loads(stream.getvalue()) == {"event": "one of theirs"} and capsys.readouterr() == ("", "")


def test_importing_configures_nothing() -> None:
    ended = python(
        "import logging, structlog; before = logging.getLoggerClass()\n"
        "import actorflow as af; from actorflow.base.reports.logs import get_logger\n"
        "with af.blocking.Session() as s: s.run(af.constant(1)); get_logger('x').debug('x')\n"
        "assert not logging.getLogger().handlers and not logging.getLogger('actorflow').handlers\n"
        "assert logging.getLoggerClass() is before and not structlog.is_configured()"
    )
    assert (ended.stdout, ended.stderr, ended.returncode) == ("", "", 0)


def test_one_module_makes_loggers() -> None:
    """`compat.v1` has TensorFlow's own `tf.logging` beside it."""
    made = [
        str(path.relative_to(ROOT))
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
        if re.search(r"^ *(import|from) structlog\b|getLogger\(", path.read_text("utf-8"), re.MULTILINE)
    ]
    assert sorted(made) == ["actorflow/base/reports/logs.py", "actorflow/compat/v1/logs.py"]


def test_a_level_for_the_tasks_of_a_cluster() -> None:
    with pytest.raises(af.errors.InvalidArgumentError, match="log_level='loud': it is one of debug, info"):
        af.LocalCluster({"worker": 1}, log_level="loud")
    told = python(
        "from actorflow.base.reports import logs; logs.configure('warning')\n" + WARNING.format(configuration="")
    )
    assert told.stdout == ""
    (line,) = told.stderr.splitlines()
    assert re.fullmatch(r"\d{4}-\S+ \S+ WARNING  actorflow\.supervisor: a task is missing task=\S+ tries=3", line)
