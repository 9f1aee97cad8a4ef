// The store's side of all links: one session for each agent, with its clients. When a link is cut, its session waits
// for a while for the next connection. Only the server's thread may use these classes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/tcp_server/connection.h"
#include "worker_agent/gateway/torch_store/client.h"
#include "worker_agent/gateway/torch_store/relay/hello.h"
#include "worker_agent/gateway/torch_store/relay/mux.h"
#include "worker_agent/gateway/torch_store/relay/pipe.h"

namespace muster::torch_store {

// Returns why this link is not served; empty: it is. `client` has passed the server's own checks already.
using LinkCheck = std::function<std::string(const LinkHello& hello, const TcpClient& client)>;

struct LinksOptions {
  LinkCheck why_not;
  // Returns how many clients the processes of a node may open. Without a function: any number.
  std::function<size_t(const std::string& node)> places_of = nullptr;
  bool needs_tls = false;
  size_t max_clients = 65536;                   // including clients with a connection of their own
  absl::Duration patience = absl::Seconds(60);  // how long a session waits for its agent after its link was cut
};

class Session {
 public:
  // `places` is the number of clients that the session may have.
  Session(std::string secret, size_t places, const LinksOptions& options, Shared& shared, TcpServerContext& context);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const std::string& secret() const { return secret_; }
  ResumableStream& stream() { return mux_.stream(); }
  // Takes bytes from the link. After an error the caller must end the session.
  absl::Status Receive(std::string_view bytes);
  // Returns true if there is more to do.
  bool ServeClients();
  // Calls CheckTimes of each client. Returns true if there is more to do.
  bool CheckTimes();
  size_t input_bytes() const;
  // Returns how many sent bytes the agent has not acknowledged.
  size_t kept_bytes() const { return counted_kept_; }

  // The session's connection; 0: it has had none since `cut_at`.
  uint64_t link = 0;
  MonotonicTime cut_at;

 private:
  struct Virtual;
  void Open(uint32_t id);
  std::string WhyNoPlace() const;
  void TouchAll();
  void Touch(uint32_t id);
  bool CloseIfFinished(Virtual& client);
  void Count();

  const std::string secret_;
  const size_t places_;
  const LinksOptions& options_;
  Shared& shared_;
  TcpServerContext& context_;
  Mux mux_;
  absl::flat_hash_map<uint32_t, std::unique_ptr<Virtual>> clients_;
  std::vector<uint32_t> ready_;
  uint32_t first_without_room_ = 0;  // the first client that found the link full; 0: none since the link last had room
  bool is_serving_ = false;
  size_t counted_ = 0;       // the mux's share of context_.input_bytes
  size_t counted_kept_ = 0;  // the stream's share of shared_.output_bytes
};

class Links {
 public:
  Links(LinksOptions options, Shared& shared) : options_(std::move(options)), shared_(shared) {}

  const LinksOptions& options() const { return options_; }
  // Returns the session for this hello, which belongs to the connection `client` from now on. Returns null if the
  // session is no longer known, and an error if the link is refused.
  absl::StatusOr<std::shared_ptr<Session>> Attach(const LinkHello& hello, const TcpClient& client,
                                                  TcpServerContext& context);
  void End(const Session& session);
  // Ends sessions without a connection, those with the most incomplete input first, until the store has room for input
  // again.
  void FreeInput(TcpServerContext& context);
  // Ends sessions without a connection, those with the most unacknowledged bytes first, until there is room for
  // answers.
  void FreeKept(TcpServerContext& context);
  // Ends sessions that were without a connection for too long.
  void CheckTimes(TcpServerContext& context);
  void EndAll() { sessions_.clear(); }
  bool is_empty() const { return sessions_.empty(); }
  // A buffer for one read.
  std::vector<char>& scratch() { return shared_.scratch; }

 private:
  const LinksOptions options_;
  Shared& shared_;
  std::map<std::string, std::shared_ptr<Session>> sessions_;  // by node
};

// The store's end of a link's current connection.
class LinkEnd {
 public:
  LinkEnd(Stream& stream, const TcpClient& client, Links& links, TcpServerContext& context)
      : stream_(stream), client_(client), links_(links), context_(context), begun_at_(context.now) {}
  ~LinkEnd();
  LinkEnd(const LinkEnd&) = delete;
  LinkEnd& operator=(const LinkEnd&) = delete;

  // Returns true if there is more to do. On an error the connection is over; an empty message means a normal end.
  absl::StatusOr<bool> Serve();
  // Returns false if the connection is broken.
  bool Flush();
  // Returns why the connection must be closed; empty: it need not be.
  std::string CheckTimes();
  bool wants_write() const;
  bool has_session() const { return has_session_; }
  size_t input_bytes() const;
  // Ends the session and its clients.
  void EndSession();

 private:
  absl::Status Read();
  absl::Status Take(std::string_view bytes);
  absl::Status Greet(std::string_view& bytes);
  // Returns null if there is no session yet, if it is over, or if another connection has it.
  std::shared_ptr<Session> session() const;

  Stream& stream_;
  const TcpClient& client_;
  Links& links_;
  TcpServerContext& context_;
  const MonotonicTime begun_at_;
  std::string hello_;
  bool is_refused_ = false;  // true if the session is not known: the relay gets only this answer
  bool has_session_ = false;
  std::weak_ptr<Session> session_;
  LinkPipe pipe_;
};

}  // namespace muster::torch_store
