// The link's connection as both of its ends read and write it, once the hello is over.
#pragma once

#include <string>

#include "common/tls/server/stream.h"
#include "worker_agent/gateway/torch_store/relay/resumable_stream.h"

namespace muster::torch_store {

class LinkPipe {
 public:
  // What goes out before all else: a hello or its answer.
  void Say(std::string bytes) { out_ += bytes; }
  bool is_empty() const { return at_ == out_.size(); }

  // Writes what was said and, unless it is null, what `of` has; a part, where the socket takes no more (kAgain).
  Stream::Io Write(Stream& to, ResumableStream* of);

 private:
  std::string out_;
  size_t at_ = 0;
};

}  // namespace muster::torch_store
