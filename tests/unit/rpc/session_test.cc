// Session streams against a real server.
#include "tests/unit/rpc/heartbeat_client.h"
#include "tests/unit/rpc/server_fixture.h"

namespace muster::scheduler {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class SessionTest : public ServerTest {
 protected:
  // Joins and returns the stream's id.
  StreamId Join(AgentStream& agent, size_t index = 0) {
    EXPECT_TRUE(agent.Write(AgentStream::GoodJoin()));
    return loop_.Await<JoinRequested>(index).stream;
  }
  void ExpectMalformed(AgentStream& agent, const std::string& says, const std::string& kind) {
    const v1::SchedulerMessage message = agent.Read();
    EXPECT_EQ(message.refusal().reason(), v1::Refusal::MALFORMED) << message.ShortDebugString();
    EXPECT_THAT(message.refusal().text(), HasSubstr(says));
    EXPECT_EQ(message.refusal().retry_after_ms(), 0u);
    EXPECT_EQ(agent.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(Count(kind), 1u);
  }
};

TEST_F(SessionTest, ALifeFromJoinToHangUp) {
  AgentStream agent(TcpChannel());
  const StreamId stream = Join(agent);
  const JoinRequested join = loop_.Await<JoinRequested>();
  EXPECT_EQ(join.peer_address, "127.0.0.1");
  EXPECT_EQ(join.reached_at, "127.0.0.1");
  EXPECT_EQ(join.identity, "");
  EXPECT_EQ(join.join.node_id(), "n1");

  sink().OnSend(stream, WelcomeMessage());
  sink().OnSend(stream, DesiredMessage(1));
  EXPECT_EQ(agent.Read().welcome().node_id(), "n1");
  EXPECT_EQ(agent.Read().desired().round(), 1u);

  ASSERT_TRUE(agent.Write(AgentStream::Heartbeat(5)));
  const ReportReceived report = loop_.Await<ReportReceived>();
  EXPECT_EQ(report.stream, stream);
  EXPECT_EQ(report.report.heartbeat_seq(), 5u);

  v1::AgentMessage probe;
  probe.mutable_probe_answer()->set_probe(77);
  ASSERT_TRUE(agent.Write(probe));
  EXPECT_EQ(loop_.Await<ProbeAnswered>().probe, 77u);

  v1::AgentMessage traces;
  traces.mutable_stack_traces()->set_query(5);
  traces.mutable_stack_traces()->add_stacks()->set_text("main.py:3");
  ASSERT_TRUE(agent.Write(traces));
  EXPECT_EQ(loop_.Await<StackTracesReceived>().traces.stacks(0).text(), "main.py:3");

  v1::AgentMessage lines;
  lines.mutable_log_lines()->set_query(6);
  lines.mutable_log_lines()->mutable_log()->set_text("loss 0.1\n");
  ASSERT_TRUE(agent.Write(lines));
  EXPECT_EQ(loop_.Await<LogLinesReceived>().lines.log().text(), "loss 0.1\n");

  agent.HangUp();
  EXPECT_EQ(loop_.Await<StreamClosed>().stream, stream);
  EXPECT_TRUE(agent.Finish().ok());
  EXPECT_EQ(loop_.CountOf<StreamClosed>(), 1u);
  EXPECT_TRUE(server_->AwaitNoStreams(absl::Seconds(20)));
}

std::shared_ptr<v1::SchedulerMessage> AcknowledgementMessage(uint64_t seq) {
  auto message = std::make_shared<v1::SchedulerMessage>();
  message->mutable_acknowledgement()->set_heartbeat_seq(seq);
  return message;
}

TEST_F(SessionTest, HeartbeatsByDatagramAreAnsweredByDatagram) {
  has_datagrams_ = true;
  Restart({});
  AgentStream agent(TcpChannel());
  const StreamId stream = Join(agent);
  sink().OnSend(stream, WelcomeMessage());
  const v1::SchedulerMessage welcome = agent.Read();
  ASSERT_TRUE(welcome.welcome().has_datagrams());
  EXPECT_EQ(welcome.welcome().datagrams().stream(), stream);

  HeartbeatClient sender(welcome.welcome().datagrams(), port_);
  sender.Send(3);
  EXPECT_EQ(loop_.Await<HeartbeatReceived>().heartbeat_seq, 3u);
  sink().OnSend(stream, AcknowledgementMessage(3));
  EXPECT_EQ(sender.Receive().value_or(AnswerDatagram{}).heartbeat_seq, 3u);

  // The list of missing nodes is too long for a datagram: this answer comes over the stream, too.
  sender.Send(4);
  loop_.Await<HeartbeatReceived>(1);
  auto waiting = AcknowledgementMessage(4);
  waiting->mutable_acknowledgement()->mutable_waiting()->set_text("7 of 8");
  sink().OnSend(stream, waiting);
  EXPECT_EQ(sender.Receive().value_or(AnswerDatagram{}).heartbeat_seq, 4u);
  EXPECT_EQ(agent.Read().acknowledgement().waiting().text(), "7 of 8") << "and not the answer to 3";

  // A heartbeat over the stream is answered there.
  ASSERT_TRUE(agent.Write(AgentStream::Heartbeat(5)));
  loop_.Await<ReportReceived>();
  sink().OnSend(stream, AcknowledgementMessage(5));
  EXPECT_EQ(agent.Read().acknowledgement().heartbeat_seq(), 5u);
}

TEST_F(SessionTest, WithoutAPortForThemNoDatagramsAreOffered) {
  AgentStream agent(TcpChannel());
  sink().OnSend(Join(agent), WelcomeMessage());
  const v1::SchedulerMessage welcome = agent.Read();
  EXPECT_TRUE(welcome.has_welcome());
  EXPECT_FALSE(welcome.welcome().has_datagrams());
}

TEST_F(SessionTest, StacksBeyondTheLimitEndTheStream) {
  AgentStream agent(TcpChannel());
  Join(agent);
  v1::AgentMessage traces;
  traces.mutable_stack_traces()->add_stacks()->set_text(std::string(33 * 1024, 'x'));
  ASSERT_TRUE(agent.Write(traces));
  ExpectMalformed(agent, "text has 33792", "malformed stacks");
}

TEST_F(SessionTest, MessagesBeyondTheMemoryAreBrokenOffAndTheServiceGoesOn) {
  Restart({.listeners = {}, .memory_limit = 32 << 20});
  v1::AgentMessage huge;
  huge.mutable_stack_traces()->add_stacks()->set_text(std::string(128 << 20, 'x'));
  AgentStream greedy(TcpChannel());
  greedy.Write(huge);
  greedy.HangUp();
  EXPECT_EQ(greedy.Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Count("oversize message"), 0u) << "it must not be held in memory as a whole";
  AgentStream honest(TcpChannel());
  Join(honest);
}

TEST_F(SessionTest, OneUnappliedReadForEachStream) {
  loop_.ApplyAtOnce(false);
  AgentStream agent(TcpChannel());
  Join(agent);
  for (uint64_t seq : {1u, 2u, 3u}) ASSERT_TRUE(agent.Write(AgentStream::Heartbeat(seq)));
  EXPECT_EQ(loop_.CountOf<ReportReceived>(), 0u) << "the join is not applied yet";
  loop_.ApplyOne();
  EXPECT_EQ(loop_.Await<ReportReceived>(0).report.heartbeat_seq(), 1u);
  // A second stream's join overtakes nothing here; when it has come, a second report would have come, too.
  AgentStream other(TcpChannel());
  Join(other, 1);
  EXPECT_EQ(loop_.CountOf<ReportReceived>(), 1u);
  loop_.ApplyOne();
  EXPECT_EQ(loop_.Await<ReportReceived>(1).report.heartbeat_seq(), 2u);
}

TEST_F(SessionTest, TheLatestDesiredStateWinsForASlowReader) {
  AgentStream agent(TcpChannel());
  const StreamId stream = Join(agent);
  sink().OnSend(stream, WelcomeMessage());
  constexpr uint32_t kStates = 2'000;
  for (uint32_t round = 1; round <= kStates; ++round) sink().OnSend(stream, DesiredMessage(round, 32 * 1024));
  EXPECT_TRUE(agent.Read().has_welcome());
  uint32_t last = 0;
  size_t received = 0;
  while (last != kStates) {
    const v1::SchedulerMessage message = agent.Read();
    ASSERT_TRUE(message.has_desired()) << "the stream ended at round " << last;
    EXPECT_GT(message.desired().round(), last);
    last = message.desired().round();
    ++received;
  }
  EXPECT_LT(received, kStates / 2) << "64 MB were not sent to a peer that didn't read";
}

TEST_F(SessionTest, APeerThatReadsNothingIsCutOff) {
  RpcServer::Options options;
  options.close_limit = absl::Milliseconds(300);
  Restart(std::move(options));
  AgentStream agent(TcpChannel());
  const StreamId stream = Join(agent);
  sink().OnSend(stream, WelcomeMessage());
  for (uint32_t round = 1; round <= 100; ++round) sink().OnSend(stream, DesiredMessage(round, 1024 * 1024));
  for (uint32_t i = 0; i < 100; ++i) {
    auto probe = std::make_shared<v1::SchedulerMessage>();
    probe->mutable_probe()->set_probe(i);
    sink().OnSend(stream, probe);
  }
  EXPECT_EQ(loop_.Await<StreamClosed>().stream, stream);
  EXPECT_EQ(Count("slow reader"), 1u);
  EXPECT_TRUE(server_->AwaitNoStreams(absl::Seconds(20))) << "its last words can't be written, so it is broken off";
}

TEST_F(SessionTest, TheCoreClosesAfterItsLastWords) {
  AgentStream agent(TcpChannel());
  const StreamId stream = Join(agent);
  auto refusal = std::make_shared<v1::SchedulerMessage>();
  refusal->mutable_refusal()->set_reason(v1::Refusal::EXTRA_NODE);
  refusal->mutable_refusal()->set_text("node n1 is one too many");
  sink().OnSend(stream, refusal);
  sink().OnCloseStream(stream);
  EXPECT_EQ(agent.Read().refusal().reason(), v1::Refusal::EXTRA_NODE);
  EXPECT_TRUE(agent.Finish().ok());
  EXPECT_EQ(loop_.Await<StreamClosed>().stream, stream);
  EXPECT_EQ(Count("refused EXTRA_NODE"), 1u);
  sink().OnSend(stream, WelcomeMessage());  // the stream is gone: nothing happens
}

TEST_F(SessionTest, ABrokenStreamIsReportedOnce) {
  AgentStream agent(TcpChannel());
  const StreamId stream = Join(agent);
  agent.Cancel();
  EXPECT_EQ(loop_.Await<StreamClosed>().stream, stream);
  EXPECT_TRUE(server_->AwaitNoStreams(absl::Seconds(20)));
  EXPECT_EQ(loop_.CountOf<StreamClosed>(), 1u);
}

TEST_F(SessionTest, AStreamThatSaysNothingIsEnded) {
  RpcServer::Options options;
  options.join_limit = absl::Milliseconds(200);
  Restart(std::move(options));
  AgentStream agent(TcpChannel());
  EXPECT_EQ(agent.Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(Count("silent stream"), 1u);
  EXPECT_EQ(loop_.CountOf<StreamClosed>(), 0u) << "the core never heard of it";
}

TEST_F(SessionTest, AStreamThatJoinedIsNotEndedByTheJoinLimit) {
  RpcServer::Options options;
  options.join_limit = absl::Milliseconds(100);
  Restart(std::move(options));
  AgentStream agent(TcpChannel());
  const StreamId stream = Join(agent);
  AgentStream silent(TcpChannel());
  EXPECT_EQ(silent.Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  sink().OnSend(stream, WelcomeMessage());
  EXPECT_TRUE(agent.Read().has_welcome());
}

TEST_F(SessionTest, TheFirstMessageMustBeAJoin) {
  AgentStream agent(TcpChannel());
  ASSERT_TRUE(agent.Write(AgentStream::Heartbeat(1)));
  ExpectMalformed(agent, "first message of a stream must be a join", "malformed message");
}

TEST_F(SessionTest, ASecondJoinEndsTheStream) {
  AgentStream agent(TcpChannel());
  const StreamId stream = Join(agent);
  ASSERT_TRUE(agent.Write(AgentStream::GoodJoin()));
  ExpectMalformed(agent, "a second join", "malformed message");
  EXPECT_EQ(loop_.Await<StreamClosed>().stream, stream);
}

TEST_F(SessionTest, ABadJoinIsRefusedWithItsReason) {
  AgentStream agent(TcpChannel());
  v1::AgentMessage join = AgentStream::GoodJoin();
  join.mutable_join()->set_job_id("no blanks");
  ASSERT_TRUE(agent.Write(join));
  ExpectMalformed(agent, "job_id \"no blanks\"", "malformed join");
  EXPECT_EQ(loop_.CountOf<JoinRequested>(), 0u);
}

TEST_F(SessionTest, ABadReportIsRefusedWithItsReason) {
  AgentStream agent(TcpChannel());
  Join(agent);
  v1::AgentMessage report = AgentStream::Heartbeat(1);
  report.mutable_report()->add_events()->mutable_ended()->set_exit_code(256);
  report.mutable_report()->mutable_events(0)->set_number(1);
  ASSERT_TRUE(agent.Write(report));
  ExpectMalformed(agent, "event 1: exit_code is 256", "malformed report");
  EXPECT_EQ(loop_.CountOf<ReportReceived>(), 0u);
}

TEST_F(SessionTest, AMessageOfAnUnknownKindIsLeftAside) {
  AgentStream agent(TcpChannel());
  Join(agent);
  v1::AgentMessage newer;
  ASSERT_TRUE(newer.ParseFromString("\xfa\x3f\x02hi"));  // field 1023
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(agent.Write(newer));
  ASSERT_TRUE(agent.Write(AgentStream::Heartbeat(1)));
  EXPECT_EQ(loop_.Await<ReportReceived>().report.heartbeat_seq(), 1u);
  EXPECT_EQ(Count("unknown message"), 3u);
}

TEST_F(SessionTest, AHugeMessageIsRefusedAndCounted) {
  AgentStream agent(TcpChannel());
  v1::AgentMessage join = AgentStream::GoodJoin();
  join.mutable_join()->set_node_id(std::string(512 * 1024, 'x'));
  ASSERT_TRUE(agent.Write(join));
  ExpectMalformed(agent, "at most 262144 are allowed", "oversize message");
}

TEST_F(SessionTest, BytesThatAreNoMessageAreRefused) {
  const auto channel = TcpChannel();
  grpc::ClientContext context;
  Bound(context);
  const grpc::internal::RpcMethod method("/muster.v1.Rendezvous/Session", grpc::internal::RpcMethod::BIDI_STREAMING);
  std::unique_ptr<grpc::ClientReaderWriter<grpc::ByteBuffer, v1::SchedulerMessage>> stream(
      grpc::internal::ClientReaderWriterFactory<grpc::ByteBuffer, v1::SchedulerMessage>::Create(channel.get(), method,
                                                                                                &context));
  // A join with a job id that is not UTF-8.
  const grpc::Slice garbage(std::string("\x0a\x03\x12\x01\xff"));
  testing::internal::CaptureStderr();
  stream->Write(grpc::ByteBuffer(&garbage, 1));
  v1::SchedulerMessage answer;
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_THAT(answer.refusal().text(), HasSubstr("that is no AgentMessage"));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), Not(HasSubstr("libprotobuf")))
      << "what peers can cause at will is counted and not written each time";
}

TEST_F(SessionTest, AFullQueueSaysTryLater) {
  loop_.SetFull(true);
  AgentStream agent(TcpChannel());
  ASSERT_TRUE(agent.Write(AgentStream::GoodJoin()));
  const v1::SchedulerMessage message = agent.Read();
  EXPECT_EQ(message.refusal().reason(), v1::Refusal::TRY_LATER);
  EXPECT_GT(message.refusal().retry_after_ms(), 0u);
  EXPECT_EQ(agent.Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(loop_.CountOf<StreamClosed>(), 0u) << "the core never heard of it";
}

TEST_F(SessionTest, NodesDoNotJoinOverTheAdminSocket) {
  AgentStream agent(AdminChannel());
  ASSERT_TRUE(agent.Write(AgentStream::GoodJoin()));
  EXPECT_EQ(agent.Read().refusal().reason(), v1::Refusal::NOT_AUTHORIZED);
  EXPECT_EQ(agent.Finish().error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(SessionTest, ShutdownEndsOpenStreams) {
  AgentStream agent(TcpChannel());
  const StreamId stream = Join(agent);
  sink().OnSend(stream, WelcomeMessage());
  EXPECT_TRUE(agent.Read().has_welcome());
  EXPECT_FALSE(server_->AwaitNoStreams(absl::Milliseconds(10)));
  server_->Shutdown(absl::Seconds(5));
  EXPECT_EQ(agent.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(loop_.CountOf<StreamClosed>(), 1u);
}

TEST_F(SessionTest, ManyAgentsJoinReportAndHangUp) {
  constexpr size_t kAgents = 50;
  std::vector<std::unique_ptr<AgentStream>> agents;
  for (size_t i = 0; i < kAgents; ++i) {
    agents.push_back(std::make_unique<AgentStream>(TcpChannel()));
    ASSERT_TRUE(agents.back()->Write(AgentStream::GoodJoin()));
  }
  for (size_t i = 0; i < kAgents; ++i) sink().OnSend(loop_.Await<JoinRequested>(i).stream, WelcomeMessage());
  for (auto& agent : agents) EXPECT_TRUE(agent->Read().has_welcome());
  for (auto& agent : agents) EXPECT_TRUE(agent->Write(AgentStream::Heartbeat(1)));
  loop_.Await<ReportReceived>(kAgents - 1);
  for (auto& agent : agents) agent->HangUp();
  for (auto& agent : agents) EXPECT_TRUE(agent->Finish().ok());
  EXPECT_TRUE(server_->AwaitNoStreams(absl::Seconds(20)));
  EXPECT_EQ(loop_.CountOf<StreamClosed>(), kAgents);
}

TEST_F(SessionTest, AFullDiskTurnsNewcomersAwayAndLetsReturnersIn) {
  RpcServer::Options options;
  options.why_full = [] { return std::string("the disk is full"); };
  Restart(std::move(options));
  AgentStream newcomer(TcpChannel());
  ASSERT_TRUE(newcomer.Write(AgentStream::GoodJoin()));
  const v1::SchedulerMessage message = newcomer.Read();
  EXPECT_EQ(message.refusal().reason(), v1::Refusal::TRY_LATER);
  EXPECT_EQ(message.refusal().text(), "the disk is full");
  EXPECT_EQ(newcomer.Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);

  AgentStream returner(TcpChannel());
  v1::AgentMessage join = AgentStream::GoodJoin();
  join.mutable_join()->set_run(1);
  ASSERT_TRUE(returner.Write(join));
  EXPECT_EQ(loop_.Await<JoinRequested>().join.run(), 1u);
  EXPECT_EQ(loop_.CountOf<JoinRequested>(), 1u);

  v1::StatusReply reply;
  grpc::ClientContext context;
  const grpc::Status status = v1::Admin::NewStub(TcpChannel())->GetStatus(&context, v1::StatusRequest(), &reply);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(status.error_message(), "the disk is full");
}

}  // namespace
}  // namespace muster::scheduler
