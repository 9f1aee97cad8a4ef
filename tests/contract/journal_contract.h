// What every journal must do. An implementation passes by instantiating JournalContract with a factory.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "scheduler/journal/journal.h"

namespace muster::scheduler {

// One journal's home. Open gives a journal on it; after the previous one was destroyed (a clean end of the process) it
// gives the next life of the same journal.
class JournalHome {
 public:
  virtual ~JournalHome() = default;
  virtual std::unique_ptr<Journal> Open() = 0;
};

struct JournalFactory {
  std::string name;
  std::function<std::unique_ptr<JournalHome>()> make;
};

class JournalContract : public ::testing::TestWithParam<JournalFactory> {};

}  // namespace muster::scheduler
