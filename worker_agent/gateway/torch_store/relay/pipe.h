// Writes to the link's connection, for both of its ends.
#pragma once

#include <string>

#include "common/tls/server/stream.h"
#include "worker_agent/gateway/torch_store/relay/resumable_stream.h"

namespace muster::torch_store {

class LinkPipe {
 public:
  // Adds bytes that go out first: a hello or its answer.
  void Say(std::string bytes) { out_ += bytes; }
  bool is_empty() const { return at_ == out_.size(); }

  // Writes those bytes, then `of`'s, unless it is null. Returns kAgain after a part, if the socket takes no more.
  Stream::Io Write(Stream& to, ResumableStream* of);

 private:
  std::string out_;
  size_t at_ = 0;
};

}  // namespace muster::torch_store
