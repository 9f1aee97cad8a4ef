// A client's connection: reads bytes, handles one frame after the other, and writes the answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/mindspore/dialect.h"
#include "common/mindspore/frame.h"
#include "common/mindspore/handlers.h"
#include "common/tcp_server/connection.h"

namespace muster::mindspore {

class FrameConnection final : public TcpConnection {
 public:
  FrameConnection(Stream stream, const Peer& peer, std::string own_address, DialectGuess& guess, Cluster& cluster,
                  TcpServerContext& context);
  ~FrameConnection() override;

  // Handles at most kReadAtOnce bytes and kFramesAtOnce frames.
  bool Serve() override;
  void CheckTimes() override;
  bool wants_read() const override;
  bool wants_write() const override { return (!output_.empty() && !is_delayed()) || stream_.wants_write(); }
  // True while its answer is held back for a moment (see kAnswerDelay).
  bool is_delayed() const override { return !output_.empty() && context_.now < write_at_; }
  // True if the next frame is a write, and the store has no room for it.
  bool is_held() const override { return held_.has_value(); }
  size_t input_bytes() const override { return counted_input_; }
  bool has_spoken() const override { return frames_ > 0; }
  bool has_work() const override { return is_pending_ || held_.has_value() || !output_.empty(); }
  // Sends the substitute for an answer that is still pending.
  void FlushAtEnd() override;

 private:
  void ReadSome();
  void HandleSome();
  void Handle(uint32_t number, const Frame& frame);
  void NoteDialect(uint32_t number, const Frame& frame);
  void Complete(uint64_t request, Answer answer);
  void Reply(const Answer& answer);
  void WriteSome();
  void CountInput();

  void HasOpened() override { opened_at_ = last_whole_ = context_.now; }

  const std::string own_address_;
  DialectGuess& guess_;
  Cluster& cluster_;

  FrameDecoder decoder_;
  size_t counted_input_ = 0;  // this connection's part of context_.input_bytes
  std::string output_;
  std::optional<Frame> held_;
  bool needs_more_ = true;  // the decoder has no complete frame
  uint64_t frames_ = 0;
  MonotonicTime opened_at_;     // when it was accepted, or its TLS handshake was done
  MonotonicTime last_whole_;    // when the input last ended at the end of a frame
  MonotonicTime write_at_;      // when the output may be written
  MonotonicTime last_written_;  // when the socket last took something, or there was no output

  // The request without an answer.
  uint64_t request_ = 0;  // its number on this connection
  bool is_pending_ = false;
  MonotonicTime pending_since_;
  Answer substitute_;

  std::optional<size_t> asked_;  // a digest of the key in the last request for a key
  bool was_there_ = false;       // whether the answer to that request was "there"
  MonotonicTime answered_at_;    // when the answer to that request went out
};

}  // namespace muster::mindspore
