// What MPI programs take for their launcher: ranks start with no mpirun, no SSH and no daemons of MPI's own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/store/job_store.h"
#include "worker_agent/gateway/chassis/gateway.h"
#include "worker_agent/gateway/chassis/round_layout.h"
#include "worker_agent/gateway/mpi/pmi1_server.h"
#include "worker_agent/gateway/mpi/pmix/pmix_server.h"
#include "worker_agent/gateway/mpi/rank_ender.h"
#include "worker_agent/launch/command/mpi_program.h"

namespace muster::agent {

struct MpiGatewayOptions {
  MpiFamily family = MpiFamily::kNone;  // what is served
  std::string pmix_program;             // ms-pmix; not there: Open MPI can't be served
  std::string work_folder;              // absolute
};

class MpiGateway final : public Gateway {
 public:
  // `store` and `clock` must outlive this.
  MpiGateway(MpiGatewayOptions options, JobStore& store, const Clock& clock)
      : options_(std::move(options)), store_(store), clock_(clock) {}
  ~MpiGateway() override { Drop(); }

  absl::Status Begin(const GatewayRound& round) override;
  std::optional<absl::Status> WhenBegun() override;
  void AddTo(EnvironmentInput& input) const override;
  HandOver HandOverOf(uint32_t slot) override;
  void Started(const ProcessKey& key, int64_t pid) override;
  void Judge(const ProcessKey& key, ProcessEnd& end) override;
  void Over(uint64_t run, uint32_t round) override;
  std::string Without() const override { return "MPI programs don't find each other"; }

 private:
  // ms-pmix takes some 20 ms to be ready, on a busy machine more: a thread waits for it.
  struct Starting {
    Mutex mutex;
    std::optional<absl::StatusOr<std::unique_ptr<PmixServer>>> result ABSL_GUARDED_BY(mutex);
  };

  void JudgeByProgress(uint32_t slot, ProcessEnd& end);
  void Drop();
  absl::Status StartServers(const RoundLayout& layout, const std::function<void()>& wake);

  const MpiGatewayOptions options_;
  JobStore& store_;
  const Clock& clock_;
  std::optional<RoundLayout> layout_;  // of the present round, or of one that is over and has processes left
  bool is_over_ = false;
  std::set<uint32_t> unended_;          // slots whose process has not ended yet
  std::shared_ptr<RankEnder> ender_;    // of the present round
  std::unique_ptr<Pmi1Server> pmi1_;    // null: not served
  std::unique_ptr<PmixServer> pmix_;    // null: not served
  std::shared_ptr<Starting> starting_;  // null: it is not being started
  std::thread starter_;
};

}  // namespace muster::agent
