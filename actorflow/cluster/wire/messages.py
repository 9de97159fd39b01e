"""The messages between tasks. Each request is a record, whose fields `decoding` checks.

On the wire a request is the list [1, number, method, fields]; see `rpc`. A field of more than 4,096 entries travels as
bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class Request:
    """The root of all requests. `method` is its name on the wire."""

    method: ClassVar[str]

    def encode(self) -> list[Any]:
        """The fields, in order."""
        getter = _GETTERS.get(self.method)
        if getter is None:
            getter = _GETTERS[self.method] = _getter_of(type(self))
        return list(getter(self))


_GETTERS: dict[str, Callable[[Any], Iterable[Any]]] = {}
"""By method, what gives the fields of such a request."""


@dataclass(frozen=True, slots=True)
class Hello(Request):
    """The first request on each link. The reply describes the task: its name, address for tensors, devices.

    `epoch` is the caller's; a task that is behind goes on to it. Clients, who may remember another life of the cluster, say 0."""

    method = "hello"
    version: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Ping(Request):
    """Asks whether the peer's event loop turns. The reply is nil, or an error from a peer who answers nothing."""

    method = "ping"


@dataclass(frozen=True, slots=True)
class Attach(Request):
    """Tells that the caller's second channel, for tensors, carries the tokens of this link from now on."""

    method = "attach"


@dataclass(frozen=True, slots=True)
class OfferMemory(Request):
    """Asks which devices can read memory of the caller's. `offers` are pairs [device, description of some memory of it]. The
    reply lists [device of the caller, device here, why that can't read it or ""]."""

    method = "share"
    offers: list[Any]


# Of a client to its master


@dataclass(frozen=True, slots=True)
class OpenSession(Request):
    """Makes a session. The reply is [number, list of [device, type]]."""

    method = "open_session"
    options: dict[str, bool]
    timeout: float | None


@dataclass(frozen=True, slots=True)
class Extend(Request):
    """Adds nodes behind the first `since` nodes of the session's graph. The reply is how many it has then."""

    method = "extend"
    session: int
    since: int
    nodes: bytes


@dataclass(frozen=True, slots=True)
class Prepare(Request):
    """Makes the plan of a signature, a packed list of feeds [node, port, type, shape], fetches [node, port] and targets.
    The reply is [plan, packed map of the nodes placed since, to devices]."""

    method = "prepare"
    session: int
    signature: bytes
    coalesce: bool


@dataclass(frozen=True, slots=True)
class RunPlan(Request):
    """Runs a step. `values` are its feeds, as far as they are small (see `enclosed`); others come as tokens. The reply is
    [fetches, packed rows of its trace or nil]; fetches go like feeds. Of a partial run it is nil.

    It is refused in another `epoch` than that in which it was asked."""

    method = "run_plan"
    session: int
    plan: int
    step: int
    timeout: float | None
    trace: bool
    epoch: int
    values: list[Any]


@dataclass(frozen=True, slots=True)
class Within(Request):
    """Tells that a step, which is asked for next over this link, is in a span of that context. It comes only where
    the caller makes spans."""

    method = "within"
    step: int
    context: str


@dataclass(frozen=True, slots=True)
class CloseSession(Request):
    """Stops the session's steps and forgets it."""

    method = "close_session"
    session: int


@dataclass(frozen=True, slots=True)
class Explain(Request):
    """Explains the place of a node: the reply is a text."""

    method = "explain"
    session: int
    node: str


@dataclass(frozen=True, slots=True)
class Edges(Request):
    """Asks how much each edge between tasks of a session has carried: the reply is a packed list."""

    method = "edges"
    session: int


@dataclass(frozen=True, slots=True)
class Measured(Request):
    """Asks for the measurements of a session's nodes: the reply is a packed list (`passes.measuring.Observed`)."""

    method = "measured"
    session: int


@dataclass(frozen=True, slots=True)
class Replan(Request):
    """Forgets the plans of a session; later plans are placed by the measurements of runs."""

    method = "replan"
    session: int


@dataclass(frozen=True, slots=True)
class MoveNodes(Request):
    """Gives nodes other devices: the map has the device of each, and what must be with it goes there too. Plans that have none of
    them stay as they are. Values don't move by that."""

    method = "move_nodes"
    session: int
    devices: dict[str, str]


@dataclass(frozen=True, slots=True)
class MovedState(Request):
    """Tells a master the devices of variables that a supervisor has placed: [container, name, device] of each. Sessions of other
    clients find them there from then on, until the next epoch begins. It is refused in another epoch than `epoch`."""

    method = "moved_state"
    epoch: int
    rows: list[Any]


@dataclass(frozen=True, slots=True)
class ListDevices(Request):
    """Asks for the devices of a session, which change as tasks join and leave: the reply is a list of [device, type]."""

    method = "list_devices"
    session: int


@dataclass(frozen=True, slots=True)
class PrepareTrial(Request):
    """`Prepare`, by the placement on trial, if any."""

    method = "prepare_trial"
    session: int
    signature: bytes
    coalesce: bool


@dataclass(frozen=True, slots=True)
class LearnCosts(Request):
    """Brings learned costs of nodes and links, packed: rows as those of `Measured`, and those of links or nil."""

    method = "learn_costs"
    session: int
    costs: bytes


@dataclass(frozen=True, slots=True)
class PosePlacement(Request):
    """Asks for the step that runs most, with the devices and its placement. The reply is an encoded `SearchProblem`, or empty."""

    method = "pose_placement"
    session: int


@dataclass(frozen=True, slots=True)
class SearchPlacement(Request):
    """Looks for a better placement, for some seconds or by a number of trials. A placement that is found goes on trial.
    The reply is a packed list, the fields of a `SearchReport`."""

    method = "search_placement"
    session: int
    seconds: float
    seed: int
    trials: int | None


@dataclass(frozen=True, slots=True)
class SettlePlacement(Request):
    """Ends the trial of a placement: it is in force from now on, or forgotten. `verdict` says why. The reply is whether it is."""

    method = "settle_placement"
    session: int
    adopt: bool
    verdict: str


@dataclass(frozen=True, slots=True)
class ResetAll(Request):
    """Drops these containers on all tasks; all of them where none is named."""

    method = "reset_all"
    containers: list[str]


# Of a master to a worker


@dataclass(frozen=True, slots=True)
class Register(Request):
    """Brings a worker its part of a plan. The reply comes when it has its links to those that it sends to."""

    method = "register"
    session: int
    part: int
    content: bytes


@dataclass(frozen=True, slots=True)
class RunPart(Request):
    """Runs a registered part in a step; feeds, fetches, epoch and reply as in RunPlan."""

    method = "run_part"
    part: int
    step: int
    timeout: float | None
    trace: bool
    epoch: int
    values: list[Any]


@dataclass(frozen=True, slots=True)
class AbortStep(Request):
    """Stops a step because another task failed. The reply is a list of lines on what it waited for, where its time was up."""

    method = "abort_step"
    step: int
    error: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Release(Request):
    """Forgets the parts of a session, and the states of its nodes. Variables stay."""

    method = "release"
    session: int


@dataclass(frozen=True, slots=True)
class Reset(Request):
    """Drops these containers; all where none is named."""

    method = "reset"
    containers: list[str]


@dataclass(frozen=True, slots=True)
class Pending(Request):
    """Which nodes of the steps in flight wait, and for what: the reply is a text."""

    method = "pending"


@dataclass(frozen=True, slots=True)
class Waits(Request):
    """Asks for the waits of a session's steps, on all tasks: the reply is a packed list of [step, seconds for which it has only
    waited or nil, lines]. There are no lines unless they are asked for."""

    method = "waits"
    session: int
    lines: bool


@dataclass(frozen=True, slots=True)
class StepWaits(Request):
    """Asks a worker for the waits of these steps there: the reply is as that of Waits, for those that are under way there."""

    method = "look"
    steps: list[int]
    lines: bool


@dataclass(frozen=True, slots=True)
class LinkTraffic(Request):
    """Asks how much the links of this task have carried: the reply is a packed list of [peer, transport, edge, tokens, bytes]."""

    method = "carried"


@dataclass(frozen=True, slots=True)
class Costs(Request):
    """The measurements that runs of a session's parts have made of their nodes here: the reply is that of Measured."""

    method = "costs"
    session: int


# Of members of a cluster, and of tasks that join it or leave it


@dataclass(frozen=True, slots=True)
class AskView(Request):
    """Asks for the view of the cluster that the task has: the reply is a packed `View`. With `after` above 0 the reply comes
    when the task has a view of that epoch or a later epoch."""

    method = "ask_view"
    after: int


@dataclass(frozen=True, slots=True)
class InstallView(Request):
    """Brings a packed `View`. The reply comes when the task follows it. It is refused where the task has a later view."""

    method = "install_view"
    view: bytes


@dataclass(frozen=True, slots=True)
class Reserve(Request):
    """Asks for a place in the cluster: of that job and with that number, nil for any, at that address. The reply is
    [task, packed view]; the place is kept for a minute."""

    method = "reserve"
    job: str
    index: int | None
    address: str
    release: str


@dataclass(frozen=True, slots=True)
class Join(Request):
    """Makes a task that is up a member. The reply is the packed `View`, when all members have it."""

    method = "join"
    task: str
    address: str


@dataclass(frozen=True, slots=True)
class Leave(Request):
    """Takes a task out of the cluster; the reply is as that of Join. `how` is a member of `LEAVING`."""

    method = "leave"
    task: str
    how: str


LEAVING = ("drained", "saved", "lost")
"""The ways to leave: a task that holds variables is refused; it may hold some, which are in a checkpoint; it does not live."""


@dataclass(frozen=True, slots=True)
class AskState(Request):
    """Asks for what the task holds: the reply is [names, whether a supervisor has begun the task's epoch]. With `leaving` the
    task is about to leave, and its status says so until it is asked again: a supervisor moves variables away then."""

    method = "ask_state"
    leaving: bool


@dataclass(frozen=True, slots=True)
class AskCopies(Request):
    """Asks what copies of variables the task keeps for `owner`: the reply is a packed list of [number of a run, part, names]."""

    method = "ask_copies"
    owner: str


@dataclass(frozen=True, slots=True)
class DropState(Request):
    """Drops variables, which have moved to other tasks, by container and name; and with `copies` what is kept for `owner`."""

    method = "drop_state"
    owner: str
    copies: bool
    variables: list[Any]


# Of the chief's supervisor to all tasks


@dataclass(frozen=True, slots=True)
class SetEpoch(Request):
    """Begins an epoch: stops the steps of former epochs, and replies when they have ended. An epoch that goes back is a
    mistake.

    From then on sessions of the client `only` may run steps, until another such request says "" for all."""

    method = "set_epoch"
    epoch: int
    only: str


@dataclass(frozen=True, slots=True)
class ChiefFailed(Request):
    """Says why the chief of a training gave up before the training began. The status of the task tells it until the next epoch,
    or until an empty reason says that a chief is ready.

    With `spread` the task tells all other tasks of its cluster too."""

    method = "chief_failed"
    reason: str
    spread: bool


@dataclass(frozen=True, slots=True)
class Status(Request):
    """The reply is a map that describes the task."""

    method = "status"


@dataclass(frozen=True, slots=True)
class Record(Request):
    """Traces each step of the task whose number is a multiple of `every` from now on, as few as usual if `every` is 0;
    `events` is how many events are kept. The reply is what was kept since the last such request: a packed [steps that
    were dropped, list of [step, begun, ended, error, events]]."""

    method = "record"
    every: int
    events: int


@dataclass(frozen=True, slots=True)
class Recent(Request):
    """Asks for the steps of the last `seconds`, and those that are under way. The reply is as that of Record."""

    method = "recent"
    seconds: float


def _getter_of(kind: type[Request]) -> Callable[[Any], Iterable[Any]]:
    names = [field.name for field in fields(kind)]
    return attrgetter(*names) if len(names) > 1 else lambda request: [getattr(request, name) for name in names]
