"""actorflow's own entry points: `make names` writes this file from `pyproject.toml`."""

from __future__ import annotations

ENTRY_POINTS: dict[str, dict[str, str]] = {
    "actorflow.checkpoint": {
        "standard": "actorflow.checkpoint.standard:STANDARD",
        "tensor_bundle": "actorflow.checkpoint.bundle.bundle:BUNDLE",
    },
    "actorflow.commands": {
        "checkpoint": "actorflow.checkpoint.command:COMMAND",
        "completion": "actorflow.cli.shell.completion:COMMAND",
        "dashboard": "actorflow.dashboard.serving:COMMAND",
        "dump": "actorflow.cli.dump:COMMAND",
        "explain": "actorflow.cli.shell.explain:COMMAND",
        "keys": "actorflow.cli.keys:COMMAND",
        "place": "actorflow.cli.place:COMMAND",
        "run": "actorflow.cli.run:COMMAND",
        "serve": "actorflow.serving.command:COMMAND",
        "status": "actorflow.cli.status:COMMAND",
        "tf": "actorflow.compat.door.command:COMMAND",
        "top": "actorflow.dashboard.top:COMMAND",
        "trace": "actorflow.cli.trace:COMMAND",
        "up": "actorflow.cli.up:COMMAND",
        "worker": "actorflow.cli.worker:COMMAND",
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
    "actorflow.files": {
        "standard": "actorflow.checkpoint.standard:FILES",
    },
    "actorflow.kernels": {
        "checkpoint": "actorflow.checkpoint.kernels",
        "standard": "actorflow.kernels",
    },
    "actorflow.ops": {
        "standard": "actorflow.ops",
    },
    "actorflow.rendezvous": {
        "local": "actorflow.transports.local:LocalTransport",
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
