# train_in_a_loop.sh PYTHON SCRIPT: starts one python for each device of this node. NODE_RANK, LOCAL_WORLD_SIZE, WORLD_SIZE,
# MASTER_ADDR and MASTER_PORT must be set.
pids=
i=0
while [ "$i" -lt "$LOCAL_WORLD_SIZE" ]; do
  RANK=$((NODE_RANK * LOCAL_WORLD_SIZE + i)) LOCAL_RANK=$i \
    "$1" "$2" --node_rank "$NODE_RANK" --nproc_per_node "$LOCAL_WORLD_SIZE" &
  pids="$pids $!"
  i=$((i + 1))
done
for pid in $pids; do wait "$pid" || exit 1; done
