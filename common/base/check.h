// MUSTER_CHECK(condition, message): if the condition is false, prints where and why, and aborts. For broken invariants
// only, never for bad input.
#pragma once

#include <cstdio>
#include <cstdlib>

#define MUSTER_CHECK(condition, message)                                                                   \
  do {                                                                                                     \
    if (!(condition)) [[unlikely]] {                                                                       \
      std::fprintf(stderr, "%s:%d: broken invariant: %s (%s)\n", __FILE__, __LINE__, message, #condition); \
      std::abort();                                                                                        \
    }                                                                                                      \
  } while (false)
