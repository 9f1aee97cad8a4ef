// One client of the store: bytes in, requests applied one after the other, answers out. Whether it has a connection of
// its own, or shares an agent's link with others, is its Channel's.
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

// What all clients of one store share, in the server's thread.
struct Shared {
  const Limits limits;
  Store store;
  size_t output_bytes = 0;                                   // of all clients, that still have to be sent
  std::vector<char> scratch = std::vector<char>(64 * 1024);  // for one read or write
  std::unordered_map<uint64_t, Client*> clients = {};        // all that there are

  bool has_room_for_answers() const { return output_bytes + store.unread_bytes() <= limits.unread_bytes; }
};

class Client {
 public:
  // `id`: never used twice.
  Client(uint64_t id, Channel& channel, Shared& shared, TcpServerContext& context);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Reads, handles and writes, a little. True when there is more to do without waiting for the channel.
  bool Serve();
  // What it waited for is there.
  void StopWaiting();
  void Write();
  // What took too long is given up.
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
  size_t counted_input_ = 0;   // in context_.input_bytes
  size_t counted_output_ = 0;  // in shared_.output_bytes
  bool has_ended_ = false;     // nothing more comes from it
  bool is_finished_ = false;
  bool has_spoken_ = false;
  bool is_held_ = false;        // until others have read their answers
  bool has_whole_one_ = false;  // a request in the decoder may wait for its turn
  MonotonicTime last_heard_;
  MonotonicTime last_written_;  // when the channel last took something, or nothing waited
  std::string reason_;
};

}  // namespace muster::torch_store
