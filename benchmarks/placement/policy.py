"""Learned proposals for the search of a placement: does a policy find better ones than uniform moves, at equal trials?

`python -m benchmarks.placement.policy` trains a small policy by policy gradients against the simulator, on steps of three
families, and tries it on others that it has not seen, pair by pair. The policy is a graph of ours: it scores sixteen uniform
moves, of which one is drawn. Its input has structure: for the groups that a move takes, and for their neighbours and
neighbours' neighbours, work, bytes that would cross devices and that do so now, the load of the devices at both ends, and
which part is on the critical path.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import numpy as np

import actorflow as af
from actorflow.engine.placement.search.moves import CriticalPathMoves
from actorflow.engine.placement.search.problem import SearchProblem
from actorflow.engine.placement.search.search import search
from actorflow.engine.placement.simulation.timeline import StepTimeline
from actorflow.engine.session.planning.trial import sign_test
from benchmarks.placement.graphs import LINKS, layered, nasnet, problem

_CANDIDATES = 16
_HIDDEN = 32
_COLUMNS = 5
_FEATURES = 3 * _COLUMNS + 5


class Policy:
    """The weights of a small network, which scores moves."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.weights = [
            rng.normal(0, 0.2, (_FEATURES, _HIDDEN)).astype(np.float32),
            np.zeros(_HIDDEN, np.float32),
            np.zeros((_HIDDEN, 1), np.float32),
        ]

    def probabilities(self, features: Any) -> Any:
        """Of each move."""
        first, bias, last = self.weights
        scores = (np.tanh(features @ first + bias) @ last)[:, 0]
        found = np.exp(scores - scores.max())
        return found / found.sum()


class LearnedMoves:
    """Draws one of several uniform moves as a policy says. `seen` has what it has drawn, with what came of it."""

    def __init__(self, asked: SearchProblem, policy: Policy, seed: int) -> None:
        self._moves = CriticalPathMoves(asked)
        self._policy = policy
        self._chance = np.random.default_rng(seed)
        self.seen: list[list[Any]] = []
        work, group = asked.work, np.array(asked.grouping.group)
        count = len(asked.grouping.options)
        self._group = group
        self._work = np.bincount(group, np.array(work.seconds), count)
        pairs: dict[tuple[int, int], float] = {}
        for i, edges in enumerate(work.inputs):
            for edge in edges:
                one, other = int(group[edge.source]), int(group[i])
                if one != other:
                    pairs[one, other] = pairs.get((one, other), 0.0) + edge.nbytes
        self._from = np.array([one for one, _ in pairs], int)
        self._to = np.array([other for _, other in pairs], int)
        self._bytes = np.array(list(pairs.values()))
        self._bytes = self._bytes / max(self._bytes.max(initial=0.0), 1.0)
        self._degree = np.maximum(np.bincount(np.concatenate([self._from, self._to]), minlength=count), 1)[:, None]
        self._schedule: StepTimeline | None = None

    def _spread(self, columns: Any) -> Any:
        """The mean over the neighbours of each group."""
        made = np.zeros_like(columns)
        np.add.at(made, self._to, columns[self._from])
        np.add.at(made, self._from, columns[self._to])
        return made / self._degree

    def _look(self, schedule: StepTimeline, path: list[int]) -> None:
        """Takes in what the policy sees of a schedule."""
        at = np.array(schedule.at)
        critical = np.zeros(len(at))
        critical[self._group[path]] = 1.0
        crossing = (at[self._from] != at[self._to]) * self._bytes
        crosses = np.bincount(self._to, crossing, len(at)) + np.bincount(self._from, crossing, len(at))
        load = np.bincount(at, self._work, int(at.max()) + 8)
        self._load = load / max(schedule.seconds, 1e-12)
        share = self._work / max(schedule.seconds, 1e-12)
        own = np.stack([critical, 10 * share, crosses, self._load[at], 10 * share * critical], 1)
        near = self._spread(own)
        self._columns = np.concatenate([own, near, self._spread(near)], 1)
        self._at = at
        self._schedule = schedule

    def _features(self, changes: Mapping[int, int]) -> list[float]:
        groups = np.fromiter(changes, int)
        there = np.fromiter(changes.values(), int)
        moved = np.zeros(len(self._at), bool)
        moved[groups] = True
        at = self._at.copy()
        at[groups] = there
        touched = moved[self._from] | moved[self._to]
        before = float(((self._at[self._from] != self._at[self._to]) * self._bytes)[touched].sum())
        after = float(((at[self._from] != at[self._to]) * self._bytes)[touched].sum())
        seen = self._columns[groups].mean(0)
        ends = [float(self._load[self._at[groups]].mean()), float(self._load[there].mean())]
        return [*seen, len(groups) / 8, before, after, *ends]

    def propose(self, schedule: StepTimeline, path: list[int], chance: random.Random) -> Mapping[int, int]:
        """A move that the policy has drawn."""
        before = self._schedule
        if self.seen and before is not None and schedule is not before:
            self.seen[-1][2] = max(0.0, (before.seconds - schedule.seconds) / before.seconds)
        if schedule is not before:
            self._look(schedule, path)
        moves = [move for _ in range(_CANDIDATES) if (move := self._moves.propose(schedule, path, chance))]
        if not moves:
            return {}
        features = np.array([self._features(move) for move in moves], np.float32)
        drawn = int(self._chance.choice(len(moves), p=self._policy.probabilities(features)))
        if len(moves) == _CANDIDATES:
            self.seen.append([features, drawn, 0.0])
        return moves[drawn]


def steps(seed: int, quick: bool) -> list[SearchProblem]:
    """Three steps of three families, on four devices."""
    links = list(LINKS.values())
    size = 3 if quick else 6
    return [
        problem(layered(seed, 2 * size, 8), 4, links[seed % 2]),
        problem(nasnet(seed, size), 4, links[seed % 2]),
        problem(layered(seed + 1000, 4 * size, 4), 4, links[(seed + 1) % 2]),
    ]


async def trained(asked: Sequence[SearchProblem], rounds: int, trials: int, seed: int) -> Policy:
    """A policy after some rounds of searches over the steps, each followed by a step of Adam."""
    policy = Policy(seed)
    graph = af.Graph()
    with graph.as_default():
        features = af.placeholder(af.float32, [None, _CANDIDATES, _FEATURES])
        drawn, gain = af.placeholder(af.int32, [None]), af.placeholder(af.float32, [None])
        weights = [af.Variable(array) for array in policy.weights]
        hidden = af.tanh(af.matmul(af.reshape(features, [-1, _FEATURES]), weights[0]) + weights[1])
        scores = af.reshape(af.matmul(hidden, weights[2]), [-1, _CANDIDATES])
        losses = af.nn.sparse_softmax_cross_entropy_with_logits(labels=drawn, logits=scores)
        train = af.train.AdamOptimizer(3e-3).minimize(af.reduce_mean(losses * gain))
        init = af.global_variables_initializer()
    async with af.Session(graph=graph) as session:
        await session.run(init)
        for number in range(rounds):
            for k, one in enumerate(asked):
                moves = LearnedMoves(one, policy, seed + 97 * number + k)
                search(one, trials=trials, seed=seed + 31 * number + k, proposer=moves)
                if not moves.seen:
                    continue
                gains = np.array([seen[2] for seen in moves.seen], np.float32)
                spread = float(gains.std())
                if spread > 0:
                    feeds = {
                        features: np.stack([seen[0] for seen in moves.seen]),
                        drawn: np.array([seen[1] for seen in moves.seen], np.int32),
                        gain: (gains - gains.mean()) / spread,
                    }
                    await session.run(train, feeds)
                    policy.weights = list(await session.run(weights))
    return policy


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    rounds = 3 if options.quick else options.rounds
    begun = time.perf_counter()
    lessons = [one for seed in range(4) for one in steps(seed, options.quick)]
    policy = await trained(lessons, rounds, options.trials, seed=1)
    print(f"trained on {len(lessons)} steps, {rounds} rounds, {time.perf_counter() - begun:.0f} s")
    ratios: list[float] = []
    for seed in range(100, 102 if options.quick else 108):
        for one in steps(seed, options.quick):
            uniform = search(one, trials=options.trials, seed=seed)
            moves = LearnedMoves(one, policy, seed)
            learned = search(one, trials=options.trials, seed=seed, proposer=moves)
            ratios.append(learned.seconds / uniform.seconds)
    wins, losses = sum(ratio < 1 for ratio in ratios), sum(ratio > 1 for ratio in ratios)
    mean = statistics.geometric_mean(ratios)
    print(f"on {len(ratios)} others, {options.trials} trials each: learned by uniform {mean:.4f}")
    print(f"better on {wins}, worse on {losses}; by chance with probability {sign_test(wins, wins + losses):.3g}")


if __name__ == "__main__":
    anyio.run(main)
