// Tests the rights of an accepted peer: those of its certificate's name, until it is revoked.
#include <future>

#include "tests/tls/server/identity_fixture.h"
#include "tests/unit/rpc/heartbeat_client.h"

namespace muster::scheduler {
namespace {

using ::testing::HasSubstr;
using testing_tls::AdminUri;
using testing_tls::HostUri;
using testing_tls::Issued;
using testing_tls::NodeUri;
using testing_tls::SchedulerUri;
using testing_tls::UriSpec;

TEST_F(IdentityTest, AJoinCarriesWhatTheConnectionShows) {
  const Issued node = Node("n1");
  AgentStream stream(Channel(node));
  v1::AgentMessage join = Join("n1");
  join.mutable_join()->mutable_node()->set_certificate_fingerprint("claimed");
  ASSERT_TRUE(stream.Write(join));
  const JoinRequested request = loop_.Await<JoinRequested>();
  EXPECT_EQ(request.identity, NodeUri("n1"));
  EXPECT_EQ(request.join.node().certificate_fingerprint(), node.certificate.Fingerprint());
  EXPECT_EQ(request.peer_address, "127.0.0.1");
  EXPECT_EQ(request.reached_at, "127.0.0.1");
}

TEST_F(IdentityTest, TheStoreIsForTheNodeThatTheCertificateNames) {
  const Issued node = Node("n1");
  EXPECT_EQ(SetValue(node, "n2").error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Count(TlsFault::kOtherNode), 1u);
  EXPECT_EQ(SetValue(node, "n1", "another").error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Count(TlsFault::kOtherJob), 1u);
  EXPECT_EQ(SetValue(Issue(UriSpec({AdminUri()})), "n1").error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(loop_.CountOf<StoreRequested>(), 0u);
  SetValue(node, "n1");  // the stand-in for the loop does not answer
  EXPECT_EQ(loop_.Await<StoreRequested>().identity, NodeUri("n1"));
}

TEST_F(IdentityTest, HostsAndWildcardsMayBeAnyNode) {
  size_t joins = 0;
  for (const std::string& uri : {HostUri("h"), NodeUri("*"), HostUri("h", "*")}) {
    AgentStream stream(Channel(Issue(UriSpec({uri}))));
    ASSERT_TRUE(stream.Write(Join("whatever")));
    EXPECT_EQ(loop_.Await<JoinRequested>(joins++).identity, uri);
  }
}

TEST_F(IdentityTest, ANodeCannotJoinAsAnother) {
  ExpectNoJoin(Node("a"), Join("b"), TlsFault::kOtherNode);
  ExpectNoJoin(Node("a"), Join(""), TlsFault::kOtherNode);
  ExpectNoJoin(Node("a"), Join("a", "another"), TlsFault::kOtherJob);
  ExpectNoJoin(Issue(UriSpec({HostUri("h")})), Join("a", "another"), TlsFault::kOtherJob);
  testing_tls::CertificateSpec scheduler = UriSpec({SchedulerUri()});
  ExpectNoJoin(Issue(scheduler), Join("a"), TlsFault::kOtherRole);
  ExpectNoJoin(Issue(UriSpec({AdminUri()})), Join("a"), TlsFault::kOtherRole);
}

// Such an id is the rank that the node asks for.
TEST_F(IdentityTest, ARankMustBeNamedByTheCertificate) {
  ExpectNoJoin(Node("7"), Join("3"), TlsFault::kOtherNode);
  ExpectNoJoin(Node("7"), Join("07"), TlsFault::kOtherNode);
  ExpectNoJoin(Node("7"), Join("70"), TlsFault::kOtherNode);
  ExpectNoJoin(Node("worker"), Join("0"), TlsFault::kOtherNode);
  AgentStream stream(Channel(Node("7")));
  ASSERT_TRUE(stream.Write(Join("7")));
  EXPECT_EQ(loop_.Await<JoinRequested>().identity, NodeUri("7"));
}

TEST_F(IdentityTest, AJoinedStreamCannotJoinAsAnotherNode) {
  AgentStream stream(Channel(Node("a")));
  ASSERT_TRUE(stream.Write(Join("a")));
  loop_.Await<JoinRequested>();
  ASSERT_TRUE(stream.Write(Join("b")));
  EXPECT_THAT(stream.Read().refusal().text(), HasSubstr("a second join on one stream"));
  EXPECT_EQ(stream.Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(counted_.Counts()["malformed message"], 1u);
  EXPECT_EQ(loop_.CountOf<JoinRequested>(), 1u);
}

// A heartbeat over a stream carries no name. A datagram names its stream, and its key proves the sender.
TEST_F(IdentityTest, AHeartbeatCountsForItsOwnNodeOnly) {
  has_datagrams_ = true;
  Start();
  std::vector<std::unique_ptr<AgentStream>> streams;
  std::vector<v1::DatagramOffer> offers;
  for (const std::string id : {"a", "b"}) {
    streams.push_back(std::make_unique<AgentStream>(Channel(Node(id))));
    ASSERT_TRUE(streams.back()->Write(Join(id)));
    server_->sink().OnSend(loop_.Await<JoinRequested>(offers.size()).stream, WelcomeMessage());
    offers.push_back(streams.back()->Read().welcome().datagrams());
    EXPECT_TRUE(offers.back().is_secret());
  }
  v1::DatagramOffer forged = offers[1];
  forged.set_key(offers[0].key());
  HeartbeatClient impostor(forged, port_), own(offers[0], port_), victim(offers[1], port_);
  for (uint64_t seq = 1; seq <= 3; ++seq) {
    impostor.Send(100 + seq);
    own.Send(seq);  // the server takes them in their order
    EXPECT_EQ(loop_.Await<HeartbeatReceived>(seq - 1).stream, offers[0].stream());
    EXPECT_EQ(counted_.Counts()["strange datagram"], seq);
  }
  victim.Send(1);
  EXPECT_EQ(loop_.Await<HeartbeatReceived>(3).stream, offers[1].stream());
  EXPECT_EQ(loop_.CountOf<HeartbeatReceived>(), 4u) << "of those in its name none counts, nor stands in its way";
  EXPECT_FALSE(impostor.HasAnswer());
}

TEST_F(IdentityTest, ALastReportIsForTheOwnNodeOnly) {
  EXPECT_EQ(SendLastReport(Node("a"), "b").error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Count(TlsFault::kOtherNode), 1u);
  EXPECT_EQ(SendLastReport(Node("a"), "a", "another").error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Count(TlsFault::kOtherJob), 1u);
  EXPECT_EQ(loop_.CountOf<LastReportReceived>(), 0u);
  EXPECT_EQ(SendLastReport(Node("a"), "a").error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);  // the loop does not answer
  EXPECT_EQ(loop_.Await<LastReportReceived>().identity, NodeUri("a"));
}

TEST_F(IdentityTest, PeersAreForTheirOwnJob) {
  EXPECT_EQ(GetPeers(Channel(Node("a")), "default").error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(GetPeers(Channel(Node("a")), "another").error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Count(TlsFault::kOtherJob), 1u);
}

TEST_F(IdentityTest, PeersOfAFormerRoundAreNotGiven) {
  for (const std::string job : {"default", "another"}) {
    for (const uint32_t round : {1u, 2u, 3u}) {
      server_->sink().OnPublishPeers(PublishPeers{job, 1, round, std::make_shared<const std::string>("peers")});
    }
  }
  const auto channel = Channel(Node("a"));
  const grpc::Status stale = GetPeers(channel, "default", 1);
  EXPECT_EQ(stale.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(stale.error_message(), HasSubstr("round 1 of run 1 of job default is not known, or no longer known"));
  EXPECT_TRUE(GetPeers(channel, "default", 3).ok());
  EXPECT_EQ(GetPeers(channel, "another", 3).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Count(TlsFault::kOtherJob), 1u);
}

TEST_F(IdentityTest, ChangesAreForAdmins) {
  EXPECT_EQ(Stop(Channel(Node("a")), "default").error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Count(TlsFault::kNotAnAdmin), 1u);
  EXPECT_EQ(Stop(Channel(Issue(UriSpec({AdminUri("another")}))), "default").error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Count(TlsFault::kOtherJob), 1u);
  EXPECT_EQ(loop_.CountOf<StopRequested>(), 0u);
  EXPECT_EQ(Stop(Channel(Issue(UriSpec({AdminUri()}))), "default").error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(loop_.CountOf<StopRequested>(), 1u);
  const auto socket = ChannelWith(grpc::InsecureChannelCredentials(), "unix:" + folder_.path("admin.sock"));
  EXPECT_EQ(Stop(socket, "default").error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(loop_.CountOf<StopRequested>(), 2u);
}

TEST_F(IdentityTest, AJobIsForThoseWhoseNameCoversIt) {
  const auto socket = ChannelWith(grpc::InsecureChannelCredentials(), "unix:" + folder_.path("admin.sock"));
  struct Case {
    std::shared_ptr<grpc::Channel> channel;
    std::string asked;
    std::string seen;  // the job that the core gets; "-": refused
  };
  const auto with = [&](const std::string& uri) { return Channel(Issue(UriSpec({uri}))); };
  const std::vector<Case> cases = {
      {with(NodeUri("a")), "default", "default"},
      {with(NodeUri("a")), "another", "-"},
      {with(NodeUri("a")), "", "default"},
      {with(HostUri("h")), "another", "-"},
      {with(HostUri("h")), "", "default"},
      {with(HostUri("h", "*")), "another", "another"},
      {with(NodeUri("*", "*")), "", ""},
      {with(AdminUri("default")), "another", "-"},
      {with(AdminUri()), "", ""},
      {with(SchedulerUri("default")), "", "default"},
      {with(SchedulerUri()), "another", "another"},
      {socket, "another", "another"},
      {socket, "", ""},
  };
  const auto look = [](auto call) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(300));
    return call(context);
  };
  size_t seen = 0, refused = 0;
  for (const Case& c : cases) {
    SCOPED_TRACE(c.asked + " -> " + c.seen);
    const auto stub = v1::Admin::NewStub(c.channel);
    const auto ask = [&](auto request, auto reply, auto method) {
      request.set_job_id(c.asked);
      const grpc::Status status = look([&](auto& context) { return (stub.get()->*method)(&context, request, &reply); });
      if (c.seen == "-") {
        EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
        EXPECT_EQ(Count(TlsFault::kOtherJob), ++refused);
        return;
      }
      const QueryReceived query = loop_.Await<QueryReceived>(seen++);
      EXPECT_EQ(std::get<decltype(request)>(query.request).job_id(), c.seen);
    };
    ask(v1::StatusRequest(), v1::StatusReply(), &v1::Admin::Stub::GetStatus);
    ask(v1::NodesRequest(), v1::NodesReply(), &v1::Admin::Stub::ListNodes);
    ask(v1::RanksRequest(), v1::RanksReply(), &v1::Admin::Stub::ListRanks);
    ask(v1::EventsRequest(), v1::EventsReply(), &v1::Admin::Stub::ListEvents);
  }
  EXPECT_EQ(loop_.CountOf<QueryReceived>(), seen);
}

TEST_F(IdentityTest, EveryAcceptedClientMayReadTheStatus) {
  v1::CountersReply reply;
  ASSERT_TRUE(Counters(Channel(Node("a")), &reply).ok());
  EXPECT_EQ(reply.certificate_fingerprint(), store_->Current()->identity->leaf().Fingerprint());
  EXPECT_GT(reply.certificate_ends_unix_ms(), 0);
  EXPECT_GT(reply.revocation_list_ends_unix_ms(), 0);
}

TEST_F(IdentityTest, WithCaOnlyAnyCertificateIsAnyNode) {
  settings_.identity = "ca-only";
  Start();
  AgentStream stream(Channel(Node("a")));
  ASSERT_TRUE(stream.Write(Join("b", "another")));
  EXPECT_EQ(loop_.Await<JoinRequested>().identity, "");
  EXPECT_EQ(Stop(Channel(Issue(UriSpec({AdminUri()}))), "default").error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(IdentityTest, StreamsThatDoNotJoinMakeRoomForOthers) {
  RpcServer::Options options;
  options.most_unjoined = 2;
  Start(std::move(options));
  const auto await_crowded_out = [this](uint64_t wanted) {
    for (int i = 0; i < 1000 && counted_.Counts()["crowded out"] < wanted; ++i) absl::SleepFor(absl::Milliseconds(5));
    EXPECT_EQ(counted_.Counts()["crowded out"], wanted);
  };
  const auto channel = Channel(Node("a"));
  std::vector<std::unique_ptr<AgentStream>> idle;
  std::vector<std::future<grpc::StatusCode>> ended;
  for (int i = 0; i < 3; ++i) {
    idle.push_back(std::make_unique<AgentStream>(channel));
    ended.push_back(std::async(std::launch::async, [&stream = *idle.back()] { return stream.Finish().error_code(); }));
  }
  await_crowded_out(1);  // the server has seen all three: the next connection is the youngest
  AgentStream newcomer(channel);
  ASSERT_TRUE(newcomer.Write(Join("a")));
  loop_.Await<JoinRequested>();
  await_crowded_out(2);
  size_t crowded_out = 0;
  while (crowded_out < 2) {
    crowded_out = 0;
    for (const auto& end : ended)
      crowded_out += end.wait_for(std::chrono::milliseconds(5)) == std::future_status::ready;
  }
  for (const auto& stream : idle) stream->Cancel();
  std::vector<grpc::StatusCode> codes;
  for (auto& end : ended) codes.push_back(end.get());
  EXPECT_THAT(
      codes, ::testing::UnorderedElementsAre(grpc::StatusCode::RESOURCE_EXHAUSTED, grpc::StatusCode::RESOURCE_EXHAUSTED,
                                             grpc::StatusCode::CANCELLED));
}

}  // namespace
}  // namespace muster::scheduler
