"""The files of `deploy/`: they have the form that their readers ask for, agree among themselves, and start a cluster."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import pytest
import yaml
from channels import start_zmq_collector
from clusters import free_ports
from patience import PATIENCE

import actorflow as af
from actorflow import errors
from actorflow.cluster.client.inquiries import query_status
from actorflow.cluster.client.membership import query_view
from actorflow.cluster.config import credentials, environment
from actorflow.cluster.config.credentials import Credentials, Target, write_keys
from actorflow.cluster.config.spec import ClusterSpec, parse_task
from actorflow.cluster.launch import ray as launch
from actorflow.cluster.processes import process
from actorflow.frontends.cli import status, worker

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
pytestmark = pytest.mark.timeout(120)
TEXT: dict[str, Any] = {"type": "string", "minLength": 1}
NAME: dict[str, Any] = {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "maxLength": 63}
COUNT: dict[str, Any] = {"type": "integer", "minimum": 1}


def record(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    """A schema of an object with these fields and no others."""
    both = {**required, **(optional or {})}
    return {"type": "object", "properties": both, "required": list(required), "additionalProperties": False}


def listed(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": schema, "minItems": 1}


LABELS = {"type": "object", "additionalProperties": TEXT, "minProperties": 1}
META = record({"name": NAME})
PROBE = record(
    {
        "exec": record({"command": listed(TEXT)}),
        "periodSeconds": COUNT,
        "timeoutSeconds": COUNT,
        "failureThreshold": COUNT,
    }
)
AMOUNTS = record({"memory": {"type": "string", "pattern": "^[0-9]+[KMG]i$"}}, {"cpu": TEXT})
FIELD = record({"fieldRef": record({"fieldPath": TEXT})})
CONTAINER = record(
    {
        "name": NAME,
        "image": TEXT,
        "args": listed(TEXT),
        "env": listed({"anyOf": [record({"name": TEXT, "value": TEXT}), record({"name": TEXT, "valueFrom": FIELD})]}),
        "ports": listed(record({"containerPort": COUNT}, {"name": NAME})),
        "startupProbe": PROBE,
        "readinessProbe": PROBE,
        "livenessProbe": PROBE,
        "resources": record({"requests": AMOUNTS, "limits": AMOUNTS}),
        "securityContext": record(
            {
                "allowPrivilegeEscalation": {"const": False},
                "readOnlyRootFilesystem": {"const": True},
                "capabilities": record({"drop": {"const": ["ALL"]}}),
            }
        ),
        "volumeMounts": listed(record({"name": NAME, "mountPath": TEXT, "readOnly": {"const": True}})),
    },
    {"imagePullPolicy": {"enum": ["Always", "IfNotPresent", "Never"]}},
)
POD = record(
    {
        "terminationGracePeriodSeconds": COUNT,
        "automountServiceAccountToken": {"const": False},
        "securityContext": record(
            {
                "runAsNonRoot": {"const": True},
                "runAsUser": COUNT,
                "runAsGroup": COUNT,
                "fsGroup": COUNT,
                "seccompProfile": record({"type": {"const": "RuntimeDefault"}}),
            }
        ),
        "containers": listed(CONTAINER),
        "volumes": listed(
            record(
                {"name": NAME},
                {
                    "configMap": record({"name": NAME}),
                    "secret": record({"secretName": NAME, "defaultMode": {"type": "integer"}}),
                },
            )
        ),
    }
)
KUBERNETES = {
    "ConfigMap": record(
        {
            "apiVersion": {"const": "v1"},
            "kind": TEXT,
            "metadata": META,
            "data": {"type": "object", "additionalProperties": TEXT},
        }
    ),
    "Service": record(
        {
            "apiVersion": {"const": "v1"},
            "kind": TEXT,
            "metadata": META,
            "spec": record(
                {
                    "clusterIP": {"const": "None"},  # the text, which makes it headless
                    "publishNotReadyAddresses": {"const": True},
                    "selector": LABELS,
                    "ports": listed(record({"name": NAME, "port": COUNT})),
                }
            ),
        }
    ),
    "PodDisruptionBudget": record(
        {
            "apiVersion": {"const": "policy/v1"},
            "kind": TEXT,
            "metadata": META,
            "spec": record(
                {"maxUnavailable": {"type": "integer", "minimum": 0}, "selector": record({"matchLabels": LABELS})}
            ),
        }
    ),
    "HorizontalPodAutoscaler": record(
        {
            "apiVersion": {"const": "autoscaling/v2"},
            "kind": TEXT,
            "metadata": META,
            "spec": record(
                {
                    "scaleTargetRef": record(
                        {"apiVersion": {"const": "apps/v1"}, "kind": {"const": "StatefulSet"}, "name": NAME}
                    ),
                    "minReplicas": COUNT,
                    "maxReplicas": COUNT,
                    "metrics": listed(
                        record(
                            {
                                "type": {"const": "Resource"},
                                "resource": record(
                                    {
                                        "name": {"const": "cpu"},
                                        "target": record(
                                            {"type": {"const": "Utilization"}, "averageUtilization": COUNT}
                                        ),
                                    }
                                ),
                            }
                        )
                    ),
                    "behavior": record({"scaleDown": record({"stabilizationWindowSeconds": COUNT})}),
                }
            ),
        }
    ),
    "StatefulSet": record(
        {
            "apiVersion": {"const": "apps/v1"},
            "kind": TEXT,
            "metadata": META,
            "spec": record(
                {
                    "serviceName": NAME,
                    "replicas": COUNT,
                    "podManagementPolicy": {"const": "Parallel"},
                    "selector": record({"matchLabels": LABELS}),
                    "template": record({"metadata": record({"labels": LABELS}), "spec": POD}),
                }
            ),
        }
    ),
}
SERVICE = record(
    {
        "image": TEXT,
        "build": record({"context": TEXT, "dockerfile": TEXT}),
        "user": TEXT,
        "environment": {"type": "object", "additionalProperties": TEXT},
        "secrets": listed(TEXT),
        "read_only": {"const": True},
        "cap_drop": {"const": ["ALL"]},
        "security_opt": listed(TEXT),
        "restart": {"enum": ["no", "always", "on-failure", "unless-stopped"]},
        "stop_grace_period": {"type": "string", "pattern": "^[0-9]+s$"},
        "healthcheck": record(
            {"test": listed(TEXT), "start_period": TEXT, "interval": TEXT, "timeout": TEXT, "retries": COUNT}
        ),
        "command": listed(TEXT),
    },
    {"ports": listed(TEXT)},
)
COMPOSE = record(
    {
        "x-task": {"type": "object"},
        "services": {
            "type": "object",
            "patternProperties": {"^[a-z]+-[0-9]+$": SERVICE},
            "additionalProperties": False,
        },
        "secrets": {"type": "object", "additionalProperties": record({"file": TEXT})},
    }
)


@pytest.fixture(scope="module")
def kubernetes() -> dict[tuple[str, str], dict[str, Any]]:
    files = [DEPLOY / "kubernetes.yaml", DEPLOY / "kubernetes-autoscaling.yaml"]
    documents = [document for file in files for document in yaml.safe_load_all(file.read_text())]
    found = {(document["kind"], document["metadata"]["name"]): document for document in documents}
    assert len(found) == len(documents)
    return found


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return found


@pytest.fixture(autouse=True, scope="module")
def collector() -> None:
    start_zmq_collector()


def sets_of(kubernetes: dict[tuple[str, str], dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {name: document["spec"] for (kind, name), document in kubernetes.items() if kind == "StatefulSet"}


def cluster_of(kubernetes: dict[tuple[str, str], dict[str, Any]]) -> ClusterSpec:
    return environment.parse(
        kubernetes["ConfigMap", "actorflow-cluster"]["data"]["cluster.json"], "the ConfigMap"
    ).cluster


def parsed(command: Any, words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(exit_on_error=False)
    command.COMMAND.arguments(parser)
    return parser.parse_args(words)


# ---- Kubernetes


def test_f55_each_manifest_has_its_form(kubernetes: dict[tuple[str, str], dict[str, Any]]) -> None:
    for (kind, _), document in kubernetes.items():
        jsonschema.validate(document, KUBERNETES[kind])


def test_f55_a_field_with_a_typing_error_would_be_found(kubernetes: dict[tuple[str, str], dict[str, Any]]) -> None:
    broken = json.loads(json.dumps(kubernetes["StatefulSet", "worker"]))
    broken["spec"]["template"]["spec"]["containers"][0]["livenesProbe"] = {}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, KUBERNETES["StatefulSet"])


def test_f55_pods_are_the_tasks_of_the_cluster(kubernetes: dict[tuple[str, str], dict[str, Any]]) -> None:
    cluster = cluster_of(kubernetes)
    sets = sets_of(kubernetes)
    assert sorted(sets) == ["ps", "worker"] and cluster.jobs == ["ps"], "workers join"
    for job, spec in sets.items():
        service = kubernetes["Service", spec["serviceName"]]["spec"]
        labels = spec["template"]["metadata"]["labels"]
        assert spec["selector"]["matchLabels"] == labels == service["selector"] and labels["job"] == job
        (container,) = spec["template"]["spec"]["containers"]
        (port,) = container["ports"]
        addresses = [f"{job}-{k}.{spec['serviceName']}:{port['containerPort']}" for k in range(spec["replicas"])]
        if job == "worker":
            advertised = parsed(worker, container["args"][1:]).advertise
            assert [advertised.replace("$(POD_NAME)", f"{job}-{k}") for k in range(spec["replicas"])] == addresses
        else:
            assert cluster.job_tasks(job) == addresses
        budget = kubernetes["PodDisruptionBudget", job]["spec"]
        assert budget["selector"] == spec["selector"] and budget["maxUnavailable"] == (job == "worker")
        assert [p["port"] for p in service["ports"]] == [port["containerPort"]]


def test_f55_the_containers_commands_are_good_ones(
    kubernetes: dict[tuple[str, str], dict[str, Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = tmp_path / "cluster.json"
    config.write_text(kubernetes["ConfigMap", "actorflow-cluster"]["data"]["cluster.json"])
    write_keys(tmp_path / "keys", Credentials.make())
    for job, spec in sets_of(kubernetes).items():
        pod = spec["template"]["spec"]
        (container,) = pod["containers"]
        variables = {item["name"]: item["value"] for item in container["env"] if "value" in item}
        mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
        joins = parsed(worker, container["args"][1:]).join
        assert set(variables) == {"ACTORFLOW_KEYS"} | (set() if joins else {"ACTORFLOW_CONFIG"})
        assert sorted(map(os.path.dirname, variables.values())) == sorted(mounts)
        assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
        environ = {"ACTORFLOW_CONFIG": str(config), "ACTORFLOW_KEYS": str(tmp_path / "keys")}
        for number in range(spec["replicas"]):
            monkeypatch.setattr(socket, "gethostname", lambda: f"{job}-{number}")  # noqa: B023
            assert container["args"][0] == "worker"
            if joins:
                assert joins == f"tcp://{cluster_of(kubernetes).job_tasks('ps')[0]}"
                continue
            orders = worker.read_config(parsed(worker, container["args"][1:]), environ)
            assert orders.task == f"/job:{job}/task:{number}" and orders.credentials is not None


def test_f55_probes_ask_for_different_things(kubernetes: dict[tuple[str, str], dict[str, Any]]) -> None:
    for spec in sets_of(kubernetes).values():
        pod = spec["template"]["spec"]
        (container,) = pod["containers"]
        probes = {name: container[f"{name}Probe"] for name in ("startup", "readiness", "liveness")}
        for name, probe in probes.items():
            command = probe["exec"]["command"]
            assert command[:2] == ["actorflow", "status"]
            found = parsed(status, command[2:])
            assert found.live == (name != "readiness") and found.ready == (name == "readiness")
            assert found.target == f"localhost:{container['ports'][0]['containerPort']}"
            assert found.timeout + 1 < probe["timeoutSeconds"]  # Python takes its time to start
        patience = probes["liveness"]["periodSeconds"] * probes["liveness"]["failureThreshold"]
        assert patience >= 60  # a task that computes is not killed
        leaves = process.LEAVE_SECONDS if "--join" in str(container) else 0.0
        assert pod["terminationGracePeriodSeconds"] > leaves + process.DRAIN_SECONDS + 2


def test_f55_the_mode_of_the_mounted_keys_is_accepted(
    kubernetes: dict[tuple[str, str], dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for spec in sets_of(kubernetes).values():
        pod = spec["template"]["spec"]
        (mode,) = (volume["secret"]["defaultMode"] for volume in pod["volumes"] if "secret" in volume)
        context = pod["securityContext"]
        monkeypatch.setattr(os, "geteuid", lambda: context["runAsUser"])  # noqa: B023
        facts = os.stat_result((stat.S_IFREG | mode, 1, 1, 1, 0, context["fsGroup"], 200, 0, 0, 0))
        credentials._check("keys.toml", facts, secret=True)
        assert mode & 0o040  # else who is not root could not read it


def test_f55_the_tasks_of_the_manifest_come_up_and_drain(
    kubernetes: dict[tuple[str, str], dict[str, Any]], tmp_path: Path
) -> None:
    """The pods' commands as processes of this host: each number and address stands for a pod's name."""
    addresses = [f"127.0.0.1:{port}" for port in free_ports(3)]
    (tmp_path / "cluster.json").write_text(json.dumps({"ps": addresses[:1]}))
    write_keys(tmp_path / "keys.toml", Credentials.make())
    keys = credentials.read_keys(tmp_path / "keys.toml")
    environ = os.environ | {
        "ACTORFLOW_CONFIG": str(tmp_path / "cluster.json"),
        "ACTORFLOW_KEYS": str(tmp_path / "keys.toml"),
    }
    graph = af.Graph()
    with graph.as_default():
        with af.device("/job:ps/task:0"):
            three = af.constant(3.0) + 0.0
        with af.device("/job:worker/task:1"):
            seven = three + 4.0
    tasks = ["/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"]
    targets = [Target(f"tcp://{address}", keys) for address in addresses]
    running: list[subprocess.Popen[bytes]] = []

    def start(job: str, number: int, address: str) -> None:
        names = {
            "hostname": str(number),
            "tcp://ps-0.ps:7070": f"tcp://{addresses[0]}",
            "$(POD_NAME).worker:7070": address,
        }
        words = sets_of(kubernetes)[job]["template"]["spec"]["containers"][0]["args"]
        command = [sys.executable, "-m", "actorflow", *(names.get(word, word) for word in words)]
        logs = ["--log-dir", str(tmp_path / "logs")]
        running.append(subprocess.Popen([*command, *logs], env=environ, stderr=subprocess.PIPE))

    async def use() -> None:
        for task, address, target in zip(tasks, addresses, targets):
            start(*parse_task(task), address)  # Kubernetes starts a worker again that finds no server yet
            while (report := await query_status(target, timeout=PATIENCE))["state"] == "joining":  # noqa: ASYNC110
                await anyio.sleep(0.05)  # as its readiness probe does
            assert (report["task"], report["state"]) == (task, "live")
        for target in targets:
            async with af.Session(target, graph) as session:
                assert await session.run(seven) == 7.0

    async def members() -> list[str]:
        return list((await query_view(targets[0])).members)

    try:
        anyio.run(use)
        assert anyio.run(members) == tasks
        for place, signaled in ((2, signal.SIGTERM), (1, signal.SIGTERM), (0, signal.SIGINT)):
            job, number = parse_task(tasks[place])
            log = tmp_path / "logs" / f"{job}-{number}.log"
            running[place].send_signal(signaled)
            written = running[place].communicate()[1].decode()
            assert running[place].returncode == 0 and written == f"actorflow: further output goes to {log}\n"
            if place:
                assert anyio.run(members) == tasks[:2], "a worker leaves by the signal, but the last is waited for"
        assert (
            "Job 'worker' has 1 tasks in view 4 of the cluster, and needs 1."
            in (tmp_path / "logs" / "worker-0.log").read_text()
        )
    finally:
        for task in running:
            if task.returncode is None:  # the test fails; this is shown then
                task.kill()
                print(task.communicate()[1].decode())
        for log in (tmp_path / "logs").glob("*"):
            print(log.read_text())


# ---- compose, the image, Slurm


def test_f55_the_compose_file_has_its_form_and_names_its_tasks(compose: dict[str, Any], tmp_path: Path) -> None:
    jsonschema.validate(compose, COMPOSE)
    write_keys(tmp_path / "keys", Credentials.make())
    tasks = []
    for name, service in compose["services"].items():
        environ = service["environment"]
        assert (
            environ["ACTORFLOW_KEYS"] == f"/run/secrets/{service['secrets'][0]}"
            and service["secrets"][0] in compose["secrets"]
        )
        assert service["command"][0] == "worker"
        orders = worker.read_config(
            parsed(worker, service["command"][1:]), {**environ, "ACTORFLOW_KEYS": str(tmp_path / "keys")}
        )
        assert orders.cluster.task_address(orders.job, orders.index) == f"{name}:7070"
        tasks.append(orders.task)
        test = service["healthcheck"]["test"]
        assert test[:3] == ["CMD", "actorflow", "status"] and parsed(status, test[3:]).target == "localhost:7070"
        assert int(service["stop_grace_period"][:-1]) > process.DRAIN_SECONDS + 2
    assert sorted(tasks) == orders.cluster.tasks


def instructions(text: str) -> list[tuple[str, str]]:
    lines = [line for line in text.replace("\\\n", " ").splitlines() if line.strip() and not line.startswith("#")]
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines)]


def test_f55_the_image_runs_the_command_and_not_as_root(compose: dict[str, Any]) -> None:
    found = instructions((DEPLOY / "Containerfile").read_text())
    known = "FROM WORKDIR COPY RUN USER ENV EXPOSE STOPSIGNAL ENTRYPOINT CMD"
    assert {word for word, _ in found} <= set(known.split())
    last = dict(found)
    assert json.loads(last["ENTRYPOINT"]) == ["actorflow"] and json.loads(last["CMD"]) == ["worker"]
    assert last["USER"].isdigit() and int(last["USER"]) > 0 and last["STOPSIGNAL"] == "SIGTERM"
    copied = {
        part for word, rest in found if word == "COPY" and not rest.startswith("--") for part in rest.split()[:-1]
    }
    assert all((DEPLOY.parent / part).exists() for part in copied)
    import tomllib

    project = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())
    assert set(project["tool"]["setuptools"]["package-dir"].values()) <= copied
    assert {project["project"]["readme"], *project["project"]["license-files"], "setup.py"} <= copied
    for service in compose["services"].values():
        assert (
            DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]
        ).resolve() == DEPLOY / "Containerfile"


def test_f55_the_slurm_script_starts_workers(tmp_path: Path) -> None:
    text = (DEPLOY / "slurm.sh").read_text()
    subprocess.run(["sh", "-n", str(DEPLOY / "slurm.sh")], check=True)
    (line,) = (line for line in text.splitlines() if line.startswith("srun"))
    words = shlex.split(line.removesuffix("&"))
    tasks = int(re.findall(r"#SBATCH --ntasks=(\d+)", text)[0])
    write_keys(tmp_path / "keys", Credentials.make())
    step = {"SLURM_STEP_NODELIST": "n[1-2]", "SLURM_STEP_TASKS_PER_NODE": f"{tasks // 2}(x2)", "SLURM_PROCID": "0"}
    arguments = parsed(worker, words[words.index("worker") + 1 :])
    orders = worker.read_config(arguments, {**step, "ACTORFLOW_KEYS": str(tmp_path / "keys")})
    assert len(orders.cluster) == tasks and orders.address.endswith(":7070")


# ---- Ray


async def test_f55_a_task_actor_serves_and_ends() -> None:
    actor = launch.TaskActor()
    try:
        cluster = ClusterSpec({"worker": [await actor.place()]})
        keys = Credentials.make()
        orders = launch.TaskConfig(cluster, "worker", 0, credentials=keys, listen=cluster.address_of("worker:0"))
        incarnation = await actor.serve(launch.to_message(orders))
        found = await query_status(Target(cluster.address_of("worker:0"), keys))
        assert found["incarnation"] == f"{incarnation:x}" and found["task"] == "/job:worker/task:0"
    finally:
        await actor.stop()


async def test_f55_without_ray_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(errors.UnimplementedError, match=r"pip install 'actorflow\[ray\]'"):
        async with launch.start_on_ray({"worker": 1}):
            pass


@pytest.mark.extras("ray")
@pytest.mark.timeout(300)
@pytest.mark.allow_leaks("threads", "children", "fds", "shm")
@pytest.mark.filterwarnings("ignore")
async def test_f55_tasks_run_on_ray() -> None:
    ray = pytest.importorskip("ray", reason="Ray is not installed (extra `ray`)")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        graph = af.Graph()
        with graph.as_default():
            with af.device("/job:ps/task:0"):
                three = af.constant(3.0) + 0.0
            with af.device("/job:worker/task:0"):
                seven = three + 4.0
        async with launch.start_on_ray({"ps": 1, "worker": 1}, {"num_cpus": 0.5}) as cluster:
            for task in cluster.spec.tasks:
                async with af.Session(cluster.target_of(task), graph) as session:
                    assert await session.run(seven) == 7.0
        with pytest.raises(errors.UnavailableError, match="resources"):
            async with launch.start_on_ray({"worker": 1}, {"num_cpus": 1000}, start_seconds=2.0):
                raise AssertionError("it came up")
    finally:
        ray.shutdown()
