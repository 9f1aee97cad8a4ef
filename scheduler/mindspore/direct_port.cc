#include "scheduler/mindspore/direct_port.h"

#include <utility>

#include "common/log.h"

namespace muster::scheduler {
namespace {

constexpr size_t kSpareConnections = 512;  // beyond the two of each process

}  // namespace

absl::StatusOr<std::unique_ptr<DirectPort>> DirectPort::Open(const Options& options, const Clock& clock) {
  std::unique_ptr<DirectPort> port(new DirectPort(options.cluster, clock));
  mindspore::ServerOptions server;
  server.max_connections = 2 * (size_t{options.cluster.worker_num} + options.cluster.server_num) + kSpareConnections;
  server.tls = options.tls;
  server.plain_from = options.plain_from;
  absl::StatusOr<std::unique_ptr<mindspore::Server>> started =
      mindspore::Server::Start(std::move(server), *port, clock);
  if (!started.ok()) return started.status();
  port->server_ = *std::move(started);
  for (const IpAddress& address : options.addresses) {
    const absl::StatusOr<uint16_t> bound = port->server_->Listen(address, options.port, 0);
    if (!bound.ok()) return bound.status();
    Log(LogLevel::kInfo,
        "MindSpore processes without an agent may register at " + JoinHostPort(address.ToString(), *bound));
  }
  return port;
}

DirectPort::DirectPort(const DirectOptions& options, const Clock& clock)
    : clock_(clock), cluster_(options), store_(clock) {}

mindspore::Admission DirectPort::Register(const mindspore::Peer& peer, const mindspore::Registration& registration) {
  mindspore::Admission admission = cluster_.Register(peer, registration, clock_.Read().monotonic);
  SayNotes();
  return admission;
}

mindspore::LeaveResult DirectPort::Unregister(const mindspore::Peer& peer, const std::string& node_id) {
  const mindspore::LeaveResult result = cluster_.Unregister(peer, node_id);
  SayNotes();
  return result;
}

std::optional<mindspore::Health> DirectPort::Heartbeat(const mindspore::Peer& peer, const std::string& node_id) {
  return cluster_.Heartbeat(peer, node_id, clock_.Read().monotonic);
}

std::optional<std::vector<std::string>> DirectPort::HostNames(const mindspore::Peer&, const std::string& role) {
  return cluster_.HostNames(role);
}

std::optional<std::string> DirectPort::Published(const mindspore::Peer&, const std::string& key) {
  return cluster_.Published(key);
}

JobStore& DirectPort::Store(const mindspore::Peer&) {
  if (std::exchange(stored_generation_, cluster_.generation()) != cluster_.generation()) store_.BeginRound();
  return store_;
}

void DirectPort::ConnectionClosed(const mindspore::Peer& peer) {
  cluster_.ConnectionClosed(peer, clock_.Read().monotonic);
}

void DirectPort::Tick() {
  cluster_.Tick(clock_.Read().monotonic);
  store_.Tick();
  SayNotes();
}

void DirectPort::SayNotes() {
  for (const auto& [level, text] : cluster_.TakeNotes()) Log(level, text);
}

}  // namespace muster::scheduler
