// Warns where MPI is served to nobody and a process has loaded an MPI library all the same: each is then "rank 0 of 1",
// which looks like success.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <thread>

#include "common/base/mutex.h"
#include "worker_agent/gateway/chassis/gateway.h"

namespace muster::agent {

// The MPI library that a process or a child of it has loaded, by its file's name; empty: none, or it can't be seen.
std::string LoadedMpiLibrary(pid_t pid);

// Looks at the first process that starts, 1, 2, 4 … and 64 s after, and warns once.
class UnservedMpi final : public Gateway {
 public:
  ~UnservedMpi() override;

  absl::Status Begin(const GatewayRound& /*round*/) override { return absl::OkStatus(); }
  void AddTo(EnvironmentInput& /*input*/) const override {}
  void Started(const ProcessKey& key, int64_t pid) override;
  std::string Without() const override { return "MPI programs don't find each other"; }

 private:
  void Run(pid_t pid);

  Mutex mutex_;
  CondVar changed_;
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_begun_ = false;  // the loop's
  std::thread thread_;
};

}  // namespace muster::agent
