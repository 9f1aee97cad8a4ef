// A small Rendezvous service on a real socket: it keeps the messages that it gets, and answers as the test wants.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/mutex.h"
#include "muster/v1/rendezvous.grpc.pb.h"

namespace muster::agent {

class FakeScheduler final : public v1::Rendezvous::Service {
 public:
  // Called for each message of an agent; may write to the stream. False ends the stream.
  using OnMessage =
      std::function<bool(const v1::AgentMessage&, grpc::ServerReaderWriter<v1::SchedulerMessage, v1::AgentMessage>&)>;

  FakeScheduler(const std::string& address, OnMessage on_message);
  ~FakeScheduler() override;

  uint16_t port() const { return static_cast<uint16_t>(port_); }
  void set_peer_list(std::string list) { peer_list_ = std::move(list); }

  std::vector<v1::AgentMessage> Received() const;
  std::vector<v1::LastReportRequest> LastReports() const;
  // True if an agent's stream ended in order (half-closed, nothing lost).
  bool WaitForCleanEnd(absl::Duration timeout);

 private:
  grpc::Status Session(grpc::ServerContext* context,
                       grpc::ServerReaderWriter<v1::SchedulerMessage, v1::AgentMessage>* stream) override;
  grpc::Status GetPeers(grpc::ServerContext* context, const v1::GetPeersRequest* request,
                        v1::GetPeersReply* reply) override;
  grpc::Status LastReport(grpc::ServerContext* context, const v1::LastReportRequest* request,
                          v1::LastReportReply* reply) override;

  const OnMessage on_message_;
  std::string peer_list_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;

  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<v1::AgentMessage> received_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::LastReportRequest> last_reports_ ABSL_GUARDED_BY(mutex_);
  bool has_ended_cleanly_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace muster::agent
