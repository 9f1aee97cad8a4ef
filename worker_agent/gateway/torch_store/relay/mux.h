// Carries the connections of many clients over one link. Their bytes survive the link's reconnects (ResumableStream).
// Pure; one thread.
//
// Frames in the stream, little-endian: u8 kind, u32 id of the connection, u32 number; after kData follow as many bytes.
//
//   kOpen    relay → store   a client has connected; ids rise by one, from 1
//   kData    both            bytes of the client or for it
//   kClose   relay → store   the client sends nothing more
//            store → relay   the connection has ended; the last frame for this id
//   kCredit  both            the receiver of this frame may send `number` more bytes on the connection
//
// Each direction of each connection begins with kWindow of credit. So a client that does not read does not hold up
// other clients.
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
  // Receive calls these; they must not call Receive.
  struct Events {
    std::function<void(uint32_t id)> opened;   // on the store's side
    std::function<void(uint32_t id)> touched;  // the connection has bytes to read, room to write, or has ended
    std::function<void()> has_room;            // there is room for all connections again after Room found none
  };

  Mux(Side side, Events events) : side_(side), events_(std::move(events)) {}

  // Opens a connection; for the relay's side.
  uint32_t Open();
  // Returns the bytes that came for this connection and are not consumed yet.
  std::string_view Peek(uint32_t id) const;
  void Consume(uint32_t id, size_t bytes);
  // Returns the number of connections that the other side has closed and this side has not.
  size_t closed_there() const { return closed_there_; }
  // Returns true if the other side has closed the connection and all bytes before that are consumed.
  bool IsAtEnd(uint32_t id) const;
  // Returns the number of bytes that Write takes.
  size_t Room(uint32_t id);
  // Returns true if Room found no room and has_room will be called.
  bool is_full() const { return is_full_; }
  // Returns the number of bytes that Write would take for a new connection; 0: it must not be opened yet.
  size_t RoomOfNext() const;
  void Write(uint32_t id, std::string_view bytes);
  // Closes the connection for writing. The store's side then forgets the connection.
  void Close(uint32_t id);
  // Closes the connection and discards all bytes that still come. For the relay's side.
  void Drop(uint32_t id);

  ResumableStream& stream() { return stream_; }
  // Takes bytes of the link. After an error the link is over, as with ResumableStream::Receive.
  absl::Status Receive(std::string_view bytes);
  // Returns the number of bytes that have come and are not consumed.
  size_t buffered() const { return buffered_; }

 private:
  enum Kind : uint8_t { kOpen = 1, kData, kClose, kCredit };
  struct Channel {
    std::string in;
    size_t in_at = 0;
    size_t owed = 0;          // consumed, but not credited yet
    size_t window = kWindow;  // bytes that may still be sent
    bool is_closed = false;   // by this side
    bool is_at_end = false;   // closed by the other side
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
  size_t closed_there_ = 0;  // number of channels_ that the other side has closed
  bool is_full_ = false;     // Room found the link full

  std::string header_;    // bytes of the next frame's header
  uint32_t data_id_ = 0;  // the connection that the next bytes belong to
  size_t data_left_ = 0;
};

}  // namespace muster::torch_store
