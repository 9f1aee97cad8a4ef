// One client of the store: bytes in, requests applied one after the other, answers out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/tcp_server/connection.h"
#include "worker_agent/gateway/torch_store/limits.h"
#include "worker_agent/gateway/torch_store/output.h"
#include "worker_agent/gateway/torch_store/request.h"
#include "worker_agent/gateway/torch_store/store.h"

namespace muster::torch_store {

// What all connections of one store share, in the server's thread.
struct Shared {
  const Limits limits;
  Store store;
  size_t output_bytes = 0;                                   // of all connections, that still have to be sent
  std::vector<char> scratch = std::vector<char>(64 * 1024);  // for one read or write

  bool has_room_for_answers() const { return output_bytes + store.unread_bytes() <= limits.unread_bytes; }
};

class Connection final : public TcpConnection {
 public:
  Connection(Stream stream, const TcpClient& client, Shared& shared, TcpServerContext& context);
  ~Connection() override;

  bool Serve() override;
  void CheckTimes() override;
  bool wants_read() const override;
  bool wants_write() const override { return !output_.is_empty(); }
  bool is_held() const override { return is_held_; }
  size_t input_bytes() const override { return counted_input_; }
  bool has_spoken() const override { return has_spoken_; }
  // A client says nothing for hours, and is lost without its connection.
  bool has_work() const override { return has_spoken_; }
  void FlushAtEnd() override { Write(); }

  // What it waited for is there.
  void StopWaiting();

 private:
  void Read();
  void HandleSome();
  void Write();
  void Count();

  Shared& shared_;
  RequestDecoder decoder_;
  Output output_;
  size_t counted_input_ = 0;   // in context_.input_bytes
  size_t counted_output_ = 0;  // in shared_.output_bytes
  bool has_spoken_ = false;
  bool is_held_ = false;        // until others have read their answers
  bool has_whole_one_ = false;  // a request in the decoder may wait for its turn
  MonotonicTime last_written_;  // when the socket last took something, or nothing waited
};

}  // namespace muster::torch_store
