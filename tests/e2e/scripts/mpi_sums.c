/* An MPI program whose results show whether all ranks found each other: allreduce, alltoall, a sub-communicator, a
 * one-sided sum, and rings of messages. Words: "abort", "hang", "no_finalize", "die_once", "checkpoint":
 * on SIGTERM it works for 2 s more; "until" N: it sums on until it was restarted N times; "file" PATH: all
 * write into one file. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void check(int is_right, const char* what) {
  if (is_right) return;
  fprintf(stderr, "wrong: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static void sums(int rank, int size) {
  int sum = 0, parity_sum = 0, parity = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  check(sum == size * (size - 1) / 2, "allreduce");

  int* out = malloc(sizeof(int) * size);
  int* in = malloc(sizeof(int) * size);
  for (int i = 0; i < size; ++i) out[i] = 1000 * rank + i;
  MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i) check(in[i] == 1000 * i + rank, "alltoall");
  free(out);
  free(in);

  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Allreduce(&rank, &parity_sum, 1, MPI_INT, MPI_SUM, half);
  for (int i = rank % 2; i < size; i += 2) parity += i;
  check(parity_sum == parity, "sub-communicator");
  MPI_Comm_free(&half);

  int* counter = NULL;
  int one = rank + 1;
  MPI_Win window;
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &counter, &window);
  *counter = 0;
  MPI_Win_fence(0, window);
  MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window);
  MPI_Win_fence(0, window);
  if (rank == 0) check(*counter == size * (size + 1) / 2, "one-sided");
  MPI_Win_free(&window);
}

static void file(const char* path, int rank, int size) {
  const int mine = 7 * rank;
  int read = -1;
  MPI_File all;
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &all);
  MPI_File_write_at_all(all, rank * sizeof mine, &mine, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_sync(all);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(all);
  MPI_File_read_at_all(all, (size - 1 - rank) * sizeof read, &read, 1, MPI_INT, MPI_STATUS_IGNORE);
  check(read == 7 * (size - 1 - rank), "file");
  MPI_File_close(&all);
}

static volatile sig_atomic_t is_asked_to_stop = 0;
static void on_term(int signal) {
  (void)signal;
  is_asked_to_stop = 1;
}

static void checkpoint(int rank) {
  signal(SIGTERM, on_term);
  printf("rank %d works\n", rank);
  fflush(stdout);
  while (!is_asked_to_stop) usleep(10000);
  for (int i = 0; i < 20; ++i) usleep(100000);
  printf("rank %d: checkpoint written\n", rank);
  fflush(stdout);
}

static void sum_until(int restarts, int wanted, int rank) {
  int sum = 0;
  for (int i = 0; restarts < wanted; ++i) {
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (i == 0) {
      printf("rank %d sums, restarts %d\n", rank, restarts);
      fflush(stdout);
    }
    usleep(2000);
  }
}

int main(int argc, char** argv) {
  const char* word = argc > 1 ? argv[1] : "";
  int rank = 0, size = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  sums(rank, size);
  const char* restart = getenv("MS_RESTART_COUNT");
  const int is_first = restart == NULL || strcmp(restart, "0") == 0;
  if (strcmp(word, "abort") == 0 && rank == size - 1) MPI_Abort(MPI_COMM_WORLD, 5);
  if (strcmp(word, "die_once") == 0 && is_first && rank == size - 1) raise(SIGKILL);
  if (strcmp(word, "checkpoint") == 0) checkpoint(rank);
  if (strcmp(word, "file") == 0 && argc > 2) file(argv[2], rank, size);
  if (strcmp(word, "until") == 0 && argc > 2) sum_until(restart == NULL ? 0 : atoi(restart), atoi(argv[2]), rank);
  if (strcmp(word, "hang") == 0 || strcmp(word, "abort") == 0 || (strcmp(word, "die_once") == 0 && is_first)) sleep(100);
  if (strcmp(word, "no_finalize") == 0) _exit(0);
  printf("rank %d of %d: all right, restarts %s\n", rank, size, restart == NULL ? "?" : restart);
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
