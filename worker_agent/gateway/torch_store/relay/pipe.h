// Writes to a link's connection. Both ends of the link use it.
#pragma once

#include <string>

#include "common/tls/server/stream.h"
#include "worker_agent/gateway/torch_store/relay/resumable_stream.h"

namespace muster::torch_store {

class LinkPipe {
 public:
  // Adds bytes that are sent before the stream's: a hello or its answer.
  void Say(std::string bytes) { out_ += bytes; }
  bool is_empty() const { return at_ == out_.size(); }

  // Writes what Say has added, then the bytes of the stream `of` (null: there is none). Returns kAgain if the socket
  // takes no more for now.
  Stream::Io Write(Stream& to, ResumableStream* of);

 private:
  std::string out_;
  size_t at_ = 0;
};

}  // namespace muster::torch_store
