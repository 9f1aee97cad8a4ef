#include "worker_agent/store/store_stream.h"

#include <utility>
#include <variant>

#include "common/base/limits.h"

namespace muster::agent {
namespace {

constexpr size_t kMessageBytes = kMaxReceivedBytes / 2;  // a message with so many bytes gets no more requests

// Puts an operation into its field of a request.
struct Put {
  v1::StoreRequest& request;
  void operator()(const v1::StoreSet& set) const { *request.mutable_set() = set; }
  void operator()(const v1::StoreGet& get) const { *request.mutable_get() = get; }
  void operator()(const v1::StoreWait& wait) const { *request.mutable_wait() = wait; }
  void operator()(const v1::StoreDelete& removal) const { *request.mutable_delete_() = removal; }
  void operator()(const v1::StoreAdd& add) const { *request.mutable_add() = add; }
  void operator()(const v1::StoreCompareAndSet& swap) const { *request.mutable_compare_and_set() = swap; }
  void operator()(const v1::StoreList& list) const { *request.mutable_list() = list; }
  void operator()(const v1::StoreBatch& batch) const { *request.mutable_batch() = batch; }
};

}  // namespace

void StoreStream::Begin(grpc::CompletionQueue& queue) {
  self_ = shared_from_this();
  call_ = stub_->PrepareAsyncStream(&context_, &queue);
  call_->StartCall(static_cast<LinkTag*>(&opened_));
}

bool StoreStream::Ask(const std::vector<StoreCore::Send>& sends) {
  MutexLock lock(mutex_);
  if (is_over_) return false;
  for (const StoreCore::Send& send : sends) {
    unanswered_[send.call] = send;
    unsent_.push_back(send.call);
  }
  WriteOn();
  return true;
}

void StoreStream::WriteOn() {
  if (!is_open_ || is_writing_ || is_over_ || unsent_.empty()) return;
  v1::StoreRequests message;
  size_t bytes = 0;
  while (!unsent_.empty() && message.requests_size() < kMaxStoreRequests && bytes < kMessageBytes) {
    v1::StoreRequest& request = *message.add_requests();
    request.set_call(unsent_.front());
    std::visit(Put{request}, unanswered_.at(unsent_.front()).operation);
    unsent_.pop_front();
    bytes += request.ByteSizeLong();
  }
  is_writing_ = true;
  call_->Write(message, static_cast<LinkTag*>(&written_));
}

void StoreStream::Opened(bool is_ok) {
  MutexLock lock(mutex_);
  is_open_ = is_ok;
  if (!is_ok) {
    is_over_ = true;
    return EndOn();
  }
  call_->Read(&answers_, static_cast<LinkTag*>(&read_));
  WriteOn();
}

void StoreStream::Read(bool is_ok) {
  if (!is_ok) {
    MutexLock lock(mutex_);
    is_over_ = true;
    return EndOn();
  }
  v1::StoreAnswers answers = std::exchange(answers_, {});
  {
    MutexLock lock(mutex_);
    for (const v1::StoreAnswer& answer : answers.answers()) unanswered_.erase(answer.call());
  }
  for (v1::StoreAnswer& answer : *answers.mutable_answers()) hooks_.on_answer(answer);
  call_->Read(&answers_, static_cast<LinkTag*>(&read_));
}

void StoreStream::Written(bool is_ok) {
  MutexLock lock(mutex_);
  is_writing_ = false;
  if (is_over_) return EndOn();
  if (is_ok) WriteOn();  // if the write has failed, Read will fail, too, and end the stream
}

void StoreStream::EndOn() {
  if (is_writing_ || std::exchange(is_ending_, true)) return;
  call_->Finish(&status_, static_cast<LinkTag*>(&ended_));
}

void StoreStream::Ended(bool /*is_ok*/) {
  const std::shared_ptr<StoreStream> last = std::move(self_);
  Sends unanswered;
  {
    MutexLock lock(mutex_);
    unanswered = std::exchange(unanswered_, {});
  }
  hooks_.on_end(*this, status_, std::move(unanswered));
}

}  // namespace muster::agent
