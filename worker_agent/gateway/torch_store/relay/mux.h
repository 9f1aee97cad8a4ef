// Many connections of clients over one link, whose bytes survive its reconnects (ResumableStream). Pure; one thread.
//
// Frames in the stream, little-endian: u8 kind, u32 id of the connection, u32 number; behind kData as many bytes.
//
//   kOpen    relay → store   a client has connected; ids rise by one, from 1
//   kData    both            its bytes
//   kClose   relay → store   nothing more comes from the client
//            store → relay   the connection has ended; the last frame for this id
//   kCredit  both            so many bytes more may be sent to it
//
// Each direction of each connection begins with kWindow of credit: a client that does not read holds up no other one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/container/node_hash_map.h"
#include "absl/status/status.h"
#include "worker_agent/gateway/torch_store/relay/resumable_stream.h"

namespace muster::torch_store {

class Mux {
 public:
  static constexpr size_t kWindow = 128 * 1024;
  enum class Side { kRelay, kStore };
  // Called by Receive; must not call back into it.
  struct Events {
    std::function<void(uint32_t id)> opened;   // of the store's side
    std::function<void(uint32_t id)> touched;  // there are bytes to read, there is room to write, or it is at its end
    std::function<void()> has_room;            // there is none since Room has said so; for all
  };

  Mux(Side side, Events events) : side_(side), events_(std::move(events)) {}

  // The relay's side.
  uint32_t Open();
  // What has come for this connection and is not consumed yet.
  std::string_view Peek(uint32_t id) const;
  void Consume(uint32_t id, size_t bytes);
  // How many connections the other side has closed, and this one has not.
  size_t closed_there() const { return closed_there_; }
  // The other side has closed it, and all that came before that is consumed.
  bool IsAtEnd(uint32_t id) const;
  // How much Write takes.
  size_t Room(uint32_t id);
  // The link had no room for somebody, and has_room is to be called.
  bool is_full() const { return is_full_; }
  // … behind the next Open; 0: it is to wait.
  size_t RoomOfNext() const;
  void Write(uint32_t id, std::string_view bytes);
  // Nothing more is written to it. The store's side forgets it with that.
  void Close(uint32_t id);
  // The relay's side: nobody reads what comes for it any more.
  void Drop(uint32_t id);

  ResumableStream& stream() { return stream_; }
  // What came of the link. An error: as with ResumableStream.
  absl::Status Receive(std::string_view bytes);
  // What has come and is not consumed.
  size_t buffered() const { return buffered_; }

 private:
  enum Kind : uint8_t { kOpen = 1, kData, kClose, kCredit };
  struct Channel {
    std::string in;
    size_t in_at = 0;
    size_t owed = 0;          // consumed, and no credit given for it yet
    size_t window = kWindow;  // that may still be sent
    bool is_closed = false;   // by this side
    bool is_at_end = false;   // closed by the other one
    bool is_dropped = false;
  };

  void Send(Kind kind, uint32_t id, uint32_t number);
  absl::Status Take(std::string_view bytes);
  absl::Status TakeFrame(uint8_t kind, uint32_t id, uint32_t number);
  absl::Status TakeOpen(uint32_t id);
  absl::Status TakeClose(uint32_t id);
  void TakeData(std::string_view bytes);
  void Credit(uint32_t id, Channel& channel, size_t bytes);

  const Side side_;
  const Events events_;
  ResumableStream stream_;
  absl::node_hash_map<uint32_t, Channel> channels_;
  uint32_t last_id_ = 0;
  size_t buffered_ = 0;
  size_t closed_there_ = 0;  // of channels_
  bool is_full_ = false;     // Room has said so

  std::string header_;    // of a frame that is coming
  uint32_t data_id_ = 0;  // whose bytes come
  size_t data_left_ = 0;
};

}  // namespace muster::torch_store
