// One client: requests in, one after the other, answers out. An event stream is a request that is repeated every
// quarter of a second, for the events after the last one it sent. So a client that loses its permission is cut off, and
// all streams share their queries to the core.
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
  std::string input_;          // of incomplete requests
  size_t counted_input_ = 0;   // in context_.input_bytes
  Request request_;            // the latest
  bool has_begun_ = false;     // of the next request
  bool is_streaming_ = false;  // its answer is an event stream
  bool is_waiting_ = false;    // for the answer
  bool is_head_ = false;
  bool keeps_alive_ = true;
  size_t discarded_ = 0;
  bool is_closing_ = false;  // no further request is answered
  bool has_spoken_ = false;
  bool is_known_ = false;  // it has shown an identity, so its connection stays
  std::string header_;     // what is being written: this, …
  ResponsePtr response_;   // … then its body
  size_t written_ = 0;
  MonotonicTime asked_;     // since when a request is awaited or incomplete
  MonotonicTime progress_;  // when the socket last accepted something
};

}  // namespace muster::http
