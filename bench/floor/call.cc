#include "bench/floor/call.h"

#include <utility>

namespace muster::bench {

void Call::Await(const Floor& floor, grpc::ServerCompletionQueue& queue) { new Call(floor, queue); }

Call::Call(const Floor& floor, grpc::ServerCompletionQueue& queue) : floor_(floor), queue_(queue), stream_(&context_) {
  floor_.service.RequestCall(&context_, &stream_, &queue_, &queue_, &came_);
}

void Call::On(Op op, bool ok) {
  switch (op) {
    case Op::kCame:
      if (!ok) {  // the server is going down
        delete this;
        return;
      }
      Await(floor_, queue_);
      floor_.note_call(context_.peer());
      return Read();
    case Op::kRead:
      is_reading_ = false;
      if (!ok) {
        is_over_ = true;
        return FinishIfIdle();
      }
      incoming_.Clear();
      if (std::exchange(is_first_, false)) {
        outgoing_ = {&floor_.canned.welcome, &floor_.canned.desired};
      } else {
        outgoing_.push_back(&floor_.canned.acknowledgement);
      }
      Read();
      return Write();
    case Op::kWritten:
      is_writing_ = false;
      if (!ok) outgoing_.clear();
      Write();
      return FinishIfIdle();
    case Op::kFinished:
      delete this;
      return;
  }
}

void Call::Read() {
  is_reading_ = true;
  stream_.Read(&incoming_, &read_);
}

void Call::Write() {
  if (is_writing_ || outgoing_.empty()) return;
  const grpc::ByteBuffer* bytes = outgoing_.front();
  outgoing_.pop_front();
  is_writing_ = true;
  stream_.Write(*bytes, &written_);
}

void Call::FinishIfIdle() {
  if (!is_over_ || is_reading_ || is_writing_) return;
  stream_.Finish(grpc::Status::OK, &finished_);
}

}  // namespace muster::bench
