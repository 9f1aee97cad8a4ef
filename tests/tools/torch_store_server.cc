// PyTorch's store alone, on loopback: for each line on stdin a new, empty store replaces the one before, and its port
// is printed. It also serves agents' links. With an argument it starts so many relays instead: each line is the port of
// their store, and their ports are printed on one line. For tests/e2e/torch_store and bench.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/sys/log.h"
#include "worker_agent/gateway/torch_store/server.h"

namespace {

using namespace muster;

int ServeStores() {
  std::unique_ptr<torch_store::Service> server;
  std::string line;
  while (std::getline(std::cin, line)) {
    server.reset();
    TcpServerOptions options;
    options.max_connections = 100'000;
    torch_store::LinksOptions links;
    links.why_not = [](const torch_store::LinkHello&, const TcpClient&) { return std::string(); };
    auto started =
        torch_store::StartServer(std::move(options), torch_store::Limits(), Clock::System(), std::move(links));
    if (!started.ok()) return 1;
    server = *std::move(started);
    const absl::StatusOr<uint16_t> port = server->ListenOnLoopback(0);
    if (!port.ok()) return 1;
    std::cout << *port << std::endl;
  }
  return 0;
}

int ServeRelays(int count) {
  std::vector<std::unique_ptr<torch_store::Service>> relays;
  std::string line;
  while (std::getline(std::cin, line)) {
    relays.clear();
    for (int i = 0; i < count; ++i) {
      torch_store::RelayOptions options;
      options.store.port = static_cast<uint16_t>(std::atoi(line.c_str()));
      options.hello.node = absl::StrCat("node-", i);
      auto started = torch_store::StartRelay(std::move(options), Clock::System());
      if (!started.ok()) return 1;
      const absl::StatusOr<uint16_t> port = (*started)->ListenOnLoopback(0);
      if (!port.ok()) return 1;
      std::cout << *port << ' ';
      relays.push_back(*std::move(started));
    }
    std::cout << std::endl;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (!InitLogging({"torch_store_server", "text", "error", ""}).ok()) return 2;
  return argc > 1 ? ServeRelays(std::atoi(argv[1])) : ServeStores();
}
