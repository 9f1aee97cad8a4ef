#include "worker_agent/gateway/mpi/gateway.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/sys/log.h"
#include "common/sys/threads.h"
#include "worker_agent/gateway/chassis/begun_round.h"
#include "worker_agent/gateway/mpi/verdict.h"
#include "worker_agent/launch_error/launch_error.h"

namespace muster::agent {

absl::Status MpiGateway::Begin(const GatewayRound& round) {
  if (layout_ && layout_->run == round.run && layout_->round == round.round) return NoneStartsAlone("an MPI");
  Drop();
  absl::StatusOr<RoundLayout> layout = LayoutOf(round);
  if (!layout.ok()) return layout.status();
  ender_ = std::make_shared<RankEnder>();
  if (absl::Status started = StartServers(*layout, round.wake); !started.ok()) {
    Drop();
    return started;
  }
  layout_ = *std::move(layout);
  return absl::OkStatus();
}

absl::Status MpiGateway::StartServers(const RoundLayout& layout, const std::function<void()>& wake) {
  const auto end = [ender = ender_](uint32_t slot) { ender->End(slot); };
  if (options_.family != MpiFamily::kPmix) {
    absl::StatusOr<std::unique_ptr<Pmi1Server>> pmi1 = Pmi1Server::Start(layout, store_, clock_, end);
    if (!pmi1.ok()) return pmi1.status();
    pmi1_ = *std::move(pmi1);
  }
  if (options_.family == MpiFamily::kPmi1) return absl::OkStatus();
  if (::access(options_.pmix_program.c_str(), X_OK) != 0) {
    // Python may have an mpi4py of MPICH's: one of Open MPI's does not connect, and that is told.
    if (options_.family == MpiFamily::kEither) return absl::OkStatus();
    const int error = errno;
    return At(LaunchStep::kOwnProgram,
              absl::NotFoundError(absl::StrCat(
                  "this is a program of Open MPI, for which ms-pmix is needed, and ", options_.pmix_program,
                  " can't be run: ", std::strerror(error),
                  " (install libpmix-dev and build Muster again, or start with --per_job -- mpirun … or --mpi none)")),
              error);
  }
  const PmixOptions pmix{options_.pmix_program, absl::StrCat(options_.work_folder, "/pmix-", layout.round)};
  starting_ = std::make_shared<Starting>();
  absl::StatusOr<std::thread> thread = TryThread([this, starting = starting_, pmix, layout, end, wake] {
    absl::StatusOr<std::unique_ptr<PmixServer>> server = PmixServer::Start(pmix, layout, store_, clock_, end);
    {
      const MutexLock lock(starting->mutex);
      starting->result = std::move(server);
    }
    if (wake) wake();
  });
  if (!thread.ok()) return thread.status();
  starter_ = *std::move(thread);
  return absl::OkStatus();
}

std::optional<absl::Status> MpiGateway::WhenBegun() {
  if (starting_ == nullptr) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<PmixServer>> server = nullptr;
  {
    const MutexLock lock(starting_->mutex);
    if (!starting_->result) return std::nullopt;
    server = *std::move(starting_->result);
  }
  starter_.join();
  starting_.reset();
  if (!server.ok() && options_.family == MpiFamily::kEither) {
    Log(Severity::kWarning,
        absl::StrCat(server.status().message(), "; an mpi4py of Open MPI's will not connect, one of MPICH's will"));
    return absl::OkStatus();
  }
  if (!server.ok()) {
    Drop();
    return server.status();
  }
  pmix_ = *std::move(server);
  return absl::OkStatus();
}

void MpiGateway::AddTo(EnvironmentInput& input) const {
  input.has_mpi = true;
  input.shares_cpus = input.desired->assignment().local_world_size() > std::thread::hardware_concurrency();
  if (pmi1_ != nullptr) {
    input.mpi_variables["PMI_RANK"] = absl::StrCat(layout_->own_agent().ranks[input.slot]);
    input.mpi_variables["PMI_SIZE"] = absl::StrCat(layout_->size());
  }
  if (pmix_ == nullptr) return;
  for (const auto& [name, value] : pmix_->VariablesOf(input.slot)) input.mpi_variables[name] = value;
  // Open MPI 4 asks which launcher there is before it looks for PMIx, and runs alone where it knows none. This one,
  // jsrun, also leaves the binding to CPUs to the launcher.
  input.mpi_variables["JSM_JSRUN_PORT"] = "1";
}

HandOver MpiGateway::HandOverOf(uint32_t slot) {
  unended_.insert(slot);
  if (pmi1_ == nullptr) return {};
  return {"PMI_FD", pmi1_->TakeDescriptor(slot)};
}

void MpiGateway::Started(const ProcessKey& key, int64_t pid) {
  if (layout_ && key.round == layout_->round) ender_->Started(key.slot, static_cast<pid_t>(pid));
}

void MpiGateway::Judge(const ProcessKey& key, ProcessEnd& end) {
  if (!layout_ || key.round != layout_->round) return;
  const bool was_ended_here = ender_->Ended(key.slot);
  if (!is_over_ || was_ended_here) JudgeByProgress(key.slot, end);
  unended_.erase(key.slot);
  if (is_over_ && unended_.empty()) Drop();
}

void MpiGateway::JudgeByProgress(uint32_t slot, ProcessEnd& end) {
  MpiProgress progress = pmi1_ == nullptr ? MpiProgress() : pmi1_->ProgressOf(slot);
  const bool asks_pmix = pmix_ != nullptr && !progress.has_connected;
  JudgeMpiEnd(asks_pmix ? pmix_->ProgressOf(slot) : progress, end);
}

// Open MPI's ranks die with their server: it stays until the last of them has ended, who may be writing a checkpoint.
void MpiGateway::Over(uint64_t /*run*/, uint32_t /*round*/) {
  is_over_ = true;
  if (unended_.empty()) Drop();
}

void MpiGateway::Drop() {
  is_over_ = false;
  unended_.clear();
  if (starter_.joinable()) starter_.join();
  starting_.reset();
  pmi1_.reset();
  pmix_.reset();
  layout_.reset();
}

}  // namespace muster::agent
