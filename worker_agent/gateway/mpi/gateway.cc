#include "worker_agent/gateway/mpi/gateway.h"

#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/text.h"
#include "common/store/job_store.h"
#include "common/sys/file_io.h"
#include "common/sys/log.h"
#include "common/sys/threads.h"
#include "worker_agent/gateway/chassis/gateway.h"
#include "worker_agent/gateway/chassis/round_gateway.h"
#include "worker_agent/gateway/chassis/round_layout.h"
#include "worker_agent/gateway/mpi/mpi_end.h"
#include "worker_agent/gateway/mpi/pmi1_server.h"
#include "worker_agent/gateway/mpi/pmix/pmix_server.h"
#include "worker_agent/launch/command/mpi_program.h"
#include "worker_agent/launch_error/launch_error.h"

namespace muster::agent {
namespace {

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

 private:
  // ms-pmix needs a moment to become ready, and longer on a busy machine. So a thread waits for it.
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
  std::optional<RoundLayout> layout_;  // of the current round, or of an ended one that still has processes
  bool is_over_ = false;
  std::set<uint32_t> unended_;          // slots with a process that has not ended yet
  std::shared_ptr<RankEnder> ender_;    // of the current round
  std::unique_ptr<Pmi1Server> pmi1_;    // null: not served
  std::unique_ptr<PmixServer> pmix_;    // null: not served
  std::shared_ptr<Starting> starting_;  // null: ms-pmix is not starting
  std::thread starter_;
};

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
    // A Python program may use an mpi4py for MPICH, which is served. If it uses one for Open MPI, it does not connect,
    // and Judge reports that.
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
        absl::StrCat(server.status().message(),
                     "; Python with an mpi4py for Open MPI can't connect, but with one for MPICH it can"));
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
  // Before it looks for PMIx, Open MPI 4 looks for a launcher that it knows, and runs alone if it finds none. This
  // variable makes it find jsrun. With jsrun, Open MPI leaves the binding to CPUs to the launcher.
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

// Open MPI's ranks die when their server goes. So the server stays until the last of them has ended; a rank may still
// be writing a checkpoint.
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

constexpr int kLooks = 7;
constexpr int kMaxChildren = 16;
constexpr size_t kMaxMapsText = 32 << 20;

std::string LibraryIn(const std::string& maps_file) {
  for (absl::string_view map : absl::StrSplit(ReadSmallFile(maps_file, kMaxMapsText).value_or(""), '\n')) {
    const std::string name(map.substr(map.rfind('/') + 1));
    if (FamilyOfLibrary(name) != MpiFamily::kNone) return name;
  }
  return "";
}

// Returns the file name of the MPI library that the process or one of its children has loaded; empty: none is seen.
std::string LoadedMpiLibrary(pid_t pid) {
  std::string library = LibraryIn(absl::StrCat("/proc/", pid, "/maps"));
  std::istringstream children(
      ReadSmallFile(absl::StrCat("/proc/", pid, "/task/", pid, "/children"), 1 << 20).value_or(""));
  pid_t child = 0;
  for (int i = 0; i < kMaxChildren && library.empty() && children >> child; ++i) {
    library = LibraryIn(absl::StrCat("/proc/", child, "/maps"));
  }
  return library;
}

// Looks at the first process 1, 2, 4 … and 64 s after its start. If it has loaded MPI, warns once.
class UnservedMpi final : public Gateway {
 public:
  ~UnservedMpi() override;

  absl::Status Begin(const GatewayRound& /*round*/) override { return absl::OkStatus(); }
  void AddTo(EnvironmentInput& /*input*/) const override {}
  void Started(const ProcessKey& key, int64_t pid) override;

 private:
  void Run(pid_t pid);

  Mutex mutex_;
  CondVar changed_;
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_begun_ = false;  // only the agent's loop uses it
  std::thread thread_;
};

void UnservedMpi::Started(const ProcessKey& /*key*/, int64_t pid) {
  if (std::exchange(has_begun_, true)) return;
  absl::StatusOr<std::thread> thread = TryThread([this, pid] { Run(static_cast<pid_t>(pid)); });
  if (thread.ok()) thread_ = *std::move(thread);
}

UnservedMpi::~UnservedMpi() {
  {
    const MutexLock lock(mutex_);
    is_stopping_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void UnservedMpi::Run(pid_t pid) {
  absl::Duration pause = absl::Seconds(1);
  for (int i = 0; i < kLooks; ++i) {
    {
      const MutexLock lock(mutex_);
      if (!is_stopping_) changed_.WaitFor(mutex_, pause);
      if (is_stopping_) return;
    }
    if (i > 0) pause *= 2;
    const std::string library = LoadedMpiLibrary(pid);
    if (library.empty()) continue;
    const char* family = FamilyOfLibrary(library) == MpiFamily::kPmix ? "pmix" : "pmi1";
    return Log(Severity::kWarning,
               absl::StrCat("process ", pid, " has loaded MPI (", Quoted(library, 64),
                            "), which could not be seen from the command. If it calls MPI_Init, each process runs "
                            "alone, as rank 0 of 1; start with --mpi ",
                            family, " on every node, or with --mpi none if it uses no MPI"));
  }
}

}  // namespace

std::unique_ptr<Gateway> MakeMpiGateway(MpiGatewayOptions options, JobStore& store, const Clock& clock) {
  return std::make_unique<MpiGateway>(std::move(options), store, clock);
}

std::unique_ptr<Gateway> MakeUnservedMpi() { return std::make_unique<UnservedMpi>(); }

}  // namespace muster::agent
