#include "worker_agent/keeper/open_files.h"

namespace muster::agent {

rlimit RaiseOpenFiles() {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit raised{before.rlim_max, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &raised);
  return before;
}

}  // namespace muster::agent
