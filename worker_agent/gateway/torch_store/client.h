// One client of the store: reads bytes, applies requests one after the other, writes answers. Its Channel is either a
// connection of its own, or its part of an agent's link, which many clients share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/tcp_server/connection.h"
#include "worker_agent/gateway/torch_store/channel.h"
#include "worker_agent/gateway/torch_store/limits.h"
#include "worker_agent/gateway/torch_store/output.h"
#include "worker_agent/gateway/torch_store/request.h"
#include "worker_agent/gateway/torch_store/store.h"

namespace muster::torch_store {

class Client;

// The state that all clients of one store share, in the server's thread.
struct Shared {
  const Limits limits;
  Store store;
  size_t output_bytes = 0;                                   // of all clients' answers, still to be sent
  std::vector<char> scratch = std::vector<char>(64 * 1024);  // for one read or write
  std::unordered_map<uint64_t, Client*> clients = {};        // all clients that exist

  bool has_room_for_answers() const { return output_bytes + store.unread_bytes() <= limits.unread_bytes; }
};

class Client {
 public:
  // `id` must never be used twice.
  Client(uint64_t id, Channel& channel, Shared& shared, TcpServerContext& context);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Reads, handles and writes a little. Returns true if there is more to do without waiting for the channel.
  bool Serve();
  // Sends the answer that ends the client's WAIT or barrier.
  void StopWaiting();
  void Write();
  // Ends the client if it does not read its answers and other clients need the room.
  void CheckTimes();

  bool wants_read() const;
  bool wants_write() const { return !output_.is_empty(); }
  bool is_held() const { return is_held_; }
  size_t input_bytes() const { return counted_input_; }
  bool has_spoken() const { return has_spoken_; }
  MonotonicTime last_heard() const { return last_heard_; }
  void NoteEnd() { has_ended_ = true; }
  bool is_finished() const { return is_finished_; }
  const std::string& reason() const { return reason_; }

 private:
  void Read();
  void HandleSome();
  void Count();
  void Finish(const std::string& reason);

  const uint64_t id_;
  Channel& channel_;
  Shared& shared_;
  TcpServerContext& context_;
  RequestDecoder decoder_;
  Output output_;
  size_t counted_input_ = 0;   // this client's share of context_.input_bytes
  size_t counted_output_ = 0;  // this client's share of shared_.output_bytes
  bool has_ended_ = false;     // no more input comes from it
  bool is_finished_ = false;
  bool has_spoken_ = false;
  bool is_held_ = false;        // true until other clients have read their answers
  bool has_whole_one_ = false;  // true if the decoder may have a whole request that waits for its turn
  MonotonicTime last_heard_;
  MonotonicTime last_written_;  // when the channel last took bytes, or no bytes were waiting
  std::string reason_;
};

}  // namespace muster::torch_store
