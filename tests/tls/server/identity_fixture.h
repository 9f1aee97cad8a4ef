// A server with TLS, and requests from peers with all kinds of names.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "tests/tls/server/tls_server_fixture.h"
#include "tests/unit/store/ask_once.h"

namespace muster::scheduler {

class IdentityTest : public TlsServerTest {
 protected:
  v1::AgentMessage Join(const std::string& node_id, const std::string& job = "default") {
    v1::AgentMessage message = AgentStream::GoodJoin();
    message.mutable_join()->set_node_id(node_id);
    message.mutable_join()->set_job_id(job);
    return message;
  }
  void ExpectNoJoin(const testing_tls::Issued& issued, const v1::AgentMessage& join, TlsFault fault) {
    const uint64_t before = Count(fault);
    AgentStream stream(Channel(issued));
    stream.Write(join);
    const v1::SchedulerMessage reply = stream.Read();
    EXPECT_EQ(reply.refusal().reason(), v1::Refusal::NOT_AUTHORIZED) << reply.ShortDebugString();
    EXPECT_EQ(stream.Finish().error_code(), grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_EQ(Count(fault), before + 1) << FaultName(fault);
    EXPECT_EQ(loop_.CountOf<JoinRequested>(), 0u);
  }
  grpc::Status SendLastReport(const testing_tls::Issued& issued, const std::string& node_id,
                              const std::string& job = "default") {
    v1::LastReportRequest request;
    request.set_cluster_id("c");
    request.set_job_id(job);
    request.set_run(1);
    request.set_node_id(node_id);
    request.set_incarnation(7);
    v1::LastReportReply reply;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(500));
    return v1::Rendezvous::NewStub(Channel(issued))->LastReport(&context, request, &reply);
  }
  grpc::Status SetValue(const testing_tls::Issued& issued, const std::string& node_id,
                        const std::string& job = "default") {
    v1::StoreRequest request;
    v1::StoreSet& set = *request.mutable_set();
    set.mutable_caller()->set_job_id(job);
    set.mutable_caller()->set_run(1);
    set.mutable_caller()->set_round(1);
    set.mutable_caller()->set_node_id(node_id);
    set.mutable_caller()->set_incarnation(7);
    set.set_key("x");
    set.set_lifetime(v1::LIFETIME_ROUND);
    return AskOnce(*v1::Store::NewStub(Channel(issued)), request, std::chrono::milliseconds(500));
  }
  grpc::Status GetPeers(const std::shared_ptr<grpc::Channel>& channel, const std::string& job, uint32_t round = 1) {
    v1::GetPeersRequest request;
    request.set_job_id(job);
    request.set_run(1);
    request.set_round(round);
    v1::GetPeersReply reply;
    grpc::ClientContext context;
    Bound(context);
    return v1::Rendezvous::NewStub(channel)->GetPeers(&context, request, &reply);
  }
  grpc::Status Stop(const std::shared_ptr<grpc::Channel>& channel, const std::string& job) {
    v1::StopRequest request;
    request.set_job_id(job);
    v1::StopReply reply;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(500));
    return v1::Admin::NewStub(channel)->StopRun(&context, request, &reply);
  }
  grpc::Status Counters(const std::shared_ptr<grpc::Channel>& channel, v1::CountersReply* reply) {
    grpc::ClientContext context;
    Bound(context);
    return v1::Admin::NewStub(channel)->GetCounters(&context, v1::CountersRequest(), reply);
  }
  static void Bound(grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
  }
};

}  // namespace muster::scheduler
