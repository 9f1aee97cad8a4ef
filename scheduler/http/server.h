// The scheduler's HTTP port. It runs in one thread, on the TCP server of common/tcp_server.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "common/net/ip_address.h"
#include "common/tcp_server/server.h"
#include "scheduler/http/access.h"
#include "scheduler/http/site.h"

namespace muster::http {

class Server {
 public:
  struct Options {
    std::set<std::string> names;  // host names of this server; see HostRule
    Tokens tokens;
    size_t max_connections = 256;
    std::shared_ptr<const TlsStore> tls;  // null: without TLS
    std::shared_ptr<CountedLog> counted;
  };

  // Starts the server's thread. Everything that `context` refers to must outlive the server.
  static absl::StatusOr<std::unique_ptr<Server>> Start(Options options, SiteContext context);
  // Closes all connections.
  ~Server();

  // Accepts clients on this address; port 0: any free port. Returns the port. Any thread may call it. See TcpServer.
  absl::StatusOr<uint16_t> Listen(const IpAddress& address, uint16_t port);

 private:
  class Protocol;
  Server();

  std::unique_ptr<Protocol> protocol_;
  std::unique_ptr<TcpServer> server_;  // declared last, because its thread uses protocol_
};

}  // namespace muster::http
