// The store's end of the connection of one link, of this moment. Of the server's thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/tcp_server/connection.h"
#include "worker_agent/gateway/torch_store/relay/links.h"
#include "worker_agent/gateway/torch_store/relay/pipe.h"

namespace muster::torch_store {

class LinkEnd {
 public:
  LinkEnd(Stream& stream, const TcpClient& client, Links& links, TcpServerContext& context)
      : stream_(stream), client_(client), links_(links), context_(context), begun_at_(context.now) {}
  ~LinkEnd();
  LinkEnd(const LinkEnd&) = delete;
  LinkEnd& operator=(const LinkEnd&) = delete;

  // True when there is more to do. An error: the connection is over; its message is empty where it simply ended.
  absl::StatusOr<bool> Serve();
  // False: the connection is broken.
  bool Flush();
  // Why it is to be closed; empty: it is not.
  std::string CheckTimes();
  bool wants_write() const;
  bool has_session() const { return has_session_; }
  size_t input_bytes() const;
  // Its clients are gone with it.
  void EndSession();

 private:
  absl::Status Read();
  absl::Status Take(std::string_view bytes);
  absl::Status Greet(std::string_view& bytes);
  // Null: none yet, or it is over, or another connection has it.
  std::shared_ptr<Session> session() const;

  Stream& stream_;
  const TcpClient& client_;
  Links& links_;
  TcpServerContext& context_;
  const MonotonicTime begun_at_;
  std::string hello_;
  bool is_refused_ = false;  // it is told so, and no more
  bool has_session_ = false;
  std::weak_ptr<Session> session_;
  LinkPipe pipe_;
};

}  // namespace muster::torch_store
