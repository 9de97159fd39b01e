"""Pipelines: models, functions of Python and queues as one served graph.

A pipeline is a graph. A stage is a node of it that calls a function, and the function puts the rows of its request into the
batches of the stage. So sessions order the stages, stop them with their requests, and tell which of them waits.

consumers.py  `Consumer`: takes the elements of a queue in the background
loading.py    the pipeline that a file of Python has, for `actorflow serve`
pipeline.py   `Pipeline`: declares the graph
policy.py     `StagePolicy`: batches, time and restarts of a stage
running.py    `RunningPipeline`: the stages of a pipeline that is served
stage.py      `PipelineStage`: the batches of a stage, its restarts and counts
workers.py    `StageWorker`: a model or a function that computes the batches of a stage
"""
