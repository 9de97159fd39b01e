"""Clusters: which tasks there are, how they prove who they are, and how they are started and reached.

client.py              the engine of `Session(target)`: the master's session from afar (paper section 3)
graph_partitioner.py   the work of each task for a signature: the subgraphs of its devices
in_flight.py           the steps that a client has in flight at its master: which of them only wait, and so lend their places to
                       others; and reports of what they wait for
master.py              `MasterSession`: divides one client's graph over the tasks of the cluster, and runs steps on them
                       (paper section 3)
master_service.py      the master service of a task: the sessions of its clients, and what it answers them
node_states.py         `NodeStates`: who keeps what the nodes of a session keep between runs, and whether it was lost
partial_run.py         partial runs over tasks: a step is fed and fetched while its request is being answered
                       (`Session.partial_run`)
registration.py        `Registrar`: brings each task its share of a master's plans
remote_rendezvous.py   the rendezvous of a step on one of several tasks: some edges end here, others lead over links
remote_step.py         A step asked of another task: its feeds go there and its fetches come back, small ones within the request
                       and its reply, others as tokens
server.py              `Server`: one task of a cluster, with its worker service and its master service (paper section 3)
task_partition.py      A task's part of a plan: what the master registers there, and its form on the wire
worker.py              `Worker`: a task's devices and their state, the parts of plans registered there, and the steps that run
                       them
worker_service.py      the worker service of a task: the requests of masters, each decoded and handed on to its `Worker`
config/                which tasks a cluster has, and the keys by which they know each other
processes/             the processes of tasks: how they are started, and how they end
wire/                  requests and replies between tasks
"""
