#include "worker_agent/gateway/exec/gateway.h"

#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/os_error.h"
#include "common/sys/file_io.h"
#include "common/sys/log.h"
#include "worker_agent/gateway/exec/program/holder.h"
#include "worker_agent/launch_error/launch_error.h"

namespace muster::agent {
namespace {

constexpr size_t kSecretBytes = 16;

std::string RandomBytes() {
  std::string bytes(kSecretBytes, '\0');
  MUSTER_CHECK(getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
               "random numbers can be had");
  return bytes;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ExecGateway>> ExecGateway::Open(ExecOptions options, uint16_t port, const Clock& clock) {
  if (::access(options.program.c_str(), X_OK) != 0) {
    return absl::NotFoundError(
        absl::StrCat("allow_exec: ", options.program, " is not there: install it beside ms-worker"));
  }
  std::unique_ptr<ExecGateway> made(new ExecGateway(std::move(options), clock));
  made->key_ = RandomBytes();
  if (absl::Status files = made->MakeFiles(); !files.ok()) return files;
  absl::StatusOr<std::unique_ptr<exec::ExecServer>> server = exec::ExecServer::Start(made->options_.tls, clock);
  if (!server.ok()) return server.status();
  made->server_ = *std::move(server);
  const absl::StatusOr<uint16_t> listens = made->server_->Listen(port);
  if (!listens.ok()) return listens.status();
  made->port_ = *listens;
  if (absl::Status local = made->server_->ListenForOwn(made->Path("exec")); !local.ok()) return local;
  return made;
}

// Daemons of launchers start daemons of their own, by the name that the first one was given: the folder has another
// path on each node, so it is PATH that finds it.
absl::Status ExecGateway::MakeFiles() {
  const std::string folder = Path("launch-agent");
  bool is_made = ::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST;
  for (const char* name : {"/ssh", "/ms-exec"}) {
    is_made = is_made && (::symlink(options_.program.c_str(), (folder + name).c_str()) == 0 || errno == EEXIST);
  }
  return is_made ? absl::OkStatus() : Advised(LaunchStep::kWorkFile, FileError(folder, errno));
}

absl::Status ExecGateway::WriteHostFiles() const {
  absl::Status written = ReplaceFile(Path("hosts"), HostFileText(*round_, " slots="), 0644);
  written.Update(ReplaceFile(Path("hosts-hydra"), HostFileText(*round_, ":"), 0644));
  return written;
}

absl::Status ExecGateway::Begin(const GatewayRound& round) {
  if (round_ && round_->run == round.run && round_->round == round.round) return absl::OkStatus();
  round_.reset();
  end_.reset();
  if (round.peers == nullptr) return absl::InternalError("allow_exec: the round's peer list is not known");
  absl::StatusOr<exec::Round> made =
      exec::RoundOf(*round.peers, round.node_id, absl::BytesToHexString(RandomBytes() + RandomBytes()));
  if (!made.ok()) return made.status();
  round_ = *std::move(made);
  if (absl::Status written = WriteHostFiles(); !written.ok()) return written;
  server_->BeginRound(*round_);
  end_.emplace(*store_, clock_, "exec/end", static_cast<uint32_t>(round_->own),
               static_cast<uint32_t>(round_->peers.size()));
  if (round_->is_first()) return absl::OkStatus();
  end_->Start("", absl::InfiniteDuration(), [ender = server_->HolderEnder()](const auto& blobs) {
    if (blobs.ok()) ender();
  });
  return absl::OkStatus();
}

void ExecGateway::AddTo(EnvironmentInput& input) const {
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

HandOver ExecGateway::HandOverOf(uint32_t /*slot*/) {
  if (!round_ || round_->is_first()) return {};
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
    return {exec::kHolderVariable, nullptr};
  }
  server_->SetHolder(UniqueFd(pair[0]));
  return {exec::kHolderVariable, std::make_shared<const UniqueFd>(pair[1])};
}

// The others wait for it, with what serves them: the run succeeds once they have ended as well.
void ExecGateway::Judge(const ProcessKey& /*key*/, ProcessEnd& end) {
  if (!round_ || !round_->is_first() || !end.IsSuccess() || !end_) return;
  end_->Start("", absl::InfiniteDuration(), [](const auto& blobs) {
    // (The others may have heard it, and the round be over, before the answer is here.)
    if (!blobs.ok() && !absl::IsFailedPrecondition(blobs.status())) {
      Log(Severity::kWarning,
          absl::StrCat("the other nodes can't be told that the command has ended: ", blobs.status().message()));
    }
  });
  end_.reset();
}

void ExecGateway::Over(uint64_t /*run*/, uint32_t /*round*/) {
  end_.reset();
  server_->EndRound();
}

}  // namespace muster::agent
