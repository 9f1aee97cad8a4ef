EXEC_PATH=$(pwd)
export DATA_PATH=${EXEC_PATH}/MNIST_Data/train/

rm -rf device
mkdir device
echo "start training"

for((i=4;i<8;i++));
do
    export MS_WORKER_NUM=8
    export MS_SCHED_HOST=${NODE_1_ADDRESS}
    export MS_SCHED_PORT=8118
    export MS_ROLE=MS_WORKER
    export MS_NODE_ID=$i
    ms-worker -- python train.py > device/worker_$i.log 2>&1 &
done
