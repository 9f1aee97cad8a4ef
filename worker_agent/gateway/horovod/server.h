// Horovod's rendezvous server at ports of this machine's loopback, one for each slot: which one is asked tells whose
// process asks. Only processes of ms-worker's user and of root are served.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/store/job_store.h"
#include "common/tcp_server/server.h"

namespace muster::horovod {

class Server {
 public:
  // `store` and `clock` must outlive this and all that it has asked the store.
  static absl::StatusOr<std::unique_ptr<Server>> Start(uint32_t slots, JobStore& store, const Clock& clock);
  // Closes all connections.
  ~Server();

  absl::StatusOr<uint16_t> Listen(uint32_t slot);

 private:
  explicit Server(std::unique_ptr<TcpProtocol> protocol);

  std::unique_ptr<TcpProtocol> protocol_;
  std::unique_ptr<TcpServer> server_;  // last: its thread uses the protocol
};

}  // namespace muster::horovod
