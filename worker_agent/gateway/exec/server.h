// Carries remote commands: from launch agents of this node (a local socket) to the agents of other nodes, and from
// other nodes' agents to this node's holder (program/holder.h). It passes bytes on, with a bounded buffer in each
// direction. It parses only the request and its answer.
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
#include "worker_agent/gateway/exec/command_reports.h"
#include "worker_agent/gateway/exec/round.h"

namespace muster::exec {

inline constexpr size_t kMaxAsked = 512;   // commands that this node has open on other nodes
inline constexpr size_t kMaxServed = 256;  // commands of other nodes that are open here
inline constexpr size_t kMaxConnections = 2 * (kMaxAsked + kMaxServed) + 64;
inline constexpr size_t kBufferBytes = 256 * 1024;  // of each connection, in each direction; more than kInputWindow

class ExecProtocol;

class ExecServer {
 public:
  // `tls` may be null: the connections then have no TLS. `clock` must outlive this.
  static absl::StatusOr<std::unique_ptr<ExecServer>> Start(std::shared_ptr<const TlsStore> tls, const Clock& clock,
                                                           size_t max_connections = kMaxConnections);
  ~ExecServer();

  // Any thread. Until a round begins, requests of other agents get kLater, and those of this node's processes are
  // refused.
  absl::StatusOr<uint16_t> Listen(uint16_t port);      // for other agents, at all addresses
  absl::Status ListenForOwn(const std::string& path);  // for processes of this user that know the round's token
  void BeginRound(Round round);
  void EndRound();  // breaks every connection
  // From now on the server's thread calls `sink` with each remote command that was run here for another node, and with
  // each that was refused. It does so as long as this object lives.
  void ReportTo(CommandSink sink);
  // Takes the agent's end of the socket pair to the holder, and closes the previous one.
  void SetHolder(UniqueFd control);
  // Returns a function that reports to the holder that the job's command has ended well. It may be called after this
  // object is gone.
  std::function<void()> HolderEnder() const;

 private:
  explicit ExecServer(std::unique_ptr<agent::TcpService<ExecProtocol>> service);

  const std::unique_ptr<agent::TcpService<ExecProtocol>> service_;
};

}  // namespace muster::exec
