#include "scheduler/mindspore/direct_port.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/sys/log.h"
#include "scheduler/ingress/port_holder.h"

namespace muster::scheduler {
namespace {

// Each process of the cluster needs two connections. The port accepts this many more connections: in all, and from one
// address. (All processes may be on one machine, so the processes' own connections are added to both limits.)
constexpr size_t kSpareConnections = 512;
constexpr size_t kSpareOfEachAddress = 256;

}  // namespace

absl::StatusOr<std::unique_ptr<DirectPort>> DirectPort::Open(const Options& options, const Clock& clock) {
  std::unique_ptr<DirectPort> port(new DirectPort(options, clock));
  const size_t needed = 2 * (size_t{options.cluster.worker_num} + options.cluster.server_num);
  TcpServerOptions server;
  server.max_connections = needed + kSpareConnections;
  server.max_of_each_client = needed + kSpareOfEachAddress;
  server.counted = port->counted_;
  server.tls = options.tls;
  server.plain_from = options.plain_from;
  absl::StatusOr<std::unique_ptr<mindspore::Server>> started =
      mindspore::Server::Start(std::move(server), *port, clock);
  if (!started.ok()) return started.status();
  port->server_ = *std::move(started);
  std::vector<std::string> names;
  const absl::StatusOr<uint16_t> listens =
      ListenAsPlanned(options.plan, options.port, [&](const IpAddress& address, uint16_t wanted) {
        absl::StatusOr<uint16_t> bound = port->server_->Listen(address, wanted, 0);
        if (bound.ok()) names.push_back(JoinHostPort(address.ToString(), *bound));
        return bound;
      });
  if (!listens.ok()) {
    const std::string holder = absl::IsAlreadyExists(listens.status()) ? DescribePortHolder(options.port) : "";
    return absl::Status(listens.status().code(),
                        absl::StrCat(std::string(listens.status().message()),
                                     holder.empty() ? "" : absl::StrCat(" (held by ", holder, ")"),
                                     "; free that port, or choose another one with --mindspore_port here and "
                                     "MS_SCHED_PORT for the processes"));
  }
  for (const std::string& name : names) {
    Log(Severity::kInfo, absl::StrCat("MindSpore processes without an agent may register at ", name));
  }
  return port;
}

DirectPort::DirectPort(const Options& options, const Clock& clock)
    : clock_(clock), counted_(options.counted), on_end_(options.on_end), cluster_(options.cluster), store_(clock) {}

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

bool DirectPort::ServesMetadata(const mindspore::Peer& peer, mindspore::MetadataUse use, const std::string& key) {
  const bool serves = cluster_.ServesMetadata(peer, use, key);
  if (!serves) SayNotes();
  return serves;
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
  for (const DirectNote& note : cluster_.TakeNotes()) {
    if (note.kind.empty()) {
      Log(note.level, note.text);
    } else {
      counted_->Note(note.level, note.kind, note.text);
    }
  }
  const std::optional<DirectEnd> end = cluster_.TakeEnd();
  if (end && on_end_) on_end_(*end);
}

}  // namespace muster::scheduler
