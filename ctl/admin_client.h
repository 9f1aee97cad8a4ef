// ms-ctl's client for the scheduler's admin service. Every call blocks for at most the timeout.
//
// An error's message is for the user. It says what was tried, what came back, and what to check.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/tls/grpc/credentials.h"
#include "muster/v1/admin.pb.h"

namespace muster::ctl {

// ---- admin_socket.cc: decides whether a scheduler's Unix socket can be trusted. A socket has no certificate, so any
// process that can create one at the path can pretend to be the scheduler. Only the owners of the socket and of its
// folder show who created it.

struct AdminSocket {
  std::string path;
  // True if the user gave the path (--admin_socket, MS_ADMIN_SOCKET). False: the path follows from the port and the
  // user, so any process can compute it.
  bool is_named = false;
};

// Returns OK if only the expected users can have created the socket:
//
// - The socket and its folder (which must not be a symbolic link) belong to `self` or root. Only the folder's owner can
//   write to the folder, or it is sticky, as /tmp is.
// - A socket that the user named may belong to another user, for example to a service's user if root calls this. Then
//   only that user and root may be able to write to the folder; a sticky folder is not enough.
//
// kUnavailable: there is no socket. kUnauthenticated: there is one, but it can't be trusted; the message gives the
// reason and the remedy.
absl::Status CheckSocket(const AdminSocket& socket, uid_t self = geteuid());

// ---- admin_client.cc

// The Unix socket to use instead of the port if a scheduler on this machine does not answer at its port, for example
// because the port is flooded or a firewall blocks it.
struct SocketFallback {
  AdminSocket socket;                                  // ignored if it does not exist or is not trusted
  std::function<void(const std::string& why)> on_use;  // called once if it is used, with the reason why the port failed
};

class AdminClient {
 public:
  // Returns a client that asks over TCP. Resolves the host's name now, but connects only at the first call, which tries
  // the addresses in turn. If no address answers within half of the timeout and the host is this machine, a call uses
  // the other half for `fallback`. With TLS in `security`, it uses mutual TLS; the scheduler's certificate must be for
  // the host and, unless `job` is empty, for this job. Each call uses the certificates that the TLS store has at that
  // time. PERMISSION_DENIED: --require_tls forbids plain text to these addresses.
  static absl::StatusOr<std::unique_ptr<AdminClient>> OverTcp(const std::string& host, uint16_t port,
                                                              absl::Duration timeout, Security security = {},
                                                              SocketFallback fallback = {}, std::string job = "");
  // Returns a client that asks over the scheduler's Unix socket, which also accepts calls that change a job. Returns
  // the errors of CheckSocket.
  static absl::StatusOr<std::unique_ptr<AdminClient>> OverSocket(const AdminSocket& socket, absl::Duration timeout);

  ~AdminClient();
  AdminClient(const AdminClient&) = delete;
  AdminClient& operator=(const AdminClient&) = delete;

  // The calls. kUnavailable: the scheduler could not be reached. kUnauthenticated: the scheduler is not trusted, or it
  // rejects our certificate. Any other error comes from the scheduler.
  absl::StatusOr<v1::StatusReply> GetStatus(const std::string& job_id, uint64_t run);
  // ListNodes, ListHosts, ListRanks and ListEvents ask for one page after the other, and return all of them together.
  absl::StatusOr<v1::NodesReply> ListNodes(const std::string& job_id, uint64_t run);
  // As ListNodes, with the results of the hosts' checks (--preflight host).
  absl::StatusOr<v1::NodesReply> ListHosts(const std::string& job_id, uint64_t run);
  absl::StatusOr<v1::RanksReply> ListRanks(const std::string& job_id, uint64_t run);
  // Returns all events with a number above `after`.
  absl::StatusOr<v1::EventsReply> ListEvents(const std::string& job_id, uint64_t after);
  absl::StatusOr<v1::StopReply> StopRun(const v1::StopRequest& request);
  absl::StatusOr<v1::SteerReply> SteerRun(const v1::SteerRequest& request);
  absl::StatusOr<v1::CountersReply> GetCounters();
  // Returns the nodes that the run waits for.
  absl::StatusOr<v1::NodesReply> ListMissing(const std::string& job_id, uint64_t run);
  // Takes up to 10 s, because the scheduler asks the node's agent.
  absl::StatusOr<v1::LogsReply> GetLogs(const v1::LogsRequest& request);
  // Takes up to 10 s, because the agents inspect their processes.
  absl::StatusOr<v1::StacksReply> GetStacks(const v1::StacksRequest& request);

 private:
  class Impl;
  explicit AdminClient(std::unique_ptr<Impl> impl);
  absl::StatusOr<v1::NodesReply> ListNodePages(const std::string& job_id, uint64_t run, bool with_hosts);

  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::ctl
