#include "bench/load/link.h"

#include <utility>

namespace muster::bench {
namespace {

constexpr char kSession[] = "/muster.v1.Rendezvous/Session";

}  // namespace

Link::Link(std::shared_ptr<grpc::Channel> channel, grpc::CompletionQueue& queue, const grpc::ByteBuffer& first,
           size_t number, User& user)
    : channel_(std::move(channel)),
      user_(user),
      started_{this, number, Op::kStarted},
      read_{this, number, Op::kRead},
      written_{this, number, Op::kWritten},
      finished_{this, number, Op::kFinished} {
  outgoing_.push_back(first);
  stream_ = grpc::GenericStub(channel_).PrepareCall(&context_, kSession, &queue);
  stream_->StartCall(&started_);
}

void Link::Send(const grpc::ByteBuffer& bytes) {
  outgoing_.push_back(bytes);
  Write();
}

void Link::On(Op op, bool ok) {
  switch (op) {
    case Op::kStarted:
      is_started_ = true;
      if (!ok) {
        is_over_ = true;
        return Finish();
      }
      is_reading_ = true;
      stream_->Read(&incoming_, &read_);
      return Write();
    case Op::kRead:
      is_reading_ = false;
      if (!ok) {
        is_over_ = true;
        return Finish();
      }
      user_.OnMessage(std::exchange(incoming_, {}));
      is_reading_ = true;
      stream_->Read(&incoming_, &read_);
      return;
    case Op::kWritten:
      is_writing_ = false;
      if (!ok) outgoing_.clear();  // the read fails as well
      Write();
      return Finish();
    case Op::kFinished:
      user_.OnOver(status_);
      return;
  }
}

void Link::Write() {
  if (!is_started_ || is_over_ || is_writing_ || outgoing_.empty()) return;
  const grpc::ByteBuffer bytes = outgoing_.front();  // shares its slices
  outgoing_.pop_front();
  is_writing_ = true;
  stream_->Write(bytes, &written_);
}

void Link::Finish() {
  if (!is_over_ || is_reading_ || is_writing_ || std::exchange(is_finishing_, true)) return;
  stream_->Finish(&status_, &finished_);
}

}  // namespace muster::bench
