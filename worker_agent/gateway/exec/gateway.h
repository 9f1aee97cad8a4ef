// Remote commands for launchers that start a job's ranks themselves (--per_job --allow_exec -- mpirun …): the command
// runs on the first node, and this is what its launch agent, found as ssh and by Open MPI's, PRRTE's and Hydra's own
// words, reaches the other nodes through.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "common/store/job_store.h"
#include "worker_agent/gateway/chassis/allgather.h"
#include "worker_agent/gateway/chassis/gateway.h"
#include "worker_agent/gateway/exec/server.h"

namespace muster::agent {

struct ExecOptions {
  std::string program;      // ms-exec
  std::string work_folder;  // of the agent
  std::shared_ptr<const TlsStore> tls;
};

class ExecGateway final : public Gateway {
 public:
  // Listens already, so that the port can be told at the join; serves nobody yet. `clock` must outlive this.
  static absl::StatusOr<std::unique_ptr<ExecGateway>> Open(ExecOptions options, uint16_t port, const Clock& clock);

  uint16_t port() const { return port_; }
  // What the other agents of the round show: 16 random bytes.
  const std::string& key() const { return key_; }
  // Before the first Begin.
  void UseStore(JobStore& store) { store_ = &store; }
  // `teller` is called by a thread of this, as long as this lives.
  void TellTo(exec::Teller teller) { server_->TellTo(std::move(teller)); }

  absl::Status Begin(const GatewayRound& round) override;
  void AddTo(EnvironmentInput& input) const override;
  HandOver HandOverOf(uint32_t slot) override;
  void Judge(const ProcessKey& key, ProcessEnd& end) override;
  void Over(uint64_t run, uint32_t round) override;
  std::string Without() const override { return "launchers start nothing on other nodes"; }

 private:
  ExecGateway(ExecOptions options, const Clock& clock) : options_(std::move(options)), clock_(clock) {}
  absl::Status MakeFiles();
  absl::Status WriteHostFiles() const;
  std::string Path(const std::string& name) const { return options_.work_folder + "/" + name; }

  const ExecOptions options_;
  const Clock& clock_;
  JobStore* store_ = nullptr;
  std::string key_;
  uint16_t port_ = 0;
  std::optional<exec::Round> round_;
  std::optional<Allgather> end_;  // in which the first node says that the job's command has ended well
  std::unique_ptr<exec::ExecServer> server_;
};

}  // namespace muster::agent
