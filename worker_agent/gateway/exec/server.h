// Carries remote commands: from launch agents of this node (a local socket) to the agents of other nodes, and from
// those to this node's holder (program/holder.h). It passes on bytes, with a bounded buffer in each direction, and
// reads none of them but the request and its answer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/base/unique_fd.h"
#include "common/tls/tls_store.h"
#include "worker_agent/gateway/chassis/tcp_service.h"
#include "worker_agent/gateway/exec/round.h"
#include "worker_agent/gateway/exec/told_commands.h"

namespace muster::exec {

inline constexpr size_t kMaxAsked = 512;   // commands elsewhere that this node has open
inline constexpr size_t kMaxServed = 256;  // commands of others that are open here
inline constexpr size_t kMaxConnections = 2 * (kMaxAsked + kMaxServed) + 64;
inline constexpr size_t kBufferBytes = 256 * 1024;  // of each, in each direction; above kInputWindow

class Hub;

class ExecServer {
 public:
  // `tls` null: without. `clock` must outlive this.
  static absl::StatusOr<std::unique_ptr<ExecServer>> Start(std::shared_ptr<const TlsStore> tls, const Clock& clock,
                                                           size_t max_connections = kMaxConnections);
  ~ExecServer();

  // Any thread. Until a round begins those who ask are told to come later.
  absl::StatusOr<uint16_t> Listen(uint16_t port);      // for other agents, at all addresses
  absl::Status ListenForOwn(const std::string& path);  // for processes of this user that know the round's token
  void BeginRound(Round round);
  void EndRound();  // breaks every connection
  // Called by the server's thread, as long as this lives: what was run here for others, and what was refused.
  void TellTo(Teller teller);
  // This end of the holder's socket pair; the one before is closed.
  void SetHolder(UniqueFd control);
  // What tells the holder that the job's command has ended well; may be called after this has gone.
  std::function<void()> HolderEnder() const;

 private:
  explicit ExecServer(std::unique_ptr<agent::TcpService<Hub>> service);

  const std::unique_ptr<agent::TcpService<Hub>> service_;
};

}  // namespace muster::exec
