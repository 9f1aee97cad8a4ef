// Carries the bytes to and from one client of the store. Never blocks.
#pragma once

#include <cstddef>
#include <string_view>

#include "common/tls/server/stream.h"

namespace muster::torch_store {

class Channel {
 public:
  virtual ~Channel() = default;
  // Like Stream::Read and Stream::Write.
  virtual Stream::Io Read(char* out, size_t most, size_t* done) = 0;
  virtual Stream::Io Write(std::string_view bytes, size_t* done) = 0;
  // Asks the server to serve the client soon.
  virtual void Touch() = 0;
};

}  // namespace muster::torch_store
