"""The processes of tasks: how they are started, and how they end.

blocking_local.py    `blocking.LocalCluster`: a local cluster for code without `await`
blocking_server.py   `blocking.Server`: a task of a cluster inside a program without `await`
fork_server.py       the process that the tasks of a local cluster are forked from: `python -m
                     actorflow.cluster.processes.fork_server FD`
launcher.py          `Launcher`: starts the processes of local clusters, on Linux by a fork of a process that has
                     imported everything
listening.py         where a task listens, and what stands in the way: a port in use, an address of another machine, too few
                     files; and ports that are kept for tasks
local.py             `LocalCluster`: a cluster on this host, for a laptop, for tests, and for one large machine
local_process.py     `LocalProcess`: one task of a local cluster as a process of its own, from its start to the report of its
                     end
metrics.py           the status of tasks as OpenMetrics, with names, units and explanations
metrics_port.py      `serve_metrics`: a port of a task at which Prometheus reads its metrics
process.py           the life of a process that is a task: its server, the signals that end it, and the parent that it must not
                     outlive
startup.py           the table that says which tasks of a cluster are missing, and how far each was reached
task_config.py       `TaskConfig`: what a process needs to be a task
task_main.py         the main function of a task's process, and how it logs
"""
