"""Bugs that somebody could have written, each with what it would mean for a user. The tests have to notice them all."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache

from mutants.mutant import ROOT, Mutant, function_at


@dataclass(frozen=True, slots=True)
class Planted:
    """`becomes` stands in the place of `was`, which is found exactly once in the file."""

    name: str
    harm: str
    file: str
    was: str
    becomes: str

    def mutant(self) -> Mutant:
        """The bug as a change. Raises ValueError where the text is not there, or more than once."""
        source = (ROOT / self.file).read_text(encoding="utf-8")
        if (count := source.count(self.was)) != 1:
            raise ValueError(f"{self.name!r}: {self.was!r} is {count} times in {self.file}; it has to be there once.")
        line = source[: source.index(self.was)].count("\n") + 1
        changed = source.replace(self.was, self.becomes)
        return Mutant(self.name, self.file, function_at(_tree(source), line), line, self.was, self.becomes, changed)


@cache
def _tree(source: str) -> ast.Module:
    return ast.parse(source)


PLANTED = (
    # ---- variables that move, and copies of them
    Planted(
        "move beside a step",
        "A move drops the last write: a step that is under way as the values are taken writes to the former place.",
        "actorflow/training/supervisor/moving/move.py",
        "        async with self._alone(copies):\n"
        "            raised = self._doubt.raised\n"
        "            await self._doubt.over()\n"
        "            await self._take(copies, moves)\n",
        "        raised = self._doubt.raised\n"
        "        await self._doubt.over()\n"
        "        await self._take(copies, moves)\n"
        "        async with self._alone(copies):\n",
    ),
    Planted(
        "move a half of a step",
        "An update is applied twice after a retry: what a move has taken has a part of the step that is made again.",
        "actorflow/training/supervisor/moving/doubt.py",
        "        while (over := self._over) is not None:",
        "        while (over := self._over) is not None and self._judges:",
    ),
    Planted(
        "take an old counter",
        "Random numbers come again when a node has moved away from a task and back.",
        "checkpoint/copies.py",
        "if node in away and not",
        "if node in away and not node and not",
    ),
    Planted(
        "keep copies before the step has written",
        "With the loss of a server the last step is lost, though its copies were kept.",
        "actorflow/training/supervisor/moving/copies.py",
        "self._graph.control_dependencies([*behind_all, *handles]):",
        "self._graph.control_dependencies([*handles]):",
    ),
    Planted(
        "wait for a lost member",
        "A change of the cluster waits without end for a task that was declared lost.",
        "actorflow/cluster/membership/rounds.py",
        "is not None:\n            scope.cancel()",
        "is None:\n            pass",
    ),
    # ---- what travels
    Planted(
        "drop an acknowledgement",
        "A large tensor stops half way: the sender waits for credit that nobody grants.",
        "transports/protocol/connection.py",
        "            return events\n        self._grant()\n        if self._closing is not None:",
        "            return events\n        if self._closing is not None:",
    ),
    Planted(
        "apply twice",
        "A record that arrives twice counts twice: an update is applied two times.",
        "transports/protocol/connection.py",
        "        if ahead >= _HALF:\n            self.dropped_twice += 1\n            return False\n",
        "        if ahead >= _HALF:\n            self.dropped_twice += 1\n            return True\n",
    ),
    Planted(
        "lose a record in silence",
        "A step waits for ever for a token that was lost under way.",
        "transports/protocol/connection.py",
        "        if ahead:\n            name =",
        "        if ahead > 1:\n            name =",
    ),
    Planted(
        "listen to the former incarnation",
        "What a process sent before its death reaches its successor's steps.",
        "transports/protocol/connection.py",
        "if record.incarnation != self.peer.identity.incarnation:",
        "if record.incarnation > self.peer.identity.incarnation:",
    ),
    Planted(
        "swap a tag",
        "Values of different iterations of a loop are exchanged.",
        "transports/protocol/receiver.py",
        "self.inbox.deliver(record.epoch, record.step, (record.edge, record.tag), token)",
        "self.inbox.deliver(record.epoch, record.step, (record.edge, record.tag[::-1]), token)",
    ),
    Planted(
        "take a second token for an edge",
        "Two values under one key: the later one is taken for the next step's, or lost.",
        "transports/protocol/inbox.py",
        "        if key in box.tokens:\n            error = AbortedError",
        "        if key in box.tokens and box.tokens[key] is not _TAKEN:\n            error = AbortedError",
    ),
    Planted(
        "take tokens of a former epoch",
        "After a loss, the values of the step that was taken back go into the one in its place.",
        "transports/protocol/inbox.py",
        "        if epoch < self.epoch or where in self._ended or self._error is not None:\n            return None",
        "        if where in self._ended or self._error is not None:\n            return None",
    ),
    Planted(
        "forget the limit of a message",
        "A peer makes this process hold as much memory as it likes.",
        "transports/protocol/credit.py",
        "        if record.total > self.limits.message:\n            raise FrameTooLarge",
        "        if record.total > self.limits.message << 20:\n            raise FrameTooLarge",
    ),
    Planted(
        "let who has no credit send on",
        "One peer's tensors fill this process's memory.",
        "transports/protocol/credit.py",
        "        if self._tokens_open < 0:",
        "        if self._tokens_open < -(1 << 40):",
    ),
    Planted(
        "give back a byte of credit too few",
        "After millions of tokens a connection has no credit left, and waits for ever.",
        "transports/protocol/connection.py",
        "        self.credit.token(record.cost)\n        self.credit.landed(record.cost)\n\n",
        "        self.credit.token(record.cost)\n        self.credit.landed(record.cost - 1)\n\n",
    ),
    Planted(
        "pay for a chunk without its header",
        "The receiver counts more than the sender, and shuts it out in the end.",
        "transports/protocol/outbox.py",
        "        self.data_credit -= record.cost\n",
        "        self.data_credit -= record.body_size\n",
    ),
    Planted(
        "give back more credit than was used",
        "The window grows with each record, and with it what a peer may put into this process's memory.",
        "transports/protocol/credit.py",
        "        self._tokens_owed += cost\n",
        "        self._tokens_owed += cost + 1\n",
    ),
    Planted(
        "give no credit back for what comes too late",
        "Each step that is aborted amid its tensors takes a part of the window with it.",
        "transports/protocol/connection.py",
        "            return events\n        self.credit.landed(record.cost)",
        "            return events\n"
        "        if not self.inbox.ended(record.epoch, record.step):\n"
        "            self.credit.landed(record.cost)",
    ),
    Planted(
        "keep the hellos of all strangers",
        "Who opens one lane after the other, and never the second of a channel, fills this process's memory.",
        "transports/zmq/endpoint.py",
        "        if len(self._pending) > _PENDING:",
        "        if len(self._pending) > _PENDING << 20:",
    ),
    Planted(
        "take two lanes of different users",
        "A client's tensors come from somebody else, with a key of his own.",
        "transports/zmq/endpoint.py",
        "            if lanes[CONTROL][1] == lanes[BULK][1]:",
        "            if lanes[CONTROL][1] is not None or lanes[BULK][1] is None:",
    ),
    Planted(
        "end a close in good order after a second",
        "What a slow link or a busy machine has not carried by then is lost, though it was closed in good order.",
        "transports/channel.py",
        "waits = is_late or self._left() != left",
        "waits = False",
    ),
    Planted(
        "let a lent array go at once",
        "A consumer reads memory of the shared arena that the next tensor is written into.",
        "transports/protocol/sender.py",
        "        self.leases[lease] = keep\n",
        "        self.leases[lease] = None\n",
    ),
    Planted(
        "let an array in a reply go at once",
        "A client reads memory of the shared arena that the next tensor is written into.",
        "transports/protocol/sender.py",
        "        self.leases[lease] = tensor = value.tensor\n",
        "        self.leases[lease], tensor = None, value.tensor\n",
    ),
    Planted(
        "forget leases where no message leaves",
        "The shared arena fills up with what peers have long given back.",
        "transports/protocol/outbox.py",
        "            self._urgent.append(FrameRecord(RecordKind.RELEASE, incarnation=self._incarnation, meta=meta))\n",
        "            pass\n",
    ),
    Planted(
        "never give a handle back",
        "The shared arena fills up, and every tensor is copied from then on.",
        "transports/protocol/connection.py",
        "self.outbox.put_leases(leases)",
        "pass",
    ),
    Planted(
        "send a dead token as an empty one",
        "The branch that was not taken runs.",
        "transports/protocol/receiver.py",
        "        if record.flags & RecordFlag.DEAD:\n            self.deliver(record, DEAD)",
        "        if record.flags & RecordFlag.DEAD:\n            self.deliver(record, None)",
    ),
    Planted(
        "ignore the allow-list",
        "Whoever has any pair of keys runs graphs here.",
        "transports/zmq/auth.py",
        "            if key in self.allowed:",
        "            if key:",
    ),
    Planted(
        "listen to the world without keys",
        "A server on a public address takes graphs from everybody.",
        "transports/zmq/auth.py",
        "    if keys is None and not is_loopback(host):",
        "    if keys is None and not host:",
    ),
    Planted(
        "mix two clusters",
        "A worker with a wrong address joins another cluster, and trains its variables.",
        "transports/protocol/handshake.py",
        "    if me.cluster != peer.cluster and me.cluster and peer.cluster:",
        "    if me.cluster and not peer.cluster and me.cluster != peer.cluster and peer.cluster:",
    ),
    # ---- steps on several tasks
    Planted(
        "forget one partition in a cancel",
        "A step that failed goes on on one of its tasks, and updates variables there.",
        "actorflow/cluster/master/steps.py",
        "                    for other in members:\n",
        "                    for other in members[1:]:\n",
    ),
    Planted(
        "reuse a step id",
        "Two steps in flight take each other's tensors.",
        "actorflow/cluster/client/engine.py",
        "        step = next(self._numbers)",
        "        step = next(self._numbers) // 2 + 1",
    ),
    Planted(
        "run a step of a former epoch",
        "After a restore, an update of the step that was taken back is applied.",
        "actorflow/cluster/wire/links.py",
        "        if epoch != self.tokens.epoch:",
        "        if epoch > self.tokens.epoch:",
    ),
    Planted(
        "go on after the request was taken back",
        "A run that was cancelled holds its worker until it ends by itself.",
        "actorflow/cluster/wire/rpc.py",
        "            task.cancel()\n\n    def _accept",
        "            pass\n\n    def _accept",
    ),
    # ---- supervision
    Planted(
        "take a busy task for a lost one",
        "A long kernel has its task killed, and training taken back.",
        "actorflow/training/supervisor/liveness.py",
        "state = State.BUSY if now - heard",
        "state = State.LOST if now - heard",
    ),
    Planted(
        "mourn the former incarnation",
        "The end of a connection to a dead process takes its successor down too.",
        "actorflow/training/supervisor/liveness.py",
        "if not life.is_up or incarnation != life.incarnation:",
        "if not life.is_up:",
    ),
    Planted(
        "give an epoch twice",
        "A chief that was restarted begins an epoch of which updates may still be under way.",
        "actorflow/training/supervisor/recovery/manager.py",
        "await self._store.write(self.epoch)",
        "pass",
    ),
    Planted(
        "let the steps of a former epoch run on",
        "An update of a step that was taken back lands on the restored variables.",
        "actorflow/cluster/server.py",
        "            self.worker.abort_all(AbortedError(why))\n",
        "",
    ),
    Planted(
        "let anybody take steps during a restore",
        "An update of another client lands on variables that are restored already, and is lost for the others.",
        "actorflow/training/supervisor/recovery/manager.py",
        "SetEpoch(epoch, only)",
        'SetEpoch(epoch, "")',
    ),
    Planted(
        "swallow the program's own errors",
        "A training loop with a mistake runs for ever.",
        "actorflow/training/supervisor/recovery/attempts.py",
        "        return any(error is failure for failure in self.failures)",
        "        return True",
    ),
    Planted(
        "count no restarts",
        "A task that dies at each start is started for ever.",
        "actorflow/training/supervisor/recovery/restarts.py",
        "        times.append(now)\n",
        "",
    ),
    Planted(
        "let pauses grow though training goes on",
        "After a dozen losses in ten minutes each further one holds training up for half a minute.",
        "actorflow/training/supervisor/supervisor.py",
        "        self._restarts.step_made(() if self._manager is None else self._manager.nursed)\n",
        "",
    ),
    Planted(
        "restore the oldest checkpoint",
        "A loss takes training back by hours.",
        "actorflow/training/supervisor/model_state.py",
        "[state.model_checkpoint_path, *reversed(state.all_model_checkpoint_paths)]",
        "state.all_model_checkpoint_paths",
    ),
    # ---- checkpoints
    Planted(
        "skip the fsync",
        "After a power failure the checkpoint is there, and empty.",
        "checkpoint/stores/store.py",
        "                    files.sync(fd)\n",
        "",
    ),
    Planted(
        "skip the fsync of the folder",
        "After a power failure the checkpoint that was reported as saved is not there.",
        "checkpoint/stores/store.py",
        "                raise\n            files.sync_folder(self.folder)\n",
        "                raise\n",
    ),
    Planted(
        "remove the shards before the manifest",
        "A crash while an old checkpoint is removed leaves one that names files that are gone.",
        "checkpoint/writing.py",
        "    store.remove(name + SUFFIX, flush=True)  # before its shards, whatever order a crash leaves them in\n"
        "    files = [*extras, *(file for file in store.list() if _is_left_of(name, file))]\n",
        "    files = [*extras, *(file for file in store.list() if _is_left_of(name, file))]\n"
        "    remove_quietly(store, files)\n"
        "    store.remove(name + SUFFIX, flush=True)\n",
    ),
    Planted(
        "trust what is read",
        "A flipped bit on the disk becomes a weight.",
        "checkpoint/reading.py",
        "        if crc != entry.crc32:\n",
        "        if not entry.size:\n",
    ),
    Planted(
        "save while a kernel writes",
        "A checkpoint has one half of a variable from before an update, and one from after it.",
        "checkpoint/snapshot.py",
        "    if all(state.writer is None for state in states):",
        "    if states:",
    ),
    Planted(
        "forget the random counters",
        "A resumed run draws other numbers than the one that was not interrupted.",
        "checkpoint/snapshot.py",
        "        nodes.resume(name)\n",
        "        pass\n",
    ),
    Planted(
        "keep one checkpoint too few",
        "The checkpoint that a user wanted kept is removed.",
        "actorflow/models/train/saving/kept_checkpoints.py",
        "len(self._saved) > self.most:",
        "len(self._saved) >= self.most:",
    ),
    Planted(
        "write anywhere",
        "A graph from the network writes files where this process may.",
        "checkpoint/kernels.py",
        "    if roots is None:\n        return prefix",
        "    if roots is None or not prefix.startswith('..'):\n        return prefix",
    ),
)
