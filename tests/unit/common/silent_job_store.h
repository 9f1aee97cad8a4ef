// A job's store that never answers. Tests override the methods that they are about.
#pragma once

#include "common/store/job_store.h"

namespace muster {

class SilentJobStore : public JobStore {
 public:
  void Get(const std::string&, ValueDone) override {}
  void Wait(const std::string&, std::chrono::milliseconds, ValueDone) override {}
  void Set(const std::string&, const std::string&, Lifetime, Done) override {}
  void Delete(const std::string&, Done) override {}
  void Add(const std::string&, std::int64_t, Lifetime, NumberDone) override {}
  void CompareAndSet(const std::string&, const std::optional<std::string>&, const std::string&, Lifetime,
                     ValueDone) override {}
  void List(const std::string&, const std::string&, std::uint32_t, ListDone) override {}
};

}  // namespace muster
