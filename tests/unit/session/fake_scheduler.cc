#include "tests/unit/session/fake_scheduler.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"

namespace muster::agent {

FakeScheduler::FakeScheduler(const std::string& address, OnMessage on_message) : on_message_(std::move(on_message)) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort(absl::StrCat(address, ":0"), grpc::InsecureServerCredentials(), &port_);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
}

FakeScheduler::~FakeScheduler() {
  if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
}

std::vector<v1::AgentMessage> FakeScheduler::Received() const {
  MutexLock lock(mutex_);
  return received_;
}

std::vector<v1::LastReportRequest> FakeScheduler::LastReports() const {
  MutexLock lock(mutex_);
  return last_reports_;
}

bool FakeScheduler::WaitForCleanEnd(absl::Duration timeout) {
  const MonotonicTime deadline = Clock::System().Read().monotonic + timeout;
  MutexLock lock(mutex_);
  while (!has_ended_cleanly_ && Clock::System().Read().monotonic < deadline) {
    changed_.WaitFor(mutex_, absl::Milliseconds(100));
  }
  return has_ended_cleanly_;
}

grpc::Status FakeScheduler::Session(grpc::ServerContext* context,
                                    grpc::ServerReaderWriter<v1::SchedulerMessage, v1::AgentMessage>* stream) {
  v1::AgentMessage message;
  while (stream->Read(&message)) {
    {
      MutexLock lock(mutex_);
      received_.push_back(message);
    }
    if (!on_message_(message, *stream)) return grpc::Status::OK;
  }
  MutexLock lock(mutex_);
  has_ended_cleanly_ = !context->IsCancelled();
  changed_.NotifyAll();
  return grpc::Status::OK;
}

grpc::Status FakeScheduler::GetPeers(grpc::ServerContext*, const v1::GetPeersRequest*, v1::GetPeersReply* reply) {
  if (peer_list_.empty()) return {grpc::StatusCode::NOT_FOUND, "no such round"};
  reply->set_peer_list(peer_list_);
  return grpc::Status::OK;
}

grpc::Status FakeScheduler::LastReport(grpc::ServerContext*, const v1::LastReportRequest* request,
                                       v1::LastReportReply*) {
  MutexLock lock(mutex_);
  last_reports_.push_back(*request);
  return grpc::Status::OK;
}

}  // namespace muster::agent
