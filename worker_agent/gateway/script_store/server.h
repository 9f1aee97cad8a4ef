// The job's store at a port of this machine's loopback, for scripts of this user. What they ask stands in request.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/store/job_store.h"
#include "common/tcp_server/server.h"
#include "worker_agent/gateway/chassis/barriers/task_layout.h"

namespace muster::script_store {

class Server {
 public:
  // For one round of `slots` processes; see Operations. The error says what there was none of: a port, a descriptor, a
  // thread.
  static absl::StatusOr<std::unique_ptr<Server>> Start(uint32_t slots, JobStore& store, const Clock& clock,
                                                       const absl::StatusOr<agent::TaskLayout>& layout);
  // Closes all connections.
  ~Server();

  uint16_t port() const { return port_; }

  // Any thread: from now on every request, also one that waits, is answered by FAILED_PRECONDITION and `why`; empty:
  // all went well.
  void End(const std::string& why);

 private:
  class Protocol;
  explicit Server(std::unique_ptr<Protocol> protocol);

  std::unique_ptr<Protocol> protocol_;
  std::unique_ptr<TcpServer> server_;  // last: its thread uses the protocol
  uint16_t port_ = 0;
};

}  // namespace muster::script_store
