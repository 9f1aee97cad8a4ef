// ms-ctl's client of the scheduler's admin service. Every call blocks for at most the timeout.
//
// An error's message is for the user: what was tried, what came back, what to check.
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

// ---- admin_socket.cc: decides whether a scheduler's Unix socket can be trusted. A socket has no certificate, and any
// process that can create one at its path can answer for the scheduler. Only the owners of the socket and of its folder
// show whose it is.

struct AdminSocket {
  std::string path;
  // True if the user gave the path (--admin_socket, MS_ADMIN_SOCKET). Else it follows from the port and the user, so
  // that anyone can guess it.
  bool is_named = false;
};

// OK: only `self`, root and, if the path was named, the socket's owner can have put it there. That is, `self` or root
// owns the socket and its folder (not a symbolic link), and only the folder's owner can write to it, or it is sticky as
// /tmp is. A named socket may be another user's, for instance when root names a service's. Then no one except that user
// and root may be able to write to the folder, sticky or not.
//
// kUnavailable: there is no socket. kUnauthenticated: there is one that can't be trusted; the message gives the reason
// and the remedy.
absl::Status CheckSocket(const AdminSocket& socket, uid_t self = geteuid());

// ---- admin_client.cc

// The way to a scheduler on this machine when its port is flooded or filtered.
struct SocketFallback {
  AdminSocket socket;                                  // a socket that does not exist or is not trusted is not used
  std::function<void(const std::string& why)> on_use;  // called once, with the reason why the port failed
};

class AdminClient {
 public:
  // Resolves the name for each client and tries its addresses in turn. Sends nothing yet. Uses mutual TLS if `security`
  // has it. If no address answers within half of the timeout and the host is this machine, the fallback gets the other
  // half. With TLS the scheduler's certificate must be for the host and, unless `job` is empty, for that job. Each call
  // uses what the TLS store serves by then. PERMISSION_DENIED: plain text to these addresses is forbidden.
  static absl::StatusOr<std::unique_ptr<AdminClient>> OverTcp(const std::string& host, uint16_t port,
                                                              absl::Duration timeout, Security security = {},
                                                              SocketFallback fallback = {}, std::string job = "");
  // Opens the scheduler's Unix socket, which takes changing calls. Errors as those of CheckSocket.
  static absl::StatusOr<std::unique_ptr<AdminClient>> OverSocket(const AdminSocket& socket, absl::Duration timeout);

  ~AdminClient();
  AdminClient(const AdminClient&) = delete;
  AdminClient& operator=(const AdminClient&) = delete;

  // kUnavailable: the scheduler could not be reached. kUnauthenticated: it is not trusted, or rejects our certificate.
  // Any other error is the scheduler's own.
  absl::StatusOr<v1::StatusReply> GetStatus(const std::string& job_id, uint64_t run);
  // Nodes and ranks come in pages; these return all of them.
  absl::StatusOr<v1::NodesReply> ListNodes(const std::string& job_id, uint64_t run);
  // Includes the results of the hosts' checks (--preflight host).
  absl::StatusOr<v1::NodesReply> ListHosts(const std::string& job_id, uint64_t run);
  absl::StatusOr<v1::RanksReply> ListRanks(const std::string& job_id, uint64_t run);
  // Returns all events after that number, however many there are.
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
