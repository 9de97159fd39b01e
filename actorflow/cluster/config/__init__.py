"""Which tasks a cluster has, and the keys by which they know each other.

credentials.py   `Credentials`: the keys by which a process proves who it is, and `Target`, an address that carries them
environment.py   where a process finds its cluster and its own place in it: a JSON file, `TF_CONFIG`, `ACTORFLOW_CONFIG`, Slurm
slurm.py         the cluster that Slurm's environment describes: `srun actorflow worker --from-slurm --jobs ps=1,worker=3`
spec.py          `ClusterSpec`: which tasks a cluster has and where each is reached (paper section 3; TensorFlow 1's class)
"""
