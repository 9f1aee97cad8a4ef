// One end of a socket as a client's channel.
#pragma once

#include <string_view>
#include <utility>

#include "worker_agent/gateway/torch_store/channel.h"

namespace muster::torch_store {

class SocketChannel final : public Channel {
 public:
  explicit SocketChannel(UniqueFd fd) : stream_(std::move(fd)) {}
  Stream::Io Read(char* out, size_t most, size_t* done) override { return stream_.Read(out, most, done); }
  Stream::Io Write(std::string_view bytes, size_t* done) override { return stream_.Write(bytes, done); }
  void Touch() override {}

 private:
  Stream stream_;
};

}  // namespace muster::torch_store
