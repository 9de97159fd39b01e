"""The master of a client's session: it divides the graph over the tasks of the cluster, and runs steps on them (paper section 3).

graph_partitioner.py  the work of each task for a signature: the subgraphs of its devices
node_states.py        `NodeStates`: who keeps what the nodes of a session keep between runs, and whether it was lost
registration.py       `Registrar`: brings each task its share of a master's plans
service.py            `MasterService`: the sessions of a task's clients, and what it answers them
session.py            `MasterSession`: one client's graph, and its plans over the tasks
steps.py              `MasterSteps`: the steps of those plans on the tasks that take part, and what they wait for
"""
