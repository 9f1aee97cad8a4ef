/* A rank for mpi.py. It writes one line into the file FOLDER/RANK: the time when MPI_Init was done (CLOCK_MONOTONIC, s),
 * the processor time of this process (s), and with the word "latency" half the median time of a round trip of 8 bytes
 * between ranks 0 and 1 (us). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { WARM = 200, ROUND_TRIPS = 20000 };

static int by_size(const void* a, const void* b) {
  const double difference = *(const double*)a - *(const double*)b;
  return difference < 0 ? -1 : difference > 0;
}

static double half_round_trip_us(int rank) {
  static double took[ROUND_TRIPS];
  char bytes[8] = {0};
  const int other = 1 - rank;
  for (int i = -WARM; i < ROUND_TRIPS; ++i) {
    const double begin = MPI_Wtime();
    if (rank == 0) MPI_Send(bytes, sizeof bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD);
    MPI_Recv(bytes, sizeof bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(bytes, sizeof bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD);
    if (i >= 0) took[i] = MPI_Wtime() - begin;
  }
  qsort(took, ROUND_TRIPS, sizeof took[0], by_size);
  return took[ROUND_TRIPS / 2] * 1e6 / 2;
}

int main(int argc, char** argv) {
  struct timespec done;
  struct rusage used;
  char path[4096];
  double latency_us = 0;
  int rank = 0;
  if (argc < 2) return 2;
  MPI_Init(&argc, &argv);
  clock_gettime(CLOCK_MONOTONIC, &done);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc > 2 && strcmp(argv[2], "latency") == 0 && rank < 2) latency_us = half_round_trip_us(rank);
  MPI_Finalize();
  snprintf(path, sizeof path, "%s/%d", argv[1], rank);
  FILE* file = fopen(path, "w");
  if (file == NULL) return 1;
  getrusage(RUSAGE_SELF, &used);
  const double cpu_s =
      used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
  fprintf(file, "%ld.%09ld %.6f %.3f\n", (long)done.tv_sec, done.tv_nsec, cpu_s, latency_us);
  return fclose(file) == 0 ? 0 : 1;
}
