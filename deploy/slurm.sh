#!/bin/sh
# A cluster of one parameter server and three workers on Slurm, and a program that uses it:
#     actorflow keys init ~/cluster-keys.toml
#     sbatch deploy/slurm.sh train.py
#SBATCH --job-name=actorflow
#SBATCH --ntasks=4
#SBATCH --signal=TERM@30
set -eu
export ACTORFLOW_KEYS="${ACTORFLOW_KEYS:-$HOME/cluster-keys.toml}"
srun --kill-on-bad-exit=1 actorflow worker --from-slurm --jobs ps=1,worker=3 --first-port 7070 &
tasks=$!
trap 'kill -TERM $tasks; wait $tasks' EXIT TERM INT
# The first task runs on the host of this script.
export ACTORFLOW_TARGET="$(hostname):7070"
until actorflow status "$ACTORFLOW_TARGET" >/dev/null 2>&1; do
    kill -0 $tasks
    sleep 1
done
python "$@"
