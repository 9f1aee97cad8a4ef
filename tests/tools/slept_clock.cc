// Preloaded into a program, this makes CLOCK_BOOTTIME run ahead of CLOCK_MONOTONIC, as after the machine was suspended.
// The file MUSTER_TEST_SLEPT holds the number of seconds as text; without the file it is 0.
#include <dlfcn.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>

namespace {

using GetTime = int (*)(clockid_t, timespec*);

time_t Slept() {
  const char* path = getenv("MUSTER_TEST_SLEPT");
  const int fd = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[16] = {};
  const ssize_t size = read(fd, text, sizeof text - 1);
  close(fd);
  return size > 0 ? atol(text) : 0;
}

}  // namespace

extern "C" int clock_gettime(clockid_t id, timespec* time) {
  static const auto next = reinterpret_cast<GetTime>(dlsym(RTLD_NEXT, "clock_gettime"));
  const int result = next(id, time);
  if (result == 0 && id == CLOCK_BOOTTIME) time->tv_sec += Slept();
  return result;
}
