#include "common/beginning.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>

namespace muster {

void BeginProgram(const char* name) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    // (The lowest number that is free: this one.)
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0) _exit(1);
  }
  prctl(PR_SET_NAME, name);
  signal(SIGXFSZ, SIG_IGN);
}

}  // namespace muster
