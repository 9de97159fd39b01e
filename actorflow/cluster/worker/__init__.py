"""The worker of a task: its devices, and the parts of plans that masters register there (paper section 3).

remote_rendezvous.py  the rendezvous of a step on one of several tasks: some edges end here, others lead over links
service.py            `WorkerService`: the requests of masters, each decoded and handed on to the worker
task_partition.py     a task's part of a plan: what the master registers there, and its form on the wire
worker.py             `Worker`: a task's devices and their state, the parts of plans registered there, and the steps that run them
"""
