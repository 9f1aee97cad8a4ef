#include "worker_agent/gateway/exec/gateway.h"

#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/os_error.h"
#include "common/store/job_store.h"
#include "common/sys/file_io.h"
#include "common/sys/log.h"
#include "worker_agent/gateway/chassis/allgather.h"
#include "worker_agent/gateway/chassis/gateway.h"
#include "worker_agent/gateway/exec/program/holder.h"
#include "worker_agent/gateway/exec/server.h"
#include "worker_agent/launch_error/launch_error.h"

namespace muster::exec {
namespace {

constexpr size_t kSecretBytes = 16;

std::string RandomBytes() {
  std::string bytes(kSecretBytes, '\0');
  MUSTER_CHECK(getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
               "the kernel gives random numbers");
  return bytes;
}

class ExecGateway final : public agent::Gateway {
 public:
  static absl::StatusOr<std::unique_ptr<agent::Gateway>> Open(Options options, JobStore& store, const Clock& clock);

  absl::Status Begin(const agent::GatewayRound& round) override;
  void AddTo(agent::EnvironmentInput& input) const override;
  agent::HandOver HandOverOf(uint32_t slot) override;
  void Judge(const agent::ProcessKey& key, agent::ProcessEnd& end) override;
  void Over(uint64_t run, uint32_t round) override;

 private:
  ExecGateway(Options options, JobStore& store, const Clock& clock)
      : options_(std::move(options)), store_(store), clock_(clock) {}
  absl::Status MakeFiles();
  absl::Status WriteHostFiles() const;
  std::string Path(const std::string& name) const { return options_.work_folder + "/" + name; }

  const Options options_;
  JobStore& store_;
  const Clock& clock_;
  std::optional<Round> round_;
  std::optional<agent::Allgather> end_;  // through it the first node reports that the job's command has ended well
  std::unique_ptr<ExecServer> server_;
};

absl::StatusOr<std::unique_ptr<agent::Gateway>> ExecGateway::Open(Options options, JobStore& store,
                                                                  const Clock& clock) {
  if (::access(options.program.c_str(), X_OK) != 0) {
    return absl::NotFoundError(
        absl::StrCat("allow_exec: ", options.program, " is not there: install it beside ms-worker"));
  }
  std::unique_ptr<ExecGateway> made(new ExecGateway(std::move(options), store, clock));
  if (absl::Status files = made->MakeFiles(); !files.ok()) return files;
  absl::StatusOr<std::unique_ptr<ExecServer>> server = ExecServer::Start(made->options_.tls, clock);
  if (!server.ok()) return server.status();
  made->server_ = *std::move(server);
  const absl::StatusOr<uint16_t> listens = made->server_->Listen(made->options_.port);
  if (!listens.ok()) return listens.status();
  if (absl::Status local = made->server_->ListenForOwn(made->Path("exec")); !local.ok()) return local;
  made->server_->ReportTo(made->options_.report_commands);
  return made;
}

// Makes the folder with the launch agent, under the names ssh and ms-exec. A launcher's daemon, itself on another
// node, starts more daemons through the launch agent whose name the launcher was given. A path would be wrong there,
// because the folder has a different path on each node. So the launcher gets a bare name, which is found in PATH.
absl::Status ExecGateway::MakeFiles() {
  const std::string folder = Path("launch-agent");
  bool is_made = ::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST;
  for (const char* name : {"/ssh", "/ms-exec"}) {
    is_made = is_made && (::symlink(options_.program.c_str(), (folder + name).c_str()) == 0 || errno == EEXIST);
  }
  return is_made ? absl::OkStatus() : agent::Advised(agent::LaunchStep::kWorkFile, FileError(folder, errno));
}

absl::Status ExecGateway::WriteHostFiles() const {
  absl::Status written = ReplaceFile(Path("hosts"), HostFileText(*round_, " slots="), 0644);
  written.Update(ReplaceFile(Path("hosts-hydra"), HostFileText(*round_, ":"), 0644));
  return written;
}

absl::Status ExecGateway::Begin(const agent::GatewayRound& round) {
  if (round_ && round_->run == round.run && round_->round == round.round) return absl::OkStatus();
  round_.reset();
  end_.reset();
  if (round.peers == nullptr) return absl::InternalError("allow_exec: the round's peer list is not known");
  absl::StatusOr<Round> made =
      RoundOf(*round.peers, round.node_id, absl::BytesToHexString(RandomBytes() + RandomBytes()));
  if (!made.ok()) return made.status();
  round_ = *std::move(made);
  if (absl::Status written = WriteHostFiles(); !written.ok()) return written;
  server_->BeginRound(*round_);
  end_.emplace(store_, clock_, "exec/end", static_cast<uint32_t>(round_->own),
               static_cast<uint32_t>(round_->peers.size()));
  if (round_->is_first()) return absl::OkStatus();
  end_->Start("", absl::InfiniteDuration(), [ender = server_->HolderEnder()](const auto& blobs) {
    if (blobs.ok()) ender();
  });
  return absl::OkStatus();
}

void ExecGateway::AddTo(agent::EnvironmentInput& input) const {
  input.launch_agent_folder = Path("launch-agent");
  input.serves_commands = !round_->is_first();
  input.exec_variables = {{"MUSTER_EXEC_SOCKET", Path("exec")},
                          {"MUSTER_EXEC_TOKEN", round_->token},
                          {"OMPI_MCA_plm", "rsh"},
                          {"OMPI_MCA_plm_rsh_agent", "ms-exec"},
                          {"PRTE_MCA_plm", "ssh"},
                          {"PRTE_MCA_plm_ssh_agent", "ms-exec"},
                          {"HYDRA_RMK", "user"},
                          {"HYDRA_LAUNCHER", "ssh"},
                          {"HYDRA_LAUNCHER_EXEC", Path("launch-agent/ms-exec")}};
  input.exec_defaults = {{"OMPI_MCA_orte_default_hostfile", Path("hosts")},
                         {"PRTE_MCA_prte_default_hostfile", Path("hosts")},
                         {"HYDRA_HOST_FILE", Path("hosts-hydra")}};
}

agent::HandOver ExecGateway::HandOverOf(uint32_t /*slot*/) {
  if (!round_ || round_->is_first()) return {};
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
    return {kHolderVariable, nullptr};
  }
  server_->SetHolder(UniqueFd(pair[0]));
  return {kHolderVariable, std::make_shared<const UniqueFd>(pair[1])};
}

// On the first node, reports to the other nodes that the job's command has ended well. Their holders wait for this, and
// then end too. The run succeeds when they have ended.
void ExecGateway::Judge(const agent::ProcessKey& /*key*/, agent::ProcessEnd& end) {
  if (!round_ || !round_->is_first() || !end.IsSuccess() || !end_) return;
  end_->Start("", absl::InfiniteDuration(), [](const auto& blobs) {
    // FAILED_PRECONDITION is no failure: the others may have read the report, and the round may be over, before the
    // answer is here.
    if (!blobs.ok() && !absl::IsFailedPrecondition(blobs.status())) {
      Log(Severity::kWarning,
          absl::StrCat("can't report to the other nodes that the command has ended: ", blobs.status().message()));
    }
  });
  end_.reset();
}

void ExecGateway::Over(uint64_t /*run*/, uint32_t /*round*/) {
  end_.reset();
  server_->EndRound();
}

}  // namespace

absl::StatusOr<std::unique_ptr<agent::Gateway>> MakeGateway(Options options, JobStore& store, const Clock& clock) {
  return ExecGateway::Open(std::move(options), store, clock);
}

}  // namespace muster::exec
