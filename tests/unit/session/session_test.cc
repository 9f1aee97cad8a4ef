#include "worker_agent/session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <deque>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/base/sha256.h"
#include "common/net/net.h"
#include "tests/unit/session/fake_scheduler.h"
#include "tests/unit/session/odd_ports.h"
#include "worker_agent/session/channel.h"
#include "worker_agent/session/stream.h"

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Keeps the events that a session delivers until the test asks for them.
class Inbox {
 public:
  std::function<void(Event)> Deliver() {
    return [this](Event event) {
      MutexLock lock(mutex_);
      events_.push_back(std::move(event));
      changed_.NotifyAll();
    };
  }

  // Returns the next event, which must be a T.
  template <typename T>
  std::optional<T> Next(absl::Duration timeout = absl::Seconds(20)) {
    const MonotonicTime deadline = Clock::System().Read().monotonic + timeout;
    MutexLock lock(mutex_);
    while (events_.empty()) {
      const absl::Duration left = deadline - Clock::System().Read().monotonic;
      if (left <= absl::ZeroDuration()) return std::nullopt;
      changed_.WaitFor(mutex_, left);
    }
    Event event = std::move(events_.front());
    events_.pop_front();
    if (T* wanted = std::get_if<T>(&event)) return std::move(*wanted);
    if (const auto* broken = std::get_if<StreamBroken>(&event)) ADD_FAILURE() << "broken: " << broken->text;
    return std::nullopt;
  }

  bool IsEmpty() {
    MutexLock lock(mutex_);
    return events_.empty();
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::deque<Event> events_ ABSL_GUARDED_BY(mutex_);
};

v1::AgentMessage JoinMessage(uint64_t connect_seq) {
  v1::AgentMessage message;
  message.mutable_join()->set_connect_seq(connect_seq);
  return message;
}

v1::AgentMessage ReportMessage(uint64_t seq) {
  v1::AgentMessage message;
  message.mutable_report()->set_heartbeat_seq(seq);
  return message;
}

// Welcomes a join (run = its connect_seq) and acknowledges reports.
bool BeFriendly(const v1::AgentMessage& message,
                grpc::ServerReaderWriter<v1::SchedulerMessage, v1::AgentMessage>& stream) {
  v1::SchedulerMessage answer;
  if (message.has_join()) {
    answer.mutable_welcome()->set_run(message.join().connect_seq());
  } else {
    answer.mutable_acknowledgement()->set_heartbeat_seq(message.report().heartbeat_seq());
  }
  return stream.Write(answer);
}

SessionOptions Towards(const std::string& host, uint16_t port) {
  SessionOptions options;
  options.host = host;
  options.port = port;
  return options;
}

TEST(Session, WhatIsSentBeforeTheStreamIsOpenArrivesFirst) {
  FakeScheduler scheduler("127.0.0.1", BeFriendly);
  Inbox inbox;
  Session session(Towards("127.0.0.1", scheduler.port()), inbox.Deliver());
  session.Dial(1);
  session.Send(1, JoinMessage(1));
  session.Send(1, ReportMessage(7));
  const auto welcome = inbox.Next<MessageReceived>();
  ASSERT_TRUE(welcome.has_value());
  EXPECT_EQ(welcome->connect_seq, 1u);
  EXPECT_EQ(welcome->message.welcome().run(), 1u);
  const auto acknowledgement = inbox.Next<MessageReceived>();
  ASSERT_TRUE(acknowledgement.has_value());
  EXPECT_EQ(acknowledgement->message.acknowledgement().heartbeat_seq(), 7u);
}

TEST(Session, CloseLetsEverythingThroughAndEndsTheStreamInGoodOrder) {
  FakeScheduler scheduler("127.0.0.1", BeFriendly);
  Inbox inbox;
  Session session(Towards("127.0.0.1", scheduler.port()), inbox.Deliver());
  session.Dial(1);
  session.Send(1, JoinMessage(1));
  ASSERT_TRUE(inbox.Next<MessageReceived>().has_value());
  for (uint64_t i = 1; i <= 100; ++i) session.Send(1, ReportMessage(i));
  session.Close(absl::Seconds(10));
  EXPECT_TRUE(scheduler.WaitForCleanEnd(absl::Seconds(10)));
  EXPECT_EQ(scheduler.Received().size(), 101u);
}

TEST(Session, WhatASchedulerThatReadsNothingIsSentIsBounded) {
  Stream stream;
  v1::AgentMessage message = ReportMessage(1);
  message.mutable_stack_traces()->add_stacks()->set_text(std::string(1 << 20, 'x'));
  for (int i = 0; i < 9; ++i) stream.Send(message);
  FakeScheduler scheduler("127.0.0.1", BeFriendly);
  const auto channel =
      grpc::CreateChannel("127.0.0.1:" + std::to_string(scheduler.port()), grpc::InsecureChannelCredentials());
  EXPECT_EQ(stream.Run(channel, [](const auto&) {}).error_code(), grpc::StatusCode::CANCELLED);
}

TEST(Session, ARefusedConnectionSaysSo) {
  const SilentPort port(false);
  Inbox inbox;
  Session session(Towards("127.0.0.1", port.port()), inbox.Deliver());
  session.Dial(3);
  session.Send(3, JoinMessage(3));
  const auto broken = inbox.Next<StreamBroken>();
  ASSERT_TRUE(broken.has_value());
  EXPECT_EQ(broken->connect_seq, 3u);
  EXPECT_EQ(broken->text, "Connection refused");
}

TEST(Session, AnUnknownNameSaysSoAndCanBeTriedAgain) {
  Inbox inbox;
  Session session(Towards("no-such-host.invalid", 8118), inbox.Deliver());
  for (uint64_t seq = 1; seq <= 2; ++seq) {
    session.Dial(seq);
    const auto broken = inbox.Next<StreamBroken>(absl::Seconds(60));
    ASSERT_TRUE(broken.has_value());
    EXPECT_EQ(broken->connect_seq, seq);
    EXPECT_THAT(broken->text, HasSubstr("no-such-host.invalid"));
  }
}

TEST(Session, OneThatNeverAnswersIsGivenUp) {
  const SilentPort port(true);  // the kernel accepts the connection, but no program answers
  Inbox inbox;
  SessionOptions options = Towards("127.0.0.1", port.port());
  options.connect_timeout = absl::Milliseconds(400);
  options.turn_timeout = absl::Milliseconds(1'200);
  Session session(options, inbox.Deliver());
  session.Dial(1);
  for (int i = 0; i < 2; ++i) {
    const auto waits = inbox.Next<DialWaits>();
    ASSERT_TRUE(waits.has_value());
    EXPECT_EQ(waits->connect_seq, 1u);
  }
  const auto broken = inbox.Next<StreamBroken>();
  ASSERT_TRUE(broken.has_value());
  EXPECT_THAT(broken->text, HasSubstr("has accepted the connection, but the scheduler did not answer within 1.2s"));
}

TEST(Session, AStreamThatTheSchedulerEndsIsBroken) {
  FakeScheduler scheduler("127.0.0.1", [](const auto&, auto&) { return false; });
  Inbox inbox;
  Session session(Towards("127.0.0.1", scheduler.port()), inbox.Deliver());
  session.Dial(1);
  session.Send(1, JoinMessage(1));
  const auto broken = inbox.Next<StreamBroken>();
  ASSERT_TRUE(broken.has_value());
  EXPECT_EQ(broken->text, "the scheduler ended the connection");
}

// Otherwise a scheduler that is shutting down would wait for it.
TEST(Session, NoConnectionIsLeftAfterClose) {
  FakeScheduler scheduler("127.0.0.1", BeFriendly);
  Inbox inbox;
  Session session(Towards("127.0.0.1", scheduler.port()), inbox.Deliver());
  session.Dial(1);
  session.Send(1, JoinMessage(1));
  ASSERT_TRUE(inbox.Next<MessageReceived>().has_value());
  const std::vector<IpAddress> addresses = {*IpAddress::Parse("127.0.0.1")};
  EXPECT_EQ(SetDeadPeerDetectionTowards(addresses, scheduler.port()), 1);  // counts them
  session.HangUp();
  session.Close(absl::Seconds(10));
  EXPECT_EQ(SetDeadPeerDetectionTowards(addresses, scheduler.port()), 0);
}

TEST(Session, ADialReplacesTheStreamBefore) {
  FakeScheduler scheduler("127.0.0.1", BeFriendly);
  Inbox inbox;
  Session session(Towards("127.0.0.1", scheduler.port()), inbox.Deliver());
  session.Dial(1);
  session.Send(1, JoinMessage(1));
  ASSERT_TRUE(inbox.Next<MessageReceived>().has_value());
  session.Dial(2);
  session.Send(1, ReportMessage(9));  // of the older dial: it is not sent
  session.Send(2, JoinMessage(2));
  const auto welcome = inbox.Next<MessageReceived>();
  ASSERT_TRUE(welcome.has_value());
  EXPECT_EQ(welcome->connect_seq, 2u);
  EXPECT_EQ(scheduler.Received().size(), 2u);
  EXPECT_TRUE(inbox.IsEmpty());
}

// A replacement: the old stream stays, and both deliver, until one of them is hung up.
TEST(Session, AReplacementLeavesTheStreamBeforeOpen) {
  FakeScheduler scheduler("127.0.0.1", BeFriendly);
  scheduler.set_peer_list("the peers");
  Inbox inbox;
  Session session(Towards("127.0.0.1", scheduler.port()), inbox.Deliver());
  session.Dial(1);
  session.Send(1, JoinMessage(1));
  ASSERT_TRUE(inbox.Next<MessageReceived>().has_value());
  session.Dial(2, true);
  session.Send(2, JoinMessage(2));
  auto message = inbox.Next<MessageReceived>();
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->connect_seq, 2u);
  session.Send(1, ReportMessage(9));
  message = inbox.Next<MessageReceived>();
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->connect_seq, 1u);
  EXPECT_EQ(message->message.acknowledgement().heartbeat_seq(), 9u);

  session.HangUp(1);
  EXPECT_TRUE(scheduler.WaitForCleanEnd(absl::Seconds(10)));
  session.Send(1, ReportMessage(10));  // is dropped
  session.Send(2, ReportMessage(11));
  message = inbox.Next<MessageReceived>();
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->message.acknowledgement().heartbeat_seq(), 11u);
  session.FetchPeers("j", {1, 4, Sha256("the peers"), 1});
  auto fetched = inbox.Next<PeersFetched>();
  ASSERT_TRUE(fetched.has_value());
  EXPECT_EQ(fetched->status.code(), absl::StatusCode::kUnavailable);
  session.FetchPeers("j", {1, 4, Sha256("the peers"), 2});
  fetched = inbox.Next<PeersFetched>();
  ASSERT_TRUE(fetched.has_value() && fetched->status.ok());
  EXPECT_TRUE(inbox.IsEmpty());
}

TEST(Session, AReplacementThatBreaksLeavesTheStreamBeforeAlone) {
  FakeScheduler scheduler("127.0.0.1", [](const auto& message, auto& stream) {
    return message.has_join() && message.join().connect_seq() == 2 ? false : BeFriendly(message, stream);
  });
  Inbox inbox;
  Session session(Towards("127.0.0.1", scheduler.port()), inbox.Deliver());
  session.Dial(1);
  session.Send(1, JoinMessage(1));
  ASSERT_TRUE(inbox.Next<MessageReceived>().has_value());
  session.Dial(2, true);
  session.Send(2, JoinMessage(2));
  const auto broken = inbox.Next<StreamBroken>();
  ASSERT_TRUE(broken.has_value());
  EXPECT_EQ(broken->connect_seq, 2u);
  session.Send(1, ReportMessage(9));
  const auto message = inbox.Next<MessageReceived>();
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->connect_seq, 1u);
}

TEST(Session, AHungUpStreamDeliversNothingMore) {
  FakeScheduler scheduler("127.0.0.1", BeFriendly);
  Inbox inbox;
  Session session(Towards("127.0.0.1", scheduler.port()), inbox.Deliver());
  session.Dial(1);
  session.Send(1, JoinMessage(1));
  ASSERT_TRUE(inbox.Next<MessageReceived>().has_value());
  session.HangUp();
  EXPECT_TRUE(scheduler.WaitForCleanEnd(absl::Seconds(10)));
  session.Close(absl::Seconds(5));
  EXPECT_TRUE(inbox.IsEmpty());
}

TEST(Session, ANameWithBothFamiliesFindsTheOneThatListens) {
  const auto addresses = ResolveHost("localhost");
  ASSERT_TRUE(addresses.ok()) << addresses.status();
  for (const IpAddress& address : *addresses) {
    FakeScheduler scheduler(address.is_v6() ? absl::StrCat("[", address.ToString(), "]") : address.ToString(),
                            BeFriendly);
    if (scheduler.port() == 0) continue;  // named in /etc/hosts, but missing on this machine
    Inbox inbox;
    Session session(Towards("localhost", scheduler.port()), inbox.Deliver());
    session.Dial(1);
    session.Send(1, JoinMessage(1));
    EXPECT_TRUE(inbox.Next<MessageReceived>().has_value()) << address.ToString();
  }
}

// Offers datagrams with each welcome.
FakeScheduler::OnMessage Offering(const std::string& key) {
  return
      [key](const v1::AgentMessage& message, grpc::ServerReaderWriter<v1::SchedulerMessage, v1::AgentMessage>& stream) {
        v1::SchedulerMessage answer;
        if (!message.has_join()) return BeFriendly(message, stream);
        v1::DatagramOffer& offer = *answer.mutable_welcome()->mutable_datagrams();
        offer.set_stream(9);
        offer.set_key(key);
        offer.set_is_secret(true);
        return stream.Write(answer);
      };
}

// Dials and joins; returns the welcome as the session delivers it.
v1::Welcome JoinWith(Session& session, Inbox& inbox) {
  session.Dial(1);
  session.Send(1, JoinMessage(1));
  const auto received = inbox.Next<MessageReceived>();
  EXPECT_TRUE(received && received->message.has_welcome());
  return received ? received->message.welcome() : v1::Welcome();
}

TEST(Session, AnOfferOpensTheWayForHeartbeats) {
  const DatagramKey key = DatagramKey::New(true);
  FakeScheduler scheduler("127.0.0.1", Offering(std::string(key.bytes.begin(), key.bytes.end())));
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(scheduler.port());
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  Inbox inbox;
  Session session(Towards("127.0.0.1", scheduler.port()), inbox.Deliver());
  EXPECT_TRUE(JoinWith(session, inbox).has_datagrams());
  const auto heartbeats = session.heartbeat_socket(1);
  ASSERT_NE(heartbeats, nullptr);
  EXPECT_EQ(session.heartbeat_socket(2), nullptr);

  heartbeats->Send({.heartbeat_seq = 5, .armed_fence_ms = 30'000});
  char bytes[64];
  sockaddr_in agent{};
  socklen_t length = sizeof(agent);
  const ssize_t size = recvfrom(fd, bytes, sizeof(bytes), 0, reinterpret_cast<sockaddr*>(&agent), &length);
  DatagramSeal seal;
  const auto heartbeat = seal.OpenHeartbeat({bytes, static_cast<size_t>(size)}, key);
  ASSERT_TRUE(heartbeat);
  EXPECT_EQ(heartbeat->stream, 9u);
  EXPECT_EQ(heartbeat->heartbeat_seq, 5u);
  EXPECT_EQ(heartbeat->armed_fence_ms, 30'000u);

  const auto answer = [&](const AnswerDatagram& datagram, const DatagramKey& sealed_with) {
    const auto sealed = seal.Seal(datagram, sealed_with);
    sendto(fd, sealed.data(), sealed.size(), 0, reinterpret_cast<sockaddr*>(&agent), length);
  };
  answer({9, 5, 0, 0, 0}, DatagramKey::New(true));
  answer({8, 5, 0, 0, 0}, key);
  answer({9, 5, 3, 60'000, 2'000}, key);
  pollfd readable = {heartbeats->fd(), POLLIN, 0};
  std::vector<v1::Acknowledgement> answers;
  while (answers.empty() && poll(&readable, 1, 20'000) == 1) answers = heartbeats->TakeAnswers();
  ASSERT_EQ(answers.size(), 1u) << "only what the scheduler has sealed, for this stream";
  EXPECT_EQ(answers[0].heartbeat_seq(), 5u);
  EXPECT_EQ(answers[0].events_through(), 3u);
  EXPECT_EQ(answers[0].fence_timeout_ms(), 60'000u);
  EXPECT_EQ(answers[0].heartbeat_interval_ms(), 2'000u);
  close(fd);
  // The port has no listener any more: that has the same effect as silence.
  heartbeats->Send({.heartbeat_seq = 6});
  heartbeats->Send({.heartbeat_seq = 7});
  EXPECT_TRUE(heartbeats->TakeAnswers().empty());
}

TEST(Session, AnOfferThatMakesNoSenseIsNone) {
  FakeScheduler scheduler("127.0.0.1", Offering("too short"));
  Inbox inbox;
  Session session(Towards("127.0.0.1", scheduler.port()), inbox.Deliver());
  EXPECT_FALSE(JoinWith(session, inbox).has_datagrams());
  EXPECT_EQ(session.heartbeat_socket(1), nullptr);
}

TEST(Session, PeersAreCheckedAgainstTheirDigest) {
  FakeScheduler scheduler("127.0.0.1", BeFriendly);
  scheduler.set_peer_list("the peers");
  Inbox inbox;
  Session session(Towards("127.0.0.1", scheduler.port()), inbox.Deliver());
  session.FetchPeers("j", {1, 4, Sha256("the peers"), 1});
  auto fetched = inbox.Next<PeersFetched>();
  ASSERT_TRUE(fetched.has_value());
  EXPECT_EQ(fetched->status.code(), absl::StatusCode::kUnavailable);  // not connected yet

  session.Dial(1);
  session.Send(1, JoinMessage(1));
  ASSERT_TRUE(inbox.Next<MessageReceived>().has_value());
  session.FetchPeers("j", {1, 4, Sha256("the peers"), 1});
  fetched = inbox.Next<PeersFetched>();
  ASSERT_TRUE(fetched.has_value() && fetched->status.ok());
  EXPECT_EQ(fetched->round, 4u);
  EXPECT_EQ(*fetched->peer_list, "the peers");

  session.FetchPeers("j", {1, 4, Sha256("others"), 1});
  fetched = inbox.Next<PeersFetched>();
  ASSERT_TRUE(fetched.has_value());
  EXPECT_EQ(fetched->status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(fetched->peer_list, nullptr);
}

TEST(Session, TargetsAreGroupedByFamily) {
  const std::vector<IpAddress> addresses = {*IpAddress::Parse("::1"), *IpAddress::Parse("10.0.0.1"),
                                            *IpAddress::Parse("10.0.0.2")};
  EXPECT_THAT(Targets(addresses, 8118), ElementsAre("ipv6:[::1]:8118", "ipv4:10.0.0.1:8118,10.0.0.2:8118"));
}

TEST(Session, AnotherKindOfServerIsDistinguishedFromAScheduler) {
  // The greeting of an ssh daemon, and a web server's answer to HTTP/2.
  for (const std::string greeting :
       {"SSH-2.0-OpenSSH_9.2p1\r\n", "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"}) {
    const GreetingPort port(greeting);
    Inbox inbox;
    Session session(Towards("127.0.0.1", port.port()), inbox.Deliver());
    session.Dial(1);
    const auto broken = inbox.Next<StreamBroken>();
    ASSERT_TRUE(broken.has_value()) << greeting;
    EXPECT_EQ(broken->text, "it answers, but is no ms-scheduler: is MS_SCHED_PORT right?") << greeting;
  }
}

}  // namespace
}  // namespace muster::agent
