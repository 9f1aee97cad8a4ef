"""Data-parallel training with MindSpore, 20 steps, in plain dynamic-cluster style: nothing in it depends on Muster.

    ms-worker --standalone --local_worker_num 2 -- python train.py

Runs on CPUs, or, with DEVICE=Ascend in the environment, on NPUs. GLOG_v=3 hides MindSpore's warnings at a start.
"""

import os

import mindspore as ms
import numpy as np
from mindspore import nn, ops
from mindspore.communication import get_group_size, get_rank, init

STEPS = 20
BATCH = 64  # of all ranks together


class Sum(nn.Cell):
    def __init__(self):
        super().__init__()
        self.all_reduce = ops.AllReduce()

    def construct(self, x):
        return self.all_reduce(x)


def main():
    ms.set_context(mode=ms.GRAPH_MODE, device_target=os.environ.get("DEVICE", "CPU"))
    init()
    rank, size = get_rank(), get_group_size()
    random = np.random.RandomState(7)  # the same weights and data on every rank
    network = nn.Dense(8, 1)
    for parameter in network.get_parameters():
        parameter.set_data(ms.Tensor((random.randn(*parameter.shape) * 0.1).astype(np.float32)))
    optimizer = nn.SGD(network.trainable_params(), 0.1)
    loss_of = nn.MSELoss()

    def forward(x, y):
        return loss_of(network(x), y)

    grad_of = ms.value_and_grad(forward, None, network.trainable_params())
    sum_over_ranks = Sum()

    def mean_over_ranks(array):
        return sum_over_ranks(ms.Tensor(array)).asnumpy() / size

    for step in range(1, STEPS + 1):
        x = random.randn(BATCH, 8).astype(np.float32)
        y = x.sum(axis=1, keepdims=True)
        loss, grads = grad_of(ms.Tensor(x[rank::size]), ms.Tensor(y[rank::size]))
        optimizer(tuple(ms.Tensor(mean_over_ranks(grad.asnumpy())) for grad in grads))
        mean = mean_over_ranks(loss.asnumpy().reshape(1))
        if rank == 0 and step % 5 == 0:
            print("step %d: loss %.4f" % (step, mean[0]), flush=True)
    if rank == 0:
        print("done", flush=True)


if __name__ == "__main__":
    main()
