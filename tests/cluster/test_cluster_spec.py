"""ClusterSpec, the ways to one (dictionary, JSON file, TF_CONFIG, Slurm), and the table of missing tasks."""

from __future__ import annotations

import json
import random
import socket
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorflow.cluster.config import environment, slurm
from actorflow.cluster.config.environment import TaskEnvironment
from actorflow.cluster.config.spec import ClusterSpec, canonical, parse_task, task_name
from actorflow.cluster.processes.startup import ConnectProgress, TaskReachability, missing, table
from actorflow.errors import InvalidArgumentError, NotFoundError, PermissionDeniedError
from actorflow.graph.graphdef.cluster_protos import ClusterDef, JobDef

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_\-]{0,8}", fullmatch=True)


@st.composite
def clusters(draw: st.DrawFn) -> dict[str, Any]:
    """Dictionaries that are good clusters: lists and dictionaries of tasks, no address twice."""
    ports = iter(draw(st.permutations(range(1, 60))))
    found: dict[str, Any] = {}
    for job in draw(st.lists(names, unique=True, max_size=4)):
        indices = draw(st.lists(st.integers(0, 30), unique=True, max_size=6))
        addresses = [f"{draw(st.sampled_from(['host', '10.0.0.1', '[::1]']))}:{next(ports)}" for _ in indices]
        found[job] = addresses if draw(st.booleans()) else dict(zip(indices, addresses))
    return found


json_keys = st.sampled_from(["cluster", "task", "type", "index", "ps", "0", "1"]) | st.text(max_size=4)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(json_keys, below, max_size=4),
)


# ---- the class


def test_f56_jobs_and_tasks_resolve_to_addresses() -> None:
    spec = ClusterSpec({"worker": ["w0:7070", "w1:7070", "tcp://w2:7070"], "ps": ["ps0:7070", "[::1]:7071"]})
    assert spec.jobs == ["ps", "worker"] and spec.num_tasks("worker") == 3 and spec.task_indices("ps") == [0, 1]
    assert [spec.task_address("worker", k) for k in range(3)] == ["w0:7070", "w1:7070", "tcp://w2:7070"]
    assert spec.tasks[1:3] == ["/job:ps/task:1", "/job:worker/task:0"]
    assert spec.address_of("/job:ps/task:1") == "tcp://[::1]:7071" and spec.address_of("worker:2") == "tcp://w2:7070"
    assert "/job:ps/task:0" in spec and "/job:ps/task:2" not in spec and len(spec) == 5 and list(spec) == spec.tasks


def test_f56_a_job_may_leave_numbers_out() -> None:
    spec = ClusterSpec({"worker": {3: "c:1", 1: "a:1"}, "ps": {0: "p:1", 1: "p:2"}})
    assert spec.task_indices("worker") == [1, 3] and spec.job_tasks("worker") == [None, "a:1", None, "c:1"]
    assert spec.as_dict() == {"ps": ["p:1", "p:2"], "worker": {1: "a:1", 3: "c:1"}}
    assert spec.num_tasks("worker") == 2


def test_f56_a_spec_without_jobs_is_false() -> None:
    assert not ClusterSpec({}) and ClusterSpec({"ps": []}) and ClusterSpec({"ps": []}).job_tasks("ps") == []


def test_a_cluster_passes_as_tensorflows_message() -> None:
    spec = ClusterSpec({"worker": {3: "c:1", 1: "a:1"}, "ps": ["p:1"], "empty": []})
    message = spec.as_cluster_def()
    assert [(job.name, dict(job.tasks)) for job in message.job] == [
        ("empty", {}),
        ("ps", {0: "p:1"}),
        ("worker", {1: "a:1", 3: "c:1"}),
    ]
    again = ClusterDef.FromString(message.SerializeToString())
    assert ClusterSpec(again) == ClusterSpec(message) == spec and ClusterSpec(again).jobs == spec.jobs
    assert ClusterSpec(ClusterDef()).jobs == []
    one = ClusterDef(job=[JobDef(name="w", tasks={0: "h:1"})])
    assert one.SerializeToString() == b"\n\x0c\n\x01w\x12\x07\x08\x00\x12\x03h:1"
    with pytest.raises(TypeError, match="a dictionary from jobs to tasks"):
        ClusterSpec(one.job[0])  # type: ignore[arg-type]


@given(clusters(), st.randoms(use_true_random=False))
def test_f56_equal_clusters_are_equal_whatever_their_spelling(cluster: dict[str, Any], shuffle: random.Random) -> None:
    spec = ClusterSpec(cluster)
    again = ClusterSpec(spec.as_dict())
    mixed = []
    for job, tasks in cluster.items():
        pairs = list(tasks.items() if isinstance(tasks, dict) else enumerate(tasks))
        shuffle.shuffle(pairs)
        mixed.append((job, {index: f"tcp://{address.upper()}" for index, address in pairs}))
    shuffle.shuffle(mixed)
    other = ClusterSpec({job: tasks for job, tasks in mixed if tasks})
    full = ClusterSpec({job: tasks for job, tasks in cluster.items() if tasks})
    assert spec == again == ClusterSpec(spec) and hash(spec) == hash(again) and spec.cluster_id == again.cluster_id
    assert other == full and other.cluster_id == full.cluster_id
    if len(spec):
        assert ClusterSpec({**full.as_dict(), "another": ["host:65535"]}).cluster_id != spec.cluster_id


def test_a_port_of_zero_describes_a_task_that_can_t_be_reached() -> None:
    spec = ClusterSpec({"ps": ["a:0"], "worker": ["a:0", "b:1"]})
    assert spec.tasks == ["/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"]
    assert spec.address_of("/job:worker/task:1") == "tcp://b:1"
    with pytest.raises(InvalidArgumentError, match="Job 'ps', task 0: the port of 'tcp://a:0' is 0"):
        spec.address_of("/job:ps/task:0")


def test_f56_the_cluster_id_is_the_same_in_every_release() -> None:
    assert ClusterSpec({"ps": ["ps0:7070"], "worker": {0: "w0:7070"}}).cluster_id == "df8156e7a5c71ad1"


@pytest.mark.parametrize(
    ("cluster", "said"),
    [
        ({"ps": ["a:1", "b:2", "A:1"]}, r"/job:ps/task:0 and /job:ps/task:2 have the same address, A:1"),
        ({"ps": ["a:1"], "worker": ["tcp://a:01"]}, r"/job:ps/task:0 and /job:worker/task:0 have the same address"),
        ({"ps": ["a:65536"]}, r"Job 'ps', task 0: the port of 'a:65536' is '65536'"),
        ({"ps": ["a:1", "a:65536"]}, r"Job 'ps', task 1: the port of 'a:65536'"),
        ({"ps": ["a:x"]}, r"the port of 'a:x' is 'x'"),
        ({"ps": ["a:"]}, r"the port of 'a:' is ''"),
        ({"ps": ["a"]}, r"'a' is not an address; it looks like host:port"),
        ({"ps": [":7070"]}, r"not an address"),
        ({"ps": ["::1:7070"]}, r"not an address"),
        ({"ps": ["a b:7070"]}, r"not an address"),
        ({"ps": ["grpc://a:7070"]}, r"begins with grpc://"),
        ({"ps": ["0.0.0.0:7070"]}, r"says where to listen"),
        ({"ps": ["[::]:7070"]}, r"says where to listen"),
        ({"a b": ["a:1"]}, r"'a b' can't be the name of a job"),
        ({"": ["a:1"]}, r"can't be the name of a job"),
        ({"ps": {-1: "a:1"}}, r"-1 can't be the number"),
    ],
)
def test_f56_what_cannot_be_is_named_with_its_place(cluster: Any, said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=said):
        ClusterSpec(cluster)


@pytest.mark.parametrize(
    "cluster",
    [None, ["a:1"], "a:1", {"ps": "a:1"}, {"ps": 3}, {"ps": [1]}, {"ps": {"0": "a:1"}}, {"ps": {True: "a:1"}}, {1: []}],
)
def test_f56_other_types_are_type_errors(cluster: Any) -> None:
    with pytest.raises(TypeError, match="not"):
        ClusterSpec(cluster)


def test_f56_unknown_jobs_and_tasks_say_what_there_is() -> None:
    spec = ClusterSpec({"ps": ["a:1"], "worker": {2: "b:1", 5: "b:2"}})
    for ask in (spec.num_tasks, spec.task_indices, spec.job_tasks):
        with pytest.raises(ValueError, match="no job 'chief' in the cluster; it has ps, worker"):
            ask("chief")
    with pytest.raises(ValueError, match="no task 3 in job 'worker'; it has 2, 5"):
        spec.task_address("worker", 3)
    for bad in ("worker", "/job:worker", "/job:worker/task:x", "worker:2:3", "/task:0"):
        with pytest.raises(InvalidArgumentError, match="names no task"):
            spec.address_of(bad)


@given(names, st.integers(0, 10**9 - 1))
def test_f56_names_of_tasks_read_back(job: str, index: int) -> None:
    assert parse_task(task_name(job, index)) == parse_task(f"{job}:{index}") == (job, index)


@given(st.text(max_size=30))
def test_f56_any_text_is_an_address_or_a_sentence(text: str) -> None:
    try:
        found = canonical(text)
    except InvalidArgumentError as error:
        assert error.message.startswith("An address: ")
    else:
        assert canonical(found) == found


# ---- files and variables


def test_f56_a_file_of_jobs_and_one_of_tf_config(tmp_path: Path) -> None:
    jobs = {"ps": ["a:1"], "worker": {"0": "b:1", "7": "b:2"}}
    (tmp_path / "plain.json").write_text(json.dumps(jobs))
    outer = {"cluster": jobs, "task": {"type": "worker", "index": 7}, "environment": "cloud", "rpc_layer": "grpc"}
    (tmp_path / "outer.json").write_text(json.dumps(outer))
    plain, place = (environment.read_file(tmp_path / name) for name in ("plain.json", "outer.json"))
    assert plain.cluster == place.cluster == ClusterSpec({"ps": ["a:1"], "worker": {0: "b:1", 7: "b:2"}})
    assert place.task == "/job:worker/task:7" and (plain.job, plain.index) == (None, None)
    with pytest.raises(InvalidArgumentError, match="No task of the cluster is given"):
        plain.task  # noqa: B018


def test_f55_the_address_and_the_role_come_from_the_environment(tmp_path: Path) -> None:
    text = json.dumps({"cluster": {"ps": ["a:1"], "worker": ["b:1"]}, "task": {"type": "ps", "index": "0"}})
    (tmp_path / "c.json").write_text(text.replace('"ps", "index"', '"worker", "index"'))
    by_tensorflow = environment.from_environment({"TF_CONFIG": text})
    inline = environment.from_environment({"ACTORFLOW_CONFIG": " " + text})
    by_path = environment.from_environment({"ACTORFLOW_CONFIG": str(tmp_path / "c.json"), "TF_CONFIG": text})
    assert by_tensorflow and inline and by_path
    assert (by_tensorflow.task, inline.task, by_path.task) == ("/job:ps/task:0", "/job:ps/task:0", "/job:worker/task:0")
    assert environment.from_environment({"TF_CONFIG": " "}) is None is environment.from_environment({})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"ps": ["a:1",\n  "b:2"}', r"c\.json:2:8: this is not JSON: Expecting ',' delimiter"),
        ("", r"c\.json:1:1: this is not JSON"),
        ("[]", r"c\.json: a cluster is a dictionary from jobs to tasks, not a list"),
        ("{}", r"c\.json: the cluster has no jobs"),
        ('{"ps": ["a:1", "a:1"]}', r"c\.json: /job:ps/task:0 and /job:ps/task:1 have the same address, a:1"),
        ('{"ps": ["a:99999"]}', r"c\.json: Job 'ps', task 0: the port of 'a:99999'"),
        ('{"ps": ["a:1"], "ps": ["b:1"]}', r"c\.json: 'ps' is there twice"),
        ('{"ps": {"x": "a:1"}}', r"c\.json: Job 'ps': 'x' is not the number"),
        ('{"ps": [3]}', r"c\.json: Job 'ps', task 0: an address is text"),
        (
            '{"cluster": {"ps": ["a:1"]}, "task": {"type": "ps", "index": 4}}',
            r"c\.json: There is no task 4 in job 'ps'",
        ),
        ('{"cluster": {"ps": ["a:1"]}, "task": {"index": 4}}', r"c\.json: `task` looks like"),
        ('{"cluster": {"ps": ["a:1"]}, "task": {"type": "ps", "index": 1.5}}', r"c\.json: `task`: the index"),
        ("[" * 100_000, r"c\.json: lists or objects are nested too deeply"),
    ],
)
def test_f56_bad_json_is_named_with_file_and_place(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(InvalidArgumentError, match=said):
        environment.read_file(tmp_path / "c.json")


@given(json_values)
def test_f56_any_json_is_a_cluster_or_a_sentence(value: Any) -> None:
    try:
        place = environment.parse(json.dumps(value), "here")
    except InvalidArgumentError as error:
        assert error.message.startswith("here")
    else:
        assert place.cluster


def test_f56_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"none\.json does not exist"):
        environment.read_file(tmp_path / "none.json")
    with pytest.raises(InvalidArgumentError, match=r"can't be read: .*Is a directory"):
        environment.read_file(tmp_path)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidArgumentError, match=r"can't be read: .*utf-8"):
        environment.read_file(tmp_path / "binary")


def test_f56_a_file_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:  # whoever runs the tests may be root, who may read all
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(PermissionDeniedError, match=r"c\.json may not be read"):
        environment.read_file("c.json")


def test_f55_a_pods_number_is_at_the_end_of_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "trainer-worker-12.workers.default.svc")
    assert environment.own_number("hostname") == 12 and environment.own_number("3") == 3
    monkeypatch.setattr(socket, "gethostname", lambda: "laptop")
    with pytest.raises(InvalidArgumentError, match="'laptop', does not end in a number"):
        environment.own_number("hostname")
    with pytest.raises(InvalidArgumentError, match="'-1' is not the number of a task"):
        environment.own_number("-1")


# ---- Slurm


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("node7", ["node7"]),
        ("node[01-03,07]", ["node01", "node02", "node03", "node07"]),
        ("a,b[9-11]c,d-e", ["a", "b9c", "b10c", "b11c", "d-e"]),
        ("r[1-2]n[0,5-6]", ["r1n0", "r1n5", "r1n6", "r2n0", "r2n5", "r2n6"]),
        ("x[099-101].site", ["x099.site", "x100.site", "x101.site"]),
    ],
)
def test_f55_slurms_list_of_hosts(text: str, hosts: list[str]) -> None:
    assert slurm.expand_hosts(text) == hosts


@pytest.mark.parametrize(
    "text",
    ["", "a,", "a[1-2", "a]1[", "a[[1]]", "a[2-1]", "a[x]", "a[]", "a[1-9999999999]", "a b", "a[0-999999]b[0-99]"],
)
def test_f55_other_lists_of_hosts_are_refused(text: str) -> None:
    with pytest.raises(InvalidArgumentError):
        slurm.expand_hosts(text)


@given(st.lists(st.integers(0, 300), min_size=1, max_size=8, unique=True), st.integers(0, 4))
def test_f55_numbers_in_brackets_keep_their_zeros(numbers: list[int], width: int) -> None:
    written = [str(n).zfill(width) for n in numbers]
    assert slurm.expand_hosts(f"n[{','.join(written)}]") == [f"n{text}" for text in written]


def test_f55_a_slurm_step_is_a_cluster() -> None:
    step = {"SLURM_STEP_NODELIST": "n[1-3]", "SLURM_STEP_TASKS_PER_NODE": "2(x2),1", "SLURM_JOB_NODELIST": "n[1-9]"}
    places = [slurm.from_slurm({"ps": 1, "worker": 4}, 9000, {**step, "SLURM_PROCID": str(k)}) for k in range(5)]
    assert places[0].cluster.as_dict() == {"ps": ["n1:9000"], "worker": ["n1:9001", "n2:9000", "n2:9001", "n3:9000"]}
    assert {place.cluster for place in places} == {places[0].cluster}
    assert [place.task for place in places] == ["/job:ps/task:0"] + [f"/job:worker/task:{k}" for k in range(4)]
    assert slurm.from_slurm(None, 9000, {**step, "SLURM_PROCID": "4"}).task == "/job:worker/task:4"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"SLURM_PROCID": ""}, "SLURM_PROCID is not set: this process was not started by Slurm"),
        ({"SLURM_PROCID": "x"}, "not a number"),
        ({"SLURM_PROCID": "5"}, "only 5 processes"),
        ({"SLURM_STEP_TASKS_PER_NODE": "2(x2)"}, "3 hosts, but says for 2"),
        ({"SLURM_STEP_TASKS_PER_NODE": "2(x2),2"}, "jobs ps=1, worker=4 have 5 tasks, but this Slurm step has 6"),
        ({"SLURM_STEP_TASKS_PER_NODE": "2x2"}, "not a list of counts"),
    ],
)
def test_f55_a_slurm_step_that_does_not_fit(change: dict[str, str], said: str) -> None:
    step = {"SLURM_STEP_NODELIST": "n[1-3]", "SLURM_STEP_TASKS_PER_NODE": "2(x2),1", "SLURM_PROCID": "0"}
    with pytest.raises(InvalidArgumentError, match=said):
        slurm.from_slurm({"ps": 1, "worker": 4}, environ={**step, **change})


# ---- the table


def test_f55_the_table_names_each_task_and_how_far_it_was_reached() -> None:
    spec = ClusterSpec({"ps": ["ps0:7070", "ps1:7070"], "worker": ["w0:7070", "w1:7070"]})
    states = {
        "/job:ps/task:0": TaskReachability().told("resolved").told("connected").told("authenticated").told("accepted"),
        "/job:worker/task:0": TaskReachability().told("connected").told("resolved"),
        "/job:worker/task:1": TaskReachability().told("resolved").failed("Connection\n refused"),
    }
    assert missing(spec, states) == ["/job:ps/task:1", "/job:worker/task:0", "/job:worker/task:1"]
    lines = table(spec, states).splitlines()
    assert lines[0] == "1 of 4 tasks are there."
    cells = [line.split() for line in lines[1:]]
    assert cells[0][:6] == ["task", "address", "resolved", "connected", "authenticated", "accepted"]
    assert cells[1][:6] == ["/job:ps/task:1", "ps1:7070", "no", "-", "-", "-"] and "unknown" in cells[1]
    assert cells[2][:6] == ["/job:worker/task:0", "w0:7070", "yes", "yes", "no", "-"] and "keys," in cells[2]
    assert cells[3] == ["/job:worker/task:1", "w1:7070", "yes", "no", "-", "-", "Connection", "refused"]
    assert cells[4] == ["/job:ps/task:0", "ps0:7070", "yes", "yes", "yes", "yes"]


@given(st.integers(0, 60), st.integers(1, 30), st.data())
def test_f55_the_table_is_bounded_and_counts_what_it_leaves_out(count: int, most: int, data: st.DataObject) -> None:
    spec = ClusterSpec({"worker": [f"w:{k}" for k in range(1, count + 1)]})
    known = data.draw(
        st.dictionaries(st.sampled_from(spec.tasks or ["none"]), st.sampled_from(ConnectProgress), max_size=60)
    )
    states = {task: TaskReachability(reached, error="x" * 1000) for task, reached in known.items()}
    absent = missing(spec, states)
    lines = table(spec, states, most=most).splitlines()
    assert lines[0] == f"{count - len(absent)} of {count} tasks are there."
    assert len(lines) == 2 + min(count, most) + (count > most) and max(map(len, lines)) < 400
    if count > most:
        assert lines[-1] == f"... and {count - most} tasks more, {max(0, len(absent) - most)} of them missing"
    shown = [line.split()[0] for line in lines[2 : 2 + min(count, most)]]
    assert shown[: len(absent)] == absent[:most]


def test_a_place_is_a_record() -> None:
    spec = ClusterSpec({"ps": ["a:1"]})
    assert TaskEnvironment(spec, "ps", 0) == TaskEnvironment(ClusterSpec(spec), "ps", 0)
