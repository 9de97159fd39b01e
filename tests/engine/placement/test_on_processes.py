"""A placement that a search has found runs on processes, and traces show the steps before and after."""

from __future__ import annotations

import pytest
from engine.placement.held_ops import BATCH, LENGTHS, pieces

import actorflow as af
from actorflow.engine.placement.study.study import PlacementStudy


async def test_f47_processes_run_what_a_search_has_found_and_traces_show_before_and_after() -> None:
    graph = af.Graph()
    with graph.as_default():
        x, total = pieces()
    feeds = {x: BATCH}
    async with (
        af.LocalCluster({"worker": 2}, imports=["engine.placement.held_ops"]) as cluster,
        af.Session(cluster.target, graph=graph) as session,
    ):

        async def traced() -> tuple[PlacementStudy, set[str]]:
            """The study of the step, which a trace of it explains; and the pieces on the device of the long one."""
            for _ in range(3):
                assert (await session.run(total, feeds)).tolist() == [4] * 4
            study, trace = await session.study_placement(), af.Trace(detail="plan")
            await session.run(total, feeds, trace=trace)
            ran = {event.node: event.device for event in trace.events if event.node in LENGTHS}
            expected = study.placement()
            assert ran == {name: expected[name] for name in LENGTHS}
            compared = study.compare(trace)
            assert sum(node.added for node in compared.nodes) + compared.rest == pytest.approx(
                compared.measured - compared.predicted
            )
            return study, {name for name in LENGTHS if ran[name] == ran["long"]}

        before, there = await traced()
        assert there != {"long"}, "by estimates two and two pieces are equally long"
        trial = await session.replan(search=0.0)
        assert trial.report.exhaustive and trial.report.found < trial.report.present
        for _ in range(10):  # the clock of the trial says that each step by the new placement took less
            trial._compare({True: 1.0, False: 2.0})
        assert await trial.done() and "in force" in trial.verdict
        after, there = await traced()
        assert there == {"long"} and after.seconds < before.seconds
