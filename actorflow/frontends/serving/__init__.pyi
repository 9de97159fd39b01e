# `make names` writes this file from the marks in the sources.

"""Models behind HTTP and in process: micro-batching, versions with hot reload, two protocols.

A `Model` has a graph with signatures and values in a session. Its `Batcher` puts requests together that wait together. A
`Served` is a model under a name: a folder of numbered versions that is watched, each loaded and warmed up before the older
version is drained. `Application` answers TensorFlow Serving's REST interface and the Open Inference Protocol (KServe v2, with
its binary extension) as a `Site` (`frontends/http`). It is a plain ASGI application, which needs no framework and mounts in any;
`actorflow serve` runs it by the server of sites, which is quicker.

A model comes from a saved model (TensorFlow's or ours), a frozen graph, a checkpoint with its graph, or an ONNX file. With a
target it lives on a cluster.

A request becomes a call of a model by functions without I/O (`protocols/`), and the call's outputs become its answer. Two faces
are over that. As an ASGI application it awaits the outputs in the task of a request. The server of sites has a request put into
its model's queue as its bytes arrive, and the end of the step writes the answer.

Work that repeats is done once. The head of a connection's requests is parsed once. The JSON before tensors is checked once for
all requests that differ in ids and tensors alone, and the JSON of their answers is written once (`protocols/forms.py`).

application.py  `Application` and `app`: the models, refusals, and the answers to all requests
command.py      `actorflow serve`
exchange.py     `Exchange`: a request and its answer by callbacks
guard.py        addresses, tokens, hosts: which requests are refused before they are read
inspect.py      `actorflow inspect`: inputs, outputs, ops, parameters of a model file, memory and time of a run
large.py        `Large`: counts large bodies, and lets threads work for them
listeners.py    `FrontendListener`: another way to the models than HTTP, such as gRPC
measures.py     counters and times of requests, in the form of Prometheus
model.py        `Model`: a model with its values in a session
pipelines/      models, functions of Python and queues as one served graph
plugin.py       `Plugin`: requests of other kinds, such as those for streams of tokens; `Flow`: a graph that has no file
protocols/      TensorFlow Serving's REST interface and the Open Inference Protocol, as functions
versions.py     `Served`: the versions of a model under a name, and their reload
"""

from actorflow.frontends.grpc.server import GrpcServer as GrpcServer
from actorflow.frontends.serving.application import Application as Application
from actorflow.frontends.serving.application import app as app
from actorflow.frontends.serving.model import Batching as Batching
from actorflow.frontends.serving.model import Model as Model
from actorflow.frontends.serving.pipelines.pipeline import Pipeline as Pipeline
from actorflow.frontends.serving.pipelines.policy import StagePolicy as StagePolicy
from actorflow.frontends.serving.versions import VersionPolicy as VersionPolicy

__all__ = [
    "Application",
    "Batching",
    "GrpcServer",
    "Model",
    "Pipeline",
    "StagePolicy",
    "VersionPolicy",
    "app",
]
