"""One rank of a job that does all that PyTorch's processes do with the store, directly and through
torch.distributed."""

import datetime
import os

import torch
import torch.distributed as dist

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
is_new = int(torch.__version__.split(".")[0]) >= 2
patience = datetime.timedelta(seconds=60)


def collectives():
    dist.init_process_group("gloo", timeout=patience)
    total = torch.tensor([rank + 1.0])
    dist.all_reduce(total)
    assert total.item() == size * (size + 1) / 2
    everybody = dist.new_group(list(range(size)))
    dist.barrier(everybody)
    dist.monitored_barrier(timeout=patience)
    objects = [None] * size
    dist.all_gather_object(objects, {"rank": rank, "big": "x" * 10000})
    assert [each["rank"] for each in objects] == list(range(size))
    told = [{"from": 0}] if rank == 0 else [None]
    dist.broadcast_object_list(told)
    assert told == [{"from": 0}]
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
    model(torch.full((2, 4), float(rank))).sum().backward()
    gradient = model.module.weight.grad.clone()
    dist.all_reduce(gradient)
    assert torch.allclose(gradient / size, model.module.weight.grad)
    dist.destroy_process_group()


def by_hand():
    # A script that makes rank 0 the master. With PyTorch 2 it finds the agent's store there, and becomes a client.
    store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), size, is_new and rank == 0, patience)
    mine = dist.PrefixStore("hand", store)
    mine.set("of/%d" % rank, "value %d" % rank)
    mine.wait(["of/%d" % other for other in range(size)], patience)
    assert [mine.get("of/%d" % other) for other in range(size)] == [b"value %d" % other for other in range(size)]
    assert mine.add("sum", rank + 1) > 0
    mine.add("arrived", 1)
    while mine.add("arrived", 0) < size:
        pass
    assert int(mine.get("sum")) == size * (size + 1) // 2
    winner = mine.compare_set("first", "", str(rank))
    assert winner == mine.get("first")
    if rank == 0:
        assert mine.compare_set("first", "nobody", "x") == winner
        mine.set("mine", "")
        assert mine.delete_key("mine") and not mine.delete_key("mine")
    assert store.num_keys() > size
    try:
        mine.wait(["never"], datetime.timedelta(milliseconds=50))
        raise AssertionError("what nobody sets is not there")
    except Exception as error:  # its class differs between versions
        assert "imeout" in str(error), error
    mine.set("big/%d" % rank, "b" * (1 << 20))
    assert len(mine.get("big/%d" % ((rank + 1) % size))) == 1 << 20
    if is_new:
        only_new(store, mine)
    mine.add("left", 1)
    while mine.add("left", 0) < size:
        pass


def only_new(store, mine):
    mine.append("log/%d" % rank, "one ")
    mine.append("log/%d" % rank, "two")
    assert mine.get("log/%d" % rank) == b"one two"
    mine.multi_set(["m/%d/a" % rank, "m/%d/b" % rank], ["1", "2"])
    other = (rank + 1) % size
    assert mine.multi_get(["m/%d/a" % other, "m/%d/b" % other]) == [b"1", b"2"]
    assert mine.check(["m/%d/a" % rank]) and not mine.check(["m/%d/c" % rank])
    copy = store.clone()
    copy.set("cloned/%d" % rank, "yes")
    assert store.get("cloned/%d" % rank) == b"yes"
    if hasattr(store, "queue_push"):
        store.queue_push("queue/%d" % other, "for %d" % other)
        assert store.queue_pop("queue/%d" % rank) == b"for %d" % rank
        assert store.queue_len("queue/%d" % rank) == 0
    if hasattr(store, "list_keys"):
        assert "cloned/%d" % rank in [str(key) for key in store.list_keys()]
    if hasattr(store, "barrier"):
        store.barrier("hand/barrier", size, patience)


collectives()
by_hand()
print("rank %d of %d: all well with PyTorch %s" % (rank, size, torch.__version__), flush=True)
