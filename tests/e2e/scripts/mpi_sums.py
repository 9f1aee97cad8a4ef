"""mpi_sums.c in Python: allreduce, alltoall, a sub-communicator, a one-sided sum, and one file (the argument is its
path)."""

import sys
from array import array

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
assert world.allreduce(rank) == size * (size - 1) // 2
assert world.alltoall([1000 * rank + i for i in range(size)]) == [1000 * i + rank for i in range(size)]

half = world.Split(rank % 2, rank)
assert half.allgather(rank) == list(range(rank % 2, size, 2))
half.Free()

window = MPI.Win.Allocate(4, 4, comm=world)
counter = memoryview(window).cast("B").cast("i")
counter[0] = 0
window.Fence()
window.Accumulate([array("i", [rank + 1]), MPI.INT], 0)
window.Fence()
assert rank != 0 or counter[0] == size * (size + 1) // 2
window.Free()

if len(sys.argv) > 1:
    file = MPI.File.Open(world, sys.argv[1], MPI.MODE_CREATE | MPI.MODE_RDWR)
    file.Write_at_all(4 * rank, array("i", [7 * rank]))
    file.Sync()
    world.Barrier()
    read = array("i", [-1])
    file.Read_at_all(4 * (size - 1 - rank), read)
    assert read[0] == 7 * (size - 1 - rank)
    file.Close()
print("rank %d of %d: all right" % (rank, size), flush=True)
