// What a client of the store is read from and written to. Never blocks.
#pragma once

#include <cstddef>
#include <string_view>

#include "common/tls/server/stream.h"

namespace muster::torch_store {

class Channel {
 public:
  virtual ~Channel() = default;
  // As Stream's.
  virtual Stream::Io Read(char* out, size_t most, size_t* done) = 0;
  virtual Stream::Io Write(std::string_view bytes, size_t* done) = 0;
  // Its client is to be served soon.
  virtual void Touch() = 0;
};

}  // namespace muster::torch_store
