"""Data-parallel training with the real MindSpore on its CPU backend, over scikit-learn's handwritten digits. It knows
nothing of Muster. Prints "epoch: E, step: S, loss is L" and, before that, whether an AllReduce over all ranks is right.

With a folder as its argument, rank 0 saves its weights there after each epoch, and a new start goes on from them."""
import os
import sys
import time

import mindspore as ms
import numpy as np
from mindspore import nn, ops
from mindspore.communication import get_group_size, get_local_rank, get_rank, init
from sklearn.datasets import load_digits

EPOCHS = int(os.environ.get("EPOCHS", "3"))
STEPS = 20
BATCH = 64  # for all ranks together
STEP_PAUSE = float(os.environ.get("STEP_PAUSE", "0"))


class Sum(nn.Cell):
    def __init__(self):
        super().__init__()
        self.all_reduce = ops.AllReduce()

    def construct(self, x):
        return self.all_reduce(x)


def main():
    begin = time.time()
    ms.set_context(mode=ms.GRAPH_MODE, device_target="CPU")
    if os.environ.get("SSL_CONFIG"):
        password = os.environ["SSL_PASSWORD"]
        ms.set_ps_context(config_file_path=os.environ["SSL_CONFIG"], enable_ssl=True, client_password=password,
                          server_password=password)
    init()
    rank, size = get_rank(), get_group_size()
    ms.set_seed(1)
    print("rank %d of %d, local rank %d, device %s, init took %.2f s" %
          (rank, size, get_local_rank(), os.environ.get("DEVICE_ID", "-"), time.time() - begin), flush=True)
    total = float(Sum()(ms.Tensor(np.array([rank], np.float32))).asnumpy()[0])
    print("sum of ranks is %d" % total, flush=True)
    assert total == size * (size - 1) / 2, total

    pixels, labels = load_digits(return_X_y=True)
    pixels = (pixels / 16.0).astype(np.float32)
    labels = labels.astype(np.int32)
    net = nn.SequentialCell(nn.Dense(64, 32), nn.ReLU(), nn.Dense(32, 10))
    random = np.random.RandomState(7)  # the same weights on every rank
    for parameter in net.get_parameters():
        parameter.set_data(ms.Tensor((random.randn(*parameter.shape) * 0.1).astype(np.float32)))
    loss_fn = nn.CrossEntropyLoss()
    kept = os.path.join(sys.argv[1], "weights.npz") if len(sys.argv) > 1 else None
    first_epoch = 0
    if kept and os.path.exists(kept):
        with np.load(kept) as saved:
            first_epoch = int(saved["epoch"]) + 1
            for index, parameter in enumerate(net.get_parameters()):
                parameter.set_data(ms.Tensor(saved["p%d" % index]))
        print("resumed at epoch %d" % first_epoch, flush=True)
    optimizer = nn.SGD(net.trainable_params(), 0.5)

    def forward(x, y):
        return loss_fn(net(x), y)

    grad_fn = ms.value_and_grad(forward, None, net.trainable_params())
    reduce_all = Sum()

    share = BATCH // size
    for epoch in range(first_epoch, EPOCHS):
        order = np.random.RandomState(epoch).permutation(len(labels))
        for step in range(STEPS):
            chosen = order[step * BATCH + rank * share:step * BATCH + (rank + 1) * share]
            loss, grads = grad_fn(ms.Tensor(pixels[chosen]), ms.Tensor(labels[chosen]))
            # A single AllReduce for all gradients and the loss.
            flat = np.concatenate([g.asnumpy().ravel() for g in grads] + [loss.asnumpy().reshape(1)])
            flat = reduce_all(ms.Tensor(flat)).asnumpy() / size
            at, mean = 0, []
            for grad in grads:
                count = int(np.prod(grad.shape))
                mean.append(ms.Tensor(flat[at:at + count].reshape(grad.shape)))
                at += count
            optimizer(tuple(mean))
            if epoch == 0 and step == 0:
                print("first step after %.2f s" % (time.time() - begin), flush=True)
            if step % 10 == 0:
                print("epoch: %s, step: %s, loss is %.6f" % (epoch, step, flat[-1]), flush=True)
            time.sleep(STEP_PAUSE)
        if kept and rank == 0:
            arrays = {"p%d" % i: p.asnumpy() for i, p in enumerate(net.get_parameters())}
            np.savez(kept + ".new.npz", epoch=epoch, **arrays)
            os.replace(kept + ".new.npz", kept)
    print("final loss %.6f" % flat[-1] if first_epoch < EPOCHS else "nothing left", flush=True)


if __name__ == "__main__":
    main()
