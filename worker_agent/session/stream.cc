#include "worker_agent/session/stream.h"

#include <thread>
#include <utility>

#include "common/sys/threads.h"

namespace muster::agent {

grpc::Status Stream::Run(const std::shared_ptr<grpc::Channel>& channel,
                         const std::function<void(v1::SchedulerMessage)>& on_message) {
  const auto stub = v1::Rendezvous::NewStub(channel);
  const std::unique_ptr<Call> call = stub->Session(&context_);
  absl::StatusOr<std::thread> writer = TryThread([&] { WriteAll(*call); });
  if (!writer.ok()) context_.TryCancel();
  v1::SchedulerMessage message;
  while (call->Read(&message)) on_message(std::exchange(message, {}));
  {
    MutexLock lock(mutex_);
    is_over_ = true;
    changed_.NotifyAll();
  }
  if (writer.ok()) writer->join();
  const grpc::Status status = call->Finish();
  if (writer.ok()) return status;
  return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, std::string(writer.status().message()));
}

void Stream::WriteAll(Call& call) {
  while (true) {
    v1::AgentMessage message;
    {
      MutexLock lock(mutex_);
      while (outgoing_.empty() && !is_hanging_up_ && !is_cancelled_ && !is_over_) changed_.Wait(mutex_);
      if (is_cancelled_ || is_over_) return;
      if (outgoing_.empty()) break;
      message = std::move(outgoing_.front());
      outgoing_.pop_front();
      unsent_bytes_ -= message.ByteSizeLong();
    }
    if (!call.Write(message)) return;  // reading ends too
  }
  call.WritesDone();
}

void Stream::Send(v1::AgentMessage message) {
  {
    MutexLock lock(mutex_);
    if (is_hanging_up_ || is_over_) return;
    unsent_bytes_ += message.ByteSizeLong();
    if (unsent_bytes_ <= kMaxUnsentBytes) {
      outgoing_.push_back(std::move(message));
      changed_.NotifyAll();
      return;
    }
    outgoing_.clear();
  }
  Cancel();
}

void Stream::HangUp() {
  MutexLock lock(mutex_);
  is_hanging_up_ = true;
  changed_.NotifyAll();
}

void Stream::Cancel() {
  {
    MutexLock lock(mutex_);
    is_cancelled_ = true;
    changed_.NotifyAll();
  }
  context_.TryCancel();  // if Run has not begun yet, its call is cancelled from the start
}

}  // namespace muster::agent
