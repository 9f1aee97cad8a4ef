#!/bin/sh
# Prints the variables that a process gets, without any framework:
#
#     ms-worker --standalone --local_worker_num 3 -- sh hello.sh
set -e
echo "rank $RANK of $WORLD_SIZE, local rank $LOCAL_RANK, on node $NODE_RANK of $NNODES; rank 0 is at $MASTER_ADDR"
