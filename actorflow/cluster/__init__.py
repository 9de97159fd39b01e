"""Clusters: which tasks there are, how they prove who they are, and how they are started and reached.

partial_run.py  partial runs over tasks: a step is fed and fetched while its request is being answered (`Session.partial_run`)
remote_step.py  a step asked of another task: feeds go there and fetches come back; small tensors are in the request and
                the reply, others go as tokens
server.py       `Server`: one task of a cluster, with its worker and its master service (paper section 3)
task_status.py  the rows of `Server.status`: devices, links, queues and iterators
client/         a session whose master is another process, and questions to a server
config/         which tasks a cluster has, and the keys by which they know each other
launch/         other ways to start the tasks of a cluster than one command each
master/         the master of a client's session: plans over several tasks, and their steps
membership/     which tasks there are at an epoch, and how tasks join and leave while sessions live
processes/      the processes of tasks: how they are started, and how they end
wire/           requests and replies between tasks
worker/         the worker of a task: its devices, and the parts of plans registered there
"""
