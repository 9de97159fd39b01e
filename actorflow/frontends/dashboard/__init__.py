"""The live page of a cluster or a session, its terminal twin, and metrics for Prometheus.

A `Source` gives the status of each task. A `Sampler` asks it once for all who look, and not at all while no page is open.
`Dashboard` is a site over a sampler: one page without a build step, server-sent events, `/metrics`. It only reads: no request
changes anything. A `Guard` says which requests are allowed; a foreign page sends none.

application.py   `Dashboard`: the page, its events, snapshots, the graph, metrics
beside.py        `PageThread`: the page of a local cluster, beside the program that has the cluster
curves.py        `Curves`: what a training has written: the last points of each tag, and its checkpoints
guard.py         `PageGuard`: hosts, origins, methods, tokens; and the headers of answers
outline.py       `outline`: one scope of a graph as boxes and edges: scopes that fold, stacks of equal blocks, constants apart
sampler.py       `Sampler`: asks a cluster or a session, and makes rates of counters
serving.py       `actorflow dashboard`: serves the page of a cluster
steps.py         the steps that tasks remember: a list of them, and the timeline of a step
top.py           `actorflow top`: the same in a terminal
static/          the page: HTML, CSS, JavaScript
"""

from actorflow.public import namespace as _namespace

__getattr__, __dir__, __all__ = _namespace("af.dashboard", __name__)
