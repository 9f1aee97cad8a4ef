/* Rank 0 publishes a name, all others find it, rank 0 takes it back. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char port[MPI_MAX_PORT_NAME] = "a port of rank 0";
  char found[MPI_MAX_PORT_NAME] = "";
  int is_right = 1;
  if (rank == 0) is_right = MPI_Publish_name("service", MPI_INFO_NULL, port) == MPI_SUCCESS;
  MPI_Barrier(MPI_COMM_WORLD);
  if (MPI_Lookup_name("service", MPI_INFO_NULL, found) != MPI_SUCCESS || strcmp(found, port) != 0) is_right = 0;
  if (MPI_Lookup_name("another", MPI_INFO_NULL, found) == MPI_SUCCESS) is_right = 0;
  if (rank == size - 1 && MPI_Publish_name("service", MPI_INFO_NULL, "another port") == MPI_SUCCESS) is_right = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) is_right &= MPI_Unpublish_name("service", MPI_INFO_NULL, port) == MPI_SUCCESS;
  MPI_Barrier(MPI_COMM_WORLD);
  if (MPI_Lookup_name("service", MPI_INFO_NULL, found) == MPI_SUCCESS) is_right = 0;
  printf("rank %d of %d: %s\n", rank, size, is_right ? "all right" : "wrong");
  MPI_Finalize();
  return is_right ? 0 : 1;
}
