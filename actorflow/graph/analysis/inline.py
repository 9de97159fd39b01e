"""Calls of functions: each becomes a copy of the function's body (`actorflow.graph.control_flow.function`).

The body of a function and those of its gradients are one set of nodes. A node is on the level of the last of these
functions on whose parameters it depends; a loop is on one level as a whole. The call of a gradient that names the call
whose gradient it is takes over that one's copies of the lower levels, so nothing is computed twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Mapping
from dataclasses import replace
from types import MappingProxyType
from zlib import crc32

from actorflow.base.registry import roles
from actorflow.errors import Where
from actorflow.graph.analysis.cooperative import yield_interpreter
from actorflow.graph.analysis.frames import ROOT, frames, is_free
from actorflow.graph.analysis.specialise import body_of, specialised
from actorflow.graph.analysis.subgraph import Subgraph
from actorflow.graph.device_spec import DeviceSpec
from actorflow.graph.node import NO_ATTRS, Node, TensorId


class Called(Where):
    """A line of a function's body, and that of the call."""

    caller: Where | None

    def __new__(cls, where: Where, caller: Where | None) -> Called:
        called = super().__new__(cls, where.file, where.line)
        called.caller = caller
        return called

    def __str__(self) -> str:
        return f"{self.file}:{self.line}, called at {self.caller}"


def inline(
    nodes: Mapping[str, Node], fetches: tuple[TensorId, ...] = (), feeds: Container[TensorId] = ()
) -> tuple[Mapping[str, Node], tuple[TensorId, ...]]:
    """The nodes of a graph with all calls expanded, and what to fetch instead of `fetches`.

    Nodes that use the outputs of a call use those of the copy; a node with the name of the call stays, for nodes that
    wait for it, or feeds one of its outputs.
    """
    if not any(node.role is roles.CALL for node in nodes.values()):
        return nodes, fetches
    work = _CallInliner(nodes, feeds)
    return work.run(), tuple(map(work.resolve, fetches))


class _CallInliner:
    """The work of one `inline`."""

    def __init__(self, nodes: Mapping[str, Node], feeds: Container[TensorId]) -> None:
        self.source = nodes
        self.feeds = feeds
        self.made = dict(nodes)
        self.ends = {n.attrs["function"]: n for n in nodes.values() if n.role is roles.RETURN}
        self.levels: dict[str, dict[str, int]] = {}
        self.chains: dict[str, list[str]] = {}
        """For each call the calls that own its levels; the last is it itself."""
        self.names: dict[tuple[str, str], str] = {}
        self.redirected: dict[TensorId, TensorId] = {}
        self.taken: set[str] = set()
        self.original: dict[str, Node] = {}

    def run(self) -> Mapping[str, Node]:
        inside: set[str] = set()
        for end in self.ends.values():
            inside.update(body_of(self.source, end).nodes)
        waiting = deque(n for n in self.source.values() if n.role is roles.CALL and n.name not in inside)
        while waiting:
            yield_interpreter()
            waiting.extend(self.expand(waiting.popleft()))
        for name, node in self.made.items():
            if any(e in self.redirected for e in node.inputs):
                self.made[name] = replace(node, inputs=tuple(map(self.resolve, node.inputs)))
        return self.made

    def resolve(self, tensor_id: TensorId) -> TensorId:
        while tensor_id in self.redirected:
            tensor_id = self.redirected[tensor_id]
        return tensor_id

    def expand(self, call: Node) -> list[Node]:
        """Replaces `call`, and gives the calls in the copy of its body."""
        end = self.ends[call.attrs["function"]]
        level = self.depth(end)
        base = call.attrs["of"]
        shares = base in self.made  # unless nothing needs the forward call in the body that this call is in
        self.chains[call.name] = chain = [*self.chains[base], call.name] if shares else [call.name] * (level + 1)
        self.original[call.name] = call
        levels = self.levels_of(end)
        shapes = [self.made[e.node].shapes[e.port] for e in call.inputs]
        try:
            body = specialised(self.source, self.with_bases(end), shapes)
        except ValueError:  # the run says what does not fit
            body = dict(body_of(self.source, self.with_bases(end)).nodes)
        calls = []
        for node in body.values():
            owner = chain[levels[node.name]]
            if node.role is roles.ARGUMENT or is_free(node) or self.copied(owner, node.name) in self.made:
                continue
            copy = self.copy(node, owner, chain, levels)
            self.made[copy.name] = copy
            if copy.role is roles.CALL:
                calls.append(copy)
        outputs = tuple(self.mapped(e, chain, levels) for e in end.inputs)
        controls = tuple(self.copied(chain[levels[c]], c) for c in end.controls)
        self.made[call.name] = replace(
            call,
            op="IdentityN" if outputs else "NoOp",
            inputs=outputs,
            controls=(*controls, *call.controls),
            attrs=NO_ATTRS,
        )
        if not controls:
            for port, output in enumerate(outputs):
                if (mine := TensorId(call.name, port)) not in self.feeds:
                    self.redirected[mine] = output
        return calls

    def copy(self, node: Node, owner: str, chain: list[str], levels: Mapping[str, int]) -> Node:
        call = self.original[owner]
        attrs = dict(node.attrs)
        if attrs.get("seed2"):  # each call draws numbers of its own
            attrs["seed2"] = (attrs["seed2"] + crc32(owner.encode())) & 0x7FFFFFFF
        if node.role is roles.ENTER:
            attrs["frame_name"] = f"{owner}/{attrs['frame_name']}"
        if node.role is roles.CALL and attrs["of"]:
            forward = attrs["of"]
            attrs["of"] = self.copied(chain[levels[forward]], forward) if forward in levels else ""
        inputs = tuple(self.mapped(e, chain, levels) for e in node.inputs)
        controls = tuple(self.copied(chain[levels[c]], c) for c in node.controls)
        if not controls and all(is_free(self.source[e.node]) or self.is_reference(e) for e in node.inputs):
            controls = self.gate(call)
        device = str(DeviceSpec.parse(call.device).merge(DeviceSpec.parse(node.device))) if call.device else node.device
        return replace(
            node,
            name=self.copied(owner, node.name),
            inputs=inputs,
            controls=controls,
            attrs=MappingProxyType(attrs) if attrs else NO_ATTRS,
            device=device,
            where=node.where if node.where is None else Called(node.where, call.where),
            origin=None if node.origin is None or node.origin not in levels else self.copied(owner, node.origin),
            colocate=tuple(self.copied(chain[levels[c]], c) if c in levels else c for c in node.colocate),
        )

    def is_reference(self, tensor_id: TensorId) -> bool:
        return self.source[tensor_id.node].role is roles.ARGUMENT and self.source[tensor_id.node].dtypes[0].is_ref

    def gate(self, call: Node) -> tuple[str, ...]:
        """The nodes for which a node of the body waits that needs no value: it runs just when the call would."""
        inputs = []
        for tensor_id in call.inputs:
            source = self.made[tensor_id.node]
            if not is_free(source) and not source.dtypes[tensor_id.port].is_ref:
                inputs.append(tensor_id)
        if not inputs:
            return call.controls
        name = self.copied(call.name, "inputs_ready")
        if name not in self.made:
            types = [self.made[e.node] for e in inputs]
            self.made[name] = Node(
                name,
                "IdentityN",
                tuple(inputs),
                call.controls,
                dtypes=tuple(node.dtypes[e.port] for node, e in zip(types, inputs)),
                shapes=tuple(node.shapes[e.port] for node, e in zip(types, inputs)),
                device=call.device,
                where=call.where,
            )
        return (name,)

    def mapped(self, tensor_id: TensorId, chain: list[str], levels: Mapping[str, int]) -> TensorId:
        node = self.source[tensor_id.node]
        if is_free(node):
            return tensor_id
        owner = chain[levels[node.name]]
        if node.role is not roles.ARGUMENT:
            return TensorId(self.copied(owner, node.name), tensor_id.port)
        call = self.original[owner]
        argument = call.inputs[node.attrs["index"]]
        return self.after_controls(call, argument) if call.controls and not node.dtypes[0].is_ref else argument

    def after_controls(self, call: Node, argument: TensorId) -> TensorId:
        """An input of a call that waits for something."""
        name = self.copied(call.name, f"{argument.node}_{argument.port}")
        source = self.made[argument.node]
        if name not in self.made:
            self.made[name] = Node(
                name,
                "Identity",
                (argument,),
                call.controls,
                dtypes=(source.dtypes[argument.port],),
                shapes=(source.shapes[argument.port],),
                device=call.device,
                where=call.where,
            )
        return TensorId(name, 0)

    def copied(self, owner: str, name: str) -> str:
        """The name of the copy of a node that belongs to a call."""
        copy = self.names.get((owner, name))
        if copy is None:
            function = self.original[owner].attrs["function"]
            copy = f"{owner}/{name.removeprefix(f'{function}/')}"
            while copy in self.source or copy in self.taken:
                copy += "_"
            self.names[owner, name] = copy
            self.taken.add(copy)
        return copy

    def with_bases(self, end: Node) -> Node:
        """The end of a gradient's body, extended to the functions whose gradient it is: calls in it may share with calls
        there."""
        while base := end.attrs["gradient_of"]:
            lower = self.ends[base]
            attrs = MappingProxyType({**end.attrs, "gradient_of": lower.attrs["gradient_of"]})
            end = replace(end, inputs=lower.inputs + end.inputs, controls=lower.controls + end.controls, attrs=attrs)
        return end

    def depth(self, end: Node) -> int:
        base = end.attrs["gradient_of"]
        return 1 + self.depth(self.ends[base]) if base else 0

    def levels_of(self, end: Node) -> Mapping[str, int]:
        """The level of each node in the bodies of a function and its gradients."""
        while end.attrs["gradient_of"]:
            end = self.ends[end.attrs["gradient_of"]]
        base = end.attrs["function"]
        if base not in self.levels:
            family = [e for e in self.ends.values() if self.root(e) == base]
            body = body_of(
                self.source,
                replace(
                    end,
                    inputs=tuple(i for e in family for i in e.inputs),
                    controls=tuple(c for e in family for c in e.controls),
                ),
            )
            depths = {e.attrs["function"]: self.depth(e) for e in family}
            self.levels[base] = _levels(body, depths)
        return self.levels[base]

    def root(self, end: Node) -> str:
        base: str = end.attrs["gradient_of"]
        return self.root(self.ends[base]) if base else str(end.attrs["function"])


def _levels(body: Subgraph, depths: Mapping[str, int]) -> dict[str, int]:
    loop_frames = frames(body)
    users: dict[str, list[str]] = {}
    loops: dict[str, list[str]] = {}
    for node in body.nodes.values():
        for name in {e.node for e in node.inputs} | set(node.controls):
            users.setdefault(name, []).append(node.name)
        frame = node.attrs["frame_name"] if node.role is roles.ENTER else loop_frames.of[node.name]
        while frame != ROOT:
            loops.setdefault(frame, []).append(node.name)
            frame = loop_frames.parent[frame]
    levels = dict.fromkeys(body.nodes, 0)
    for level in range(1, max(depths.values(), default=0) + 1):
        stack = [
            n.name for n in body.nodes.values() if n.role is roles.ARGUMENT and depths[n.attrs["function"]] == level
        ]
        while stack:
            name = stack.pop()
            if levels[name] == level:
                continue
            levels[name] = level
            stack.extend(users.get(name, ()))
            node = body.nodes[name]
            frame = node.attrs["frame_name"] if node.role is roles.ENTER else loop_frames.of[name]
            stack.extend(loops.get(frame, ()))
    return levels
