// The connection of one HTTP client. Reads one request at a time, and answers it before it reads the next.
//
// For an event stream, the connection repeats its request every quarter of a second and asks for the events after the
// last one sent. Each repetition checks the client's permission again, so a client that loses it is cut off. Streams
// that wait for the same events share one query to the core.
#pragma once

#include <cstddef>
#include <string>

#include "common/tcp_server/connection.h"
#include "scheduler/http/request.h"
#include "scheduler/http/response.h"
#include "scheduler/http/site.h"

namespace muster::http {

class HttpConnection final : public TcpConnection {
 public:
  HttpConnection(Stream stream, const TcpClient& client, Site& site, bool takes_names, TcpServerContext& context);
  ~HttpConnection() override;

  bool Serve() override;
  void CheckTimes() override;
  bool wants_read() const override { return !has_ended_ && !is_finished_ && !is_answering(); }
  bool wants_write() const override { return is_writing(); }
  bool has_work() const override { return is_answering() || is_streaming_; }
  int yields() const override;
  bool has_spoken() const override { return has_spoken_; }
  size_t input_bytes() const override { return input_.size(); }
  void FlushAtEnd() override { Write(); }

 private:
  bool is_writing() const { return response_ != nullptr; }
  bool is_answering() const { return is_waiting_ || is_writing(); }
  bool HasHungUp() const;
  void Read();
  void Discard();
  void HandleOne();
  void Ask();
  bool TakePiece();
  void Answer(ResponsePtr response);
  void Put(ResponsePtr response);
  void Write();

  Site& site_;
  const bool takes_names_;
  const std::string client_key_;
  RequestReader reader_;
  std::string input_;          // received bytes that reader_ has not taken yet
  size_t counted_input_ = 0;   // how much of input_ is counted in context_.input_bytes
  Request request_;            // the latest
  bool has_begun_ = false;     // bytes of the next request have come
  bool is_streaming_ = false;  // the answer to request_ is an event stream
  bool is_waiting_ = false;    // for the site's answer
  bool is_head_ = false;
  bool keeps_alive_ = true;
  size_t discarded_ = 0;
  bool is_closing_ = false;  // the last answer was sent; what the client still sends is dropped
  bool has_spoken_ = false;
  bool is_known_ = false;   // the client has shown an identity, so this connection is not closed to make room
  std::string header_;      // the text to write before the body of response_
  ResponsePtr response_;    // the response that is being written; null: none
  size_t written_ = 0;      // bytes of header_ and the body
  MonotonicTime asked_;     // when the current wait began: for a request, for its rest, or for its answer to be taken
  MonotonicTime progress_;  // when the socket last accepted bytes of an answer
};

}  // namespace muster::http
