// One client's connection: bytes in, frames handled one after the other, bytes out. Owned by the server's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/mindspore/dialect.h"
#include "common/mindspore/frame.h"
#include "common/mindspore/handlers.h"
#include "common/tls/server/stream.h"

namespace muster::mindspore {

class Connection;

// What the connections of one server share. All of the server's thread, but for the functions.
struct ConnectionContext {
  Cluster* cluster = nullptr;
  // Any thread: runs `take` with the connection, in the server's thread, if it still is there.
  std::function<void(uint64_t connection, std::function<void(Connection&)> take)> post;
  std::shared_ptr<CountedLog> counted;
  size_t input_bytes = 0;  // of all: what waits to be whole, or for the store; see Server::CutTheLargest
  MonotonicTime now;
};

class Connection {
 public:
  Connection(Stream stream, Peer peer, std::string own_address, DialectGuess& guess, ConnectionContext& context);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Reads, handles and writes, a little: at most kReadAtOnce bytes and kFramesAtOnce frames, so that no client keeps
  // the others waiting. True when there is more to do without waiting for the socket.
  bool Serve();

  // At least four times a second: what took too long is given up.
  void CheckTimes();
  // The authorities or their lists have changed: who is revoked is cut off.
  void CheckTrust(const TrustBase& trust);

  // To be removed; the reason is empty when the client simply went.
  bool is_finished() const { return is_finished_; }
  const std::string& reason() const { return reason_; }

  bool wants_read() const;
  bool wants_write() const { return (!output_.empty() && !is_delayed()) || stream_.wants_write(); }
  // Its answer is kept back for a moment (see kAnswerDelay): serve it again in a millisecond.
  bool is_delayed() const { return !output_.empty() && context_.now < write_at_; }
  // Its next frame is a write, for which the store has no room.
  bool is_held() const { return held_.has_value(); }
  size_t input_bytes() const { return counted_input_; }
  bool has_spoken() const { return frames_ > 0; }
  // When it last said a whole thing, or was accepted.
  MonotonicTime last_heard() const { return last_heard_; }
  bool has_work() const { return is_pending_ || held_.has_value() || !output_.empty(); }
  bool is_secure() const { return stream_.has_tls(); }
  const Peer& peer() const { return peer_; }
  int fd() const { return stream_.fd(); }

  // The TLS handshake, in steps that the server spreads.
  enum class Opening { kUnknown, kHandshake, kOpen };
  Opening opening() const { return opening_; }
  // Looks at the first byte. `context` null: no TLS is spoken here.
  void Open(const std::shared_ptr<const TlsServerContext>& context);
  void ShakeHands();

  void Finish(const std::string& reason);
  // The client is gone; what it said before still counts.
  void NoteEnd() { has_ended_ = true; }
  // The last chance of what is in flight: the pending answer's substitute, and what the socket takes at once.
  void FlushAtEnd();

 private:
  void ReadSome();
  void HandleSome();
  void Handle(uint32_t number, const Frame& frame);
  void NoteDialect(uint32_t number, const Frame& frame);
  void Complete(uint64_t request, Answer answer);
  void Reply(const Answer& answer);
  void WriteSome();
  void CountInput();

  Stream stream_;
  Peer peer_;
  const std::string own_address_;
  DialectGuess& guess_;
  ConnectionContext& context_;
  const MonotonicTime accepted_at_;
  MonotonicTime last_heard_;
  MonotonicTime tls_begun_at_;

  Opening opening_ = Opening::kUnknown;
  FrameDecoder decoder_;
  size_t counted_input_ = 0;  // in context_.input_bytes
  std::string output_;
  std::optional<Frame> held_;
  bool needs_more_ = true;  // no whole frame is in the decoder
  bool has_ended_ = false;  // nothing more comes from the client
  bool is_finished_ = false;
  std::string reason_;
  uint64_t frames_ = 0;
  MonotonicTime opened_at_;     // accepted, or the TLS handshake done
  MonotonicTime last_whole_;    // when the input last was at a frame's border
  MonotonicTime write_at_;      // what waits to be written goes then
  MonotonicTime last_written_;  // when the socket last took something, or nothing waited

  // The request whose answer is still to come.
  uint64_t request_ = 0;  // its number on this connection
  bool is_pending_ = false;
  MonotonicTime pending_since_;
  Answer substitute_;

  std::optional<size_t> asked_;  // a digest of what the last request asked for …
  bool was_there_ = false;       // … and whether it got it …
  MonotonicTime answered_at_;    // … when
};

}  // namespace muster::mindspore
