#include "worker_agent/gateway/torch_store/relay/pipe.h"

namespace muster::torch_store {
namespace {

constexpr size_t kAtOnce = 256 * 1024;

}  // namespace

Stream::Io LinkPipe::Write(Stream& to, ResumableStream* of) {
  while (true) {
    if (at_ == out_.size()) {
      out_.clear();
      at_ = 0;
      if (of != nullptr) of->Fill(out_, kAtOnce);
      if (out_.empty()) return Stream::Io::kDone;
    }
    size_t done = 0;
    const Stream::Io io = to.Write(std::string_view(out_).substr(at_), &done);
    if (io != Stream::Io::kDone) return io;
    at_ += done;
  }
}

}  // namespace muster::torch_store
