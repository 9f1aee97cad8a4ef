// The contract of every journal. An implementation passes by instantiating JournalContract with a factory.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "scheduler/journal/journal.h"

namespace muster::scheduler {

// The place of one journal. Open returns a journal on it. After that one was destroyed (a clean end of the process),
// Open returns the same journal in its next life.
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
