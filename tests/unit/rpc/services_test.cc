// GetPeers, LastReport, the admin service, health and reflection against a real server.
#include <grpcpp/impl/client_unary_call.h>

#include <atomic>
#include <deque>
#include <thread>

#include "common/base/limits.h"
#include "tests/unit/rpc/server_fixture.h"
#include "tests/unit/rpc/test_client_socket.h"

namespace muster::scheduler {
namespace {

using ::testing::HasSubstr;

class PeersTest : public ServerTest {
 protected:
  grpc::Status GetPeers(const std::string& job, uint64_t run, uint32_t round, v1::GetPeersReply& reply) {
    grpc::ClientContext context;
    Bound(context);
    v1::GetPeersRequest request;
    request.set_job_id(job);
    request.set_run(run);
    request.set_round(round);
    return v1::Rendezvous::NewStub(TcpChannel())->GetPeers(&context, request, &reply);
  }
};

TEST_F(PeersTest, PublishedRoundsAreServedUntilTheyAreForgotten) {
  v1::GetPeersReply reply;
  EXPECT_EQ(GetPeers("job", 1, 1, reply).error_code(), grpc::StatusCode::NOT_FOUND);
  const auto bytes = std::make_shared<const std::string>(std::string(5 * 1024 * 1024, 'p') + "end");
  sink().OnPublishPeers(PublishPeers{"job", 1, 1, bytes});
  ASSERT_TRUE(GetPeers("job", 1, 1, reply).ok());
  EXPECT_EQ(reply.peer_list(), *bytes);
  sink().OnPublishPeers(PublishPeers{"job", 1, 2, std::make_shared<const std::string>()});
  ASSERT_TRUE(GetPeers("job", 1, 2, reply).ok());
  EXPECT_EQ(reply.peer_list(), "");
  sink().OnForgetPeers(ForgetPeers{"job", 1});
  const grpc::Status gone = GetPeers("job", 1, 1, reply);
  EXPECT_EQ(gone.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(gone.error_message(), HasSubstr("round 1 of run 1 of job job"));
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (bytes.use_count() > 1 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_EQ(bytes.use_count(), 1) << "no one keeps the bytes when the calls are over";
}

TEST_F(PeersTest, AMalformedRequestIsRefused) {
  v1::GetPeersReply reply;
  EXPECT_EQ(GetPeers("a b", 1, 1, reply).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Count("malformed request"), 1u);
}

class SizeTest : public ServerTest {
 protected:
  static std::string Bytes(size_t size) { return std::string(size, 'x'); }
  template <typename Call>
  grpc::Status Do(const Call& call) {
    grpc::ClientContext context;
    Bound(context);
    return call(&context);
  }
};

TEST_F(SizeTest, EveryUnaryCallHasALimit) {
  const auto rendezvous = v1::Rendezvous::NewStub(TcpChannel());
  const auto admin = v1::Admin::NewStub(AdminChannel());
  const std::string big = Bytes(kMaxUnaryRequestBytes + 1);
  uint64_t refused = 0;
  const auto expect_refused = [&](const grpc::Status& status) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(status.error_message(), HasSubstr("at most 16384 are allowed"));
    EXPECT_EQ(Count("oversize message"), ++refused);
  };
  const auto ask = [&](const auto& stub, auto request, auto reply, auto method) {
    request.set_job_id(big);
    expect_refused(Do([&](grpc::ClientContext* context) { return (stub.get()->*method)(context, request, &reply); }));
  };
  ask(rendezvous, v1::GetPeersRequest(), v1::GetPeersReply(), &v1::Rendezvous::Stub::GetPeers);
  ask(rendezvous, v1::LastReportRequest(), v1::LastReportReply(), &v1::Rendezvous::Stub::LastReport);
  ask(admin, v1::StatusRequest(), v1::StatusReply(), &v1::Admin::Stub::GetStatus);
  ask(admin, v1::NodesRequest(), v1::NodesReply(), &v1::Admin::Stub::ListNodes);
  ask(admin, v1::RanksRequest(), v1::RanksReply(), &v1::Admin::Stub::ListRanks);
  ask(admin, v1::EventsRequest(), v1::EventsReply(), &v1::Admin::Stub::ListEvents);
  ask(admin, v1::StopRequest(), v1::StopReply(), &v1::Admin::Stub::StopRun);
  ask(admin, v1::SteerRequest(), v1::SteerReply(), &v1::Admin::Stub::SteerRun);
  ask(admin, v1::StacksRequest(), v1::StacksReply(), &v1::Admin::Stub::GetStacks);
  ask(admin, v1::LogsRequest(), v1::LogsReply(), &v1::Admin::Stub::GetLogs);
}

TEST_F(SizeTest, WhatIsOutOfAllProportionIsNotParsed) {
  v1::StopRequest request;
  request.set_job_id("job");
  request.set_reason(Bytes(kMaxReceivedBytes));
  v1::StopReply reply;
  const grpc::Status status = Do([&](grpc::ClientContext* context) {
    return v1::Admin::NewStub(AdminChannel())->StopRun(context, request, &reply);
  });
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
  AgentStream agent(TcpChannel());
  v1::AgentMessage join = AgentStream::GoodJoin();
  join.mutable_join()->set_node_id(Bytes(kMaxReceivedBytes));
  agent.Write(join);
  EXPECT_EQ(agent.Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(loop_.CountOf<StopRequested>() + loop_.CountOf<JoinRequested>(), 0u);
}

// A call that begins and never sends its request, in HTTP/2 made by hand (RFC 9113, 7541).
std::string HalfACall(const std::string& path) {
  const auto literal = [](const std::string& text) { return std::string(1, static_cast<char>(text.size())) + text; };
  const std::string block = "\x83\x86" + ("\x04" + literal(path)) + ("\x01" + literal("x")) +
                            (std::string(1, '\0') + literal("te") + literal("trailers")) +
                            (std::string(1, '\0') + literal("content-type") + literal("application/grpc"));
  const auto frame = [](char type, char flags, char stream, const std::string& payload) {
    return std::string("\0\0", 2) + static_cast<char>(payload.size()) + type + flags + std::string("\0\0\0", 3) +
           stream + payload;
  };
  return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, "") + frame(1, 4, 1, block);
}

class UnjoinedTest : public ServerTest {};

TEST_F(UnjoinedTest, AConnectionThatOnlyBeginsACallIsCut) {
  RpcServer::Options options;
  options.handshake_limit = absl::Seconds(1);
  options.unjoined.calm_limit = absl::Seconds(1);
  Restart(std::move(options));
  const UniqueFd foreign = ConnectTcp(port_);
  ASSERT_TRUE(SendBytes(foreign, HalfACall("/muster.v1.Admin/GetStatus")));
  AgentStream agent(TcpChannel());
  ASSERT_TRUE(agent.Write(AgentStream::GoodJoin()));
  sink().OnSend(loop_.Await<JoinRequested>().stream, WelcomeMessage());
  EXPECT_EQ(agent.Read().welcome().node_id(), "n1");
  EXPECT_TRUE(AwaitHangUp(foreign));
  EXPECT_EQ(Count("calm connection"), 1u);
  ASSERT_TRUE(agent.Write(AgentStream::Heartbeat(1))) << "a joined agent stays";
  loop_.Await<ReportReceived>();
}

class LastReportTest : public ServerTest {
 protected:
  static v1::LastReportRequest MakeLastReport() {
    v1::LastReportRequest request;
    request.set_job_id("job");
    request.set_node_id("n1");
    request.set_incarnation(7);
    request.set_signal(9);
    return request;
  }
  grpc::Status Say(const v1::LastReportRequest& request) {
    grpc::ClientContext context;
    Bound(context);
    v1::LastReportReply reply;
    return v1::Rendezvous::NewStub(TcpChannel())->LastReport(&context, request, &reply);
  }
};

TEST_F(LastReportTest, ReachesTheCoreAndIsAnsweredWhenItIsDurable) {
  v1::LastReportRequest request = MakeLastReport();
  grpc::Status status(grpc::StatusCode::UNKNOWN, "not answered yet");
  std::thread call([&] { status = Say(request); });
  const LastReportReceived last_report = loop_.Await<LastReportReceived>();
  EXPECT_EQ(last_report.last_report.incarnation(), 7u);
  sink().OnAnswer(Answer{last_report.query, absl::OkStatus(), v1::LastReportReply()});  // it is durable
  call.join();
  EXPECT_TRUE(status.ok()) << status.error_message();
  request.set_node_id("");
  EXPECT_EQ(Say(request).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(loop_.CountOf<LastReportReceived>(), 1u);
}

TEST_F(LastReportTest, OneThatDoesNotBecomeDurableIsNotAnswered) {
  RpcServer::Options options;
  options.query_limit = absl::Milliseconds(100);
  Restart(std::move(options));
  EXPECT_EQ(Say(MakeLastReport()).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(loop_.CountOf<LastReportReceived>(), 1u);
}

TEST_F(LastReportTest, UnansweredOnesAreBounded) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection allows 64 calls at a time
  std::vector<std::unique_ptr<v1::Rendezvous::Stub>> stubs;
  for (int i = 0; i < 12; ++i) {
    stubs.push_back(v1::Rendezvous::NewStub(
        grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", port_), grpc::InsecureChannelCredentials(), arguments)));
  }
  struct Call {
    grpc::ClientContext context;
    v1::LastReportReply reply;
  };
  std::deque<Call> calls;
  std::atomic<int> refused = 0;
  std::atomic<int> ended = 0;
  const v1::LastReportRequest request = MakeLastReport();
  for (size_t i = 0; i < 600; ++i) {
    Call& call = calls.emplace_back();
    Bound(call.context);
    stubs[i % 12]->async()->LastReport(&call.context, &request, &call.reply, [&](const grpc::Status& status) {
      refused += status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED ? 1 : 0;
      ++ended;
    });
  }
  const absl::Time deadline = absl::Now() + absl::Seconds(8);  // before the calls expire
  while (refused < 88 && absl::Now() < deadline) std::this_thread::yield();
  loop_.Await<LastReportReceived>(511);  // all 512; gRPC's threads may have delivered them in any order
  for (uint64_t query = 1; query <= 512; ++query) {
    sink().OnAnswer(Answer{query, absl::OkStatus(), v1::LastReportReply()});
  }
  while (ended < 600 && absl::Now() < deadline) std::this_thread::yield();
  EXPECT_EQ(ended, 600);
  EXPECT_EQ(refused, 88);
  EXPECT_EQ(loop_.CountOf<LastReportReceived>(), 512u);
}

class AdminTest : public ServerTest {
 protected:
  // Runs the call in the background, so that the test can give the answer.
  template <typename Request, typename Reply, typename Call>
  std::thread InBackground(const std::shared_ptr<grpc::Channel>& channel, const Request& request, Reply& reply,
                           grpc::Status& status, Call call) {
    return std::thread([channel, request, &reply, &status, call] {
      grpc::ClientContext context;
      Bound(context);
      const auto stub = v1::Admin::NewStub(channel);
      status = ((*stub).*call)(&context, request, &reply);
    });
  }
};

TEST_F(AdminTest, EveryQuestionReachesTheCoreAndItsAnswerTheCaller) {
  v1::StatusReply status_reply;
  v1::NodesReply nodes_reply;
  v1::RanksReply ranks_reply;
  v1::EventsReply events_reply;
  std::vector<grpc::Status> statuses(4, grpc::Status(grpc::StatusCode::UNKNOWN, "not called"));
  v1::NodesRequest nodes;
  nodes.set_job_id("job");
  nodes.set_limit(10);
  std::vector<std::thread> calls;
  calls.push_back(
      InBackground(TcpChannel(), v1::StatusRequest(), status_reply, statuses[0], &v1::Admin::Stub::GetStatus));
  calls.push_back(InBackground(TcpChannel(), nodes, nodes_reply, statuses[1], &v1::Admin::Stub::ListNodes));
  calls.push_back(
      InBackground(AdminChannel(), v1::RanksRequest(), ranks_reply, statuses[2], &v1::Admin::Stub::ListRanks));
  calls.push_back(
      InBackground(TcpChannel(), v1::EventsRequest(), events_reply, statuses[3], &v1::Admin::Stub::ListEvents));
  for (size_t i = 0; i < 4; ++i) {
    const QueryReceived query = loop_.Await<QueryReceived>(i);
    if (std::holds_alternative<v1::StatusRequest>(query.request)) {
      v1::StatusReply reply;
      reply.set_cluster_id("c1");
      sink().OnAnswer(Answer{query.query, absl::OkStatus(), reply});
    } else if (const auto* request = std::get_if<v1::NodesRequest>(&query.request)) {
      EXPECT_EQ(request->job_id(), "job");
      v1::NodesReply reply;
      reply.set_total(request->limit());
      sink().OnAnswer(Answer{query.query, absl::OkStatus(), reply});
    } else if (std::holds_alternative<v1::RanksRequest>(query.request)) {
      sink().OnAnswer(Answer{query.query, absl::NotFoundError("no job has formed"), {}});
    } else {
      sink().OnAnswer(Answer{query.query, absl::OkStatus(), v1::StatusReply()});  // of the wrong kind
    }
  }
  for (std::thread& call : calls) call.join();
  EXPECT_TRUE(statuses[0].ok()) << statuses[0].error_message();
  EXPECT_EQ(status_reply.cluster_id(), "c1");
  EXPECT_TRUE(statuses[1].ok());
  EXPECT_EQ(nodes_reply.total(), 10u);
  EXPECT_EQ(statuses[2].error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(statuses[2].error_message(), "no job has formed");
  EXPECT_EQ(statuses[3].error_code(), grpc::StatusCode::INTERNAL);
}

TEST_F(AdminTest, ChangesAreTakenOverTheUnixSocketOnly) {
  v1::StopRequest request;
  request.set_job_id("job");
  request.set_user("ops");
  v1::StopReply reply;
  grpc::Status status;
  InBackground(TcpChannel(), request, reply, status, &v1::Admin::Stub::StopRun).join();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(status.error_message(), HasSubstr("Unix socket"));
  EXPECT_EQ(loop_.CountOf<StopRequested>(), 0u);
  EXPECT_EQ(Count("not authorized"), 1u);

  std::thread call = InBackground(AdminChannel(), request, reply, status, &v1::Admin::Stub::StopRun);
  const StopRequested stop = loop_.Await<StopRequested>();
  EXPECT_EQ(stop.request.user(), "ops");
  v1::StopReply answer;
  answer.set_run(3);
  sink().OnAnswer(Answer{stop.query, absl::OkStatus(), answer});
  call.join();
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(reply.run(), 3u);
}

TEST_F(AdminTest, StacksAreForTheUnixSocketToo) {
  v1::StacksRequest request;
  request.set_job_id("default");
  v1::StacksReply reply;
  grpc::Status status;
  InBackground(TcpChannel(), request, reply, status, &v1::Admin::Stub::GetStacks).join();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);

  std::thread call = InBackground(AdminChannel(), request, reply, status, &v1::Admin::Stub::GetStacks);
  const StacksRequested asked = loop_.Await<StacksRequested>();
  v1::StacksReply answer;
  answer.add_ranks()->set_rank(3);
  sink().OnAnswer(Answer{asked.query, absl::OkStatus(), answer});
  call.join();
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(reply.ranks(0).rank(), 3u);
}

TEST_F(AdminTest, AQuestionWithoutAnAnswerEnds) {
  RpcServer::Options options;
  options.query_limit = absl::Milliseconds(100);
  Restart(std::move(options));
  v1::StatusReply reply;
  grpc::Status status;
  InBackground(TcpChannel(), v1::StatusRequest(), reply, status, &v1::Admin::Stub::GetStatus).join();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(status.error_message(), HasSubstr("overloaded"));
}

TEST_F(AdminTest, WaitingQuestionsAreBounded) {
  RpcServer::Options options;
  options.max_queries = 1;
  Restart(std::move(options));
  v1::StatusReply first_reply, second_reply;
  grpc::Status first, second;
  std::thread waiting =
      InBackground(TcpChannel(), v1::StatusRequest(), first_reply, first, &v1::Admin::Stub::GetStatus);
  const QueryReceived query = loop_.Await<QueryReceived>();
  InBackground(TcpChannel(), v1::StatusRequest(), second_reply, second, &v1::Admin::Stub::GetStatus).join();
  EXPECT_EQ(second.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  sink().OnAnswer(Answer{query.query, absl::OkStatus(), v1::StatusReply()});
  waiting.join();
  EXPECT_TRUE(first.ok());
}

TEST_F(AdminTest, AFullQueueSaysSo) {
  loop_.SetFull(true);
  v1::StatusReply reply;
  grpc::Status status;
  InBackground(TcpChannel(), v1::StatusRequest(), reply, status, &v1::Admin::Stub::GetStatus).join();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(AdminTest, AWaitingQuestionEndsWithTheServer) {
  v1::StatusReply reply;
  grpc::Status status;
  std::thread waiting = InBackground(TcpChannel(), v1::StatusRequest(), reply, status, &v1::Admin::Stub::GetStatus);
  loop_.Await<QueryReceived>();
  server_->Shutdown(absl::Seconds(5));
  waiting.join();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
}

class StandardServicesTest : public ServerTest {
 protected:
  // 1: serving, 2: not serving (grpc.health.v1.HealthCheckResponse, field 1)
  int Health() {
    const auto channel = TcpChannel();
    grpc::ClientContext context;
    Bound(context);
    const grpc::internal::RpcMethod method("/grpc.health.v1.Health/Check", grpc::internal::RpcMethod::NORMAL_RPC);
    grpc::ByteBuffer request(nullptr, 0), reply;
    const grpc::Status status = grpc::internal::BlockingUnaryCall(channel.get(), method, &context, request, &reply);
    EXPECT_TRUE(status.ok()) << status.error_message();
    grpc::Slice bytes;
    if (!status.ok() || !reply.DumpToSingleSlice(&bytes).ok() || bytes.size() != 2) return -1;
    return bytes.begin()[1];
  }
};

TEST_F(StandardServicesTest, HealthFollowsTheDrain) {
  EXPECT_EQ(Health(), 1);
  server_->StopServing();
  EXPECT_EQ(Health(), 2);
}

TEST_F(StandardServicesTest, ReflectionListsTheServices) {
  const auto channel = TcpChannel();
  grpc::ClientContext context;
  Bound(context);
  const grpc::internal::RpcMethod method("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                                         grpc::internal::RpcMethod::BIDI_STREAMING);
  std::unique_ptr<grpc::ClientReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>> stream(
      grpc::internal::ClientReaderWriterFactory<grpc::ByteBuffer, grpc::ByteBuffer>::Create(channel.get(), method,
                                                                                            &context));
  const grpc::Slice list_services(std::string("\x3a\x01*", 3));
  ASSERT_TRUE(stream->Write(grpc::ByteBuffer(&list_services, 1)));
  grpc::ByteBuffer reply;
  ASSERT_TRUE(stream->Read(&reply));
  grpc::Slice bytes;
  ASSERT_TRUE(reply.DumpToSingleSlice(&bytes).ok());
  const std::string text(reinterpret_cast<const char*>(bytes.begin()), bytes.size());
  EXPECT_THAT(text, HasSubstr("muster.v1.Rendezvous"));
  EXPECT_THAT(text, HasSubstr("muster.v1.Admin"));
  EXPECT_THAT(text, HasSubstr("grpc.health.v1.Health"));
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(StandardServicesTest, EveryCallMakesItsConnectionAKnownOne) {
  // With one place in the table for each core, more connections than cores get through only if their calls are noticed.
  RpcServer::Options options;
  options.pending_per_core = 1;
  Restart(std::move(options));
  for (unsigned i = 0; i < 2 * std::thread::hardware_concurrency() + 2; ++i) EXPECT_EQ(Health(), 1);
  std::vector<std::unique_ptr<AgentStream>> open;
  for (unsigned i = 0; i < 2 * std::thread::hardware_concurrency() + 2; ++i) {
    open.push_back(std::make_unique<AgentStream>(TcpChannel()));
    ASSERT_TRUE(open.back()->Write(AgentStream::GoodJoin()));
    loop_.Await<JoinRequested>(i);
  }
}

}  // namespace
}  // namespace muster::scheduler
