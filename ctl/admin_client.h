// The scheduler's admin service, as ms-ctl calls it. Every call blocks for at most the timeout.
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

// ---- admin_socket.cc: whether a scheduler's Unix socket may be trusted. A socket has no certificate: who can put one
// at its path can answer for the scheduler, so the owner of the socket and of its folder is all that tells whose it is.

struct AdminSocket {
  std::string path;
  // The user gave the path (--admin_socket, MS_ADMIN_SOCKET); else it follows from the port and the user, and everybody
  // knows it.
  bool is_named = false;
};

// OK: nobody but `self`, root and, where it is named, the socket's own owner can have put it there. So the socket and
// its folder (no symbolic link) are owned by `self` or root, and the folder is writable by its owner alone, or sticky
// as /tmp is. A named socket may be another user's, as root says it to a service: then nobody but that user or root may
// be able to write to the folder, sticky or not.
//
// kUnavailable: there is no socket. kUnauthenticated: there is one that can't be trusted; the message says why, and
// what to do.
absl::Status CheckSocket(const AdminSocket& socket, uid_t self = geteuid());

// ---- admin_client.cc

// The way to a scheduler on this machine when its port is flooded or filtered.
struct SocketFallback {
  AdminSocket socket;                                  // one that is not there, or not trusted, is no way
  std::function<void(const std::string& why)> on_use;  // told once, why the port would not do
};

class AdminClient {
 public:
  // Looks the name up anew for each client and tries each of its addresses in turn. Nothing is sent yet. Over mutual
  // TLS when `security` has it. When none answers within half of the timeout and the host is this machine, the rest of
  // it is the fallback's. With TLS the scheduler's certificate must be for the host and, unless `job` is empty, for
  // that job. What the TLS store serves is followed from call to call. PERMISSION_DENIED: plain text to these addresses
  // is forbidden.
  static absl::StatusOr<std::unique_ptr<AdminClient>> OverTcp(const std::string& host, uint16_t port,
                                                              absl::Duration timeout, Security security = {},
                                                              SocketFallback fallback = {}, std::string job = "");
  // The scheduler's Unix socket, which takes changing calls. Errors as those of CheckSocket.
  static absl::StatusOr<std::unique_ptr<AdminClient>> OverSocket(const AdminSocket& socket, absl::Duration timeout);

  ~AdminClient();
  AdminClient(const AdminClient&) = delete;
  AdminClient& operator=(const AdminClient&) = delete;

  // kUnavailable: the scheduler could not be reached. kUnauthenticated: it is not trusted, or does not take our
  // certificate. Otherwise its own words.
  absl::StatusOr<v1::StatusReply> GetStatus(const std::string& job_id, uint64_t run);
  // Nodes and ranks come in pages; these gather all of them.
  absl::StatusOr<v1::NodesReply> ListNodes(const std::string& job_id, uint64_t run);
  // With what the checks of their hosts came to (--preflight host).
  absl::StatusOr<v1::NodesReply> ListHosts(const std::string& job_id, uint64_t run);
  absl::StatusOr<v1::RanksReply> ListRanks(const std::string& job_id, uint64_t run);
  // All events after that number, however many there are.
  absl::StatusOr<v1::EventsReply> ListEvents(const std::string& job_id, uint64_t after);
  absl::StatusOr<v1::StopReply> StopRun(const v1::StopRequest& request);
  absl::StatusOr<v1::SteerReply> SteerRun(const v1::SteerRequest& request);
  absl::StatusOr<v1::CountersReply> GetCounters();
  // The nodes that the run waits for.
  absl::StatusOr<v1::NodesReply> ListMissing(const std::string& job_id, uint64_t run);
  // Takes up to 10 s: its agent is asked.
  absl::StatusOr<v1::LogsReply> GetLogs(const v1::LogsRequest& request);
  // Takes up to 10 s: the agents look at their processes.
  absl::StatusOr<v1::StacksReply> GetStacks(const v1::StacksRequest& request);

 private:
  class Impl;
  explicit AdminClient(std::unique_ptr<Impl> impl);
  absl::StatusOr<v1::NodesReply> ListNodePages(const std::string& job_id, uint64_t run, bool with_hosts);

  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::ctl
