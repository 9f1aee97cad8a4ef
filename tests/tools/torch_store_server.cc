// PyTorch's store alone, on loopback: for each line on stdin a new, empty one takes the place of the one before, and
// its port is printed. For tests/e2e/torch_store and bench.
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "common/base/clock.h"
#include "common/sys/log.h"
#include "worker_agent/gateway/torch_store/server.h"

int main() {
  using namespace muster;
  if (!InitLogging({"torch_store_server", "text", "error", ""}).ok()) return 2;
  std::unique_ptr<torch_store::Server> server;
  std::string line;
  while (std::getline(std::cin, line)) {
    server.reset();
    TcpServerOptions options;
    options.max_connections = 100'000;
    auto started = torch_store::Server::Start(std::move(options), torch_store::Limits(), Clock::System());
    if (!started.ok()) return 1;
    server = *std::move(started);
    const absl::StatusOr<uint16_t> port = server->Listen(*IpAddress::Parse("127.0.0.1"), 0);
    if (!port.ok()) return 1;
    std::cout << *port << std::endl;
  }
  return 0;
}
