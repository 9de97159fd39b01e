"""actorflow's own entry points: `make names` writes this file from `pyproject.toml`."""

from __future__ import annotations

ENTRY_POINTS: dict[str, dict[str, str]] = {
    "actorflow.checkpoint": {
        "standard": "actorflow.checkpoint.standard:STANDARD",
        "tensor_bundle": "actorflow.checkpoint.bundle.bundle:BUNDLE",
    },
    "actorflow.commands": {
        "checkpoint": "actorflow.checkpoint.command:COMMAND",
        "completion": "actorflow.frontends.cli.shell.completion:COMMAND",
        "dashboard": "actorflow.frontends.dashboard.serving:COMMAND",
        "dump": "actorflow.frontends.cli.dump:COMMAND",
        "explain": "actorflow.frontends.cli.shell.explain:COMMAND",
        "inspect": "actorflow.frontends.serving.inspect:COMMAND",
        "keys": "actorflow.frontends.cli.keys:COMMAND",
        "leave": "actorflow.frontends.cli.leave:COMMAND",
        "place": "actorflow.frontends.cli.place:COMMAND",
        "run": "actorflow.frontends.cli.run:COMMAND",
        "serve": "actorflow.frontends.serving.command:COMMAND",
        "status": "actorflow.frontends.cli.status:COMMAND",
        "tf": "actorflow.compat.door.command:COMMAND",
        "top": "actorflow.frontends.dashboard.top:COMMAND",
        "trace": "actorflow.frontends.cli.trace:COMMAND",
        "up": "actorflow.frontends.cli.up:COMMAND",
        "worker": "actorflow.frontends.cli.worker:COMMAND",
    },
    "actorflow.compilers": {
        "cuda": "actorflow.kernels.cuda.compiler:CudaCompiler",
        "llvm": "actorflow.kernels.jit:LlvmCompiler",
    },
    "actorflow.devices": {
        "CPU": "actorflow.devices.cpu:CpuDevice",
        "GPU": "actorflow.devices.cuda:CudaDevice",
        "SIM": "actorflow.devices.simulated:SimulatedDevice",
    },
    "actorflow.engines": {
        "remote": "actorflow.cluster.client.engine:RemoteEngine",
    },
    "actorflow.files": {
        "standard": "actorflow.checkpoint.standard:FILES",
    },
    "actorflow.graph_forms": {
        "tensorflow": "actorflow.compat.nodes:FORMS",
    },
    "actorflow.kernels": {
        "checkpoint": "actorflow.checkpoint.kernels",
        "standard": "actorflow.kernels",
    },
    "actorflow.listeners": {
        "grpc": "actorflow.frontends.grpc.command:LISTENER",
    },
    "actorflow.model_files": {
        "checkpoint": "actorflow.exchange.sources.kinds:CHECKPOINT",
        "frozen": "actorflow.exchange.sources.kinds:FROZEN",
        "onnx": "actorflow.exchange.onnx.source:KIND",
        "saved_model": "actorflow.exchange.sources.kinds:SAVED_MODEL",
    },
    "actorflow.ops": {
        "standard": "actorflow.graph.ops",
    },
    "actorflow.pages": {
        "dashboard": "actorflow.frontends.dashboard.beside:PageThread",
    },
    "actorflow.rendezvous": {
        "local": "actorflow.transports.local:LocalTransport",
    },
    "actorflow.serving": {
        "generation": "actorflow.frontends.generation.http.plugin:PLUGIN",
    },
    "actorflow.simulation": {
        "transport": "actorflow.transports.simulated:SIMULATED",
    },
    "actorflow.simulators": {
        "native": "actorflow.kernels.placement.simulator:native_simulator",
    },
    "actorflow.transports": {
        "local": "actorflow.transports.local_endpoint:LOCAL",
        "shm": "actorflow.transports.shm:SHM",
        "zmq": "actorflow.transports.zmq:ZMQ",
    },
}
