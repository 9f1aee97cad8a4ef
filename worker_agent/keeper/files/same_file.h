#pragma once

#include <sys/stat.h>

namespace muster::agent {

// Returns true if both descriptors refer to the same file.
inline bool IsSameFile(int a, int b) {
  struct stat stat_a {};
  struct stat stat_b {};
  return ::fstat(a, &stat_a) == 0 && ::fstat(b, &stat_b) == 0 && stat_a.st_dev == stat_b.st_dev &&
         stat_a.st_ino == stat_b.st_ino;
}

}  // namespace muster::agent
