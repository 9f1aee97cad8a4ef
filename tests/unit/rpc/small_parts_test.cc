// Peers, first bytes, the memory budget, the outgoing queue, published rounds, pending queries, the port's holder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

#include "absl/base/config.h"
#include "common/net/http2/connection_name.h"
#include "scheduler/frontend/authorizer.h"
#include "scheduler/frontend/outgoing_queue.h"
#include "scheduler/frontend/pending_queries.h"
#include "scheduler/frontend/published_rounds.h"
#include "scheduler/ingress/connection_peers.h"
#include "scheduler/ingress/first_bytes.h"
#include "scheduler/ingress/grpc/grpc_limits.h"
#include "scheduler/ingress/peer_facts.h"
#include "scheduler/ingress/port_holder.h"
#include "tests/unit/launch/temporary_folder.h"

namespace muster::scheduler {
namespace {

PeerFacts Plain(const std::string& peer) { return FactsOf(peer, nullptr, false); }
PeerFacts OfAdminSocket() { return *ConnectionPeers().Find("unix:"); }

// A part of a peak's memory was given back while the peak still grew. Memory that is freed later must go back, too.
TEST(MemoryReturn, GivesBackWhatIsFreedAfterItHasLooked) {
#if defined(ABSL_HAVE_ADDRESS_SANITIZER) || defined(ABSL_HAVE_THREAD_SANITIZER)
  GTEST_SKIP() << "a sanitizer's allocator keeps what is freed";
#else
  const auto resident = [] {
    uint64_t size = 0, pages = 0;
    std::ifstream("/proc/self/statm") >> size >> pages;
    return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) >> 20;
  };
  MemoryReturn memory;
  MonotonicTime now = MonotonicTime::FromNanoseconds(1) + absl::Hours(1);
  const uint64_t before = resident();
  std::vector<std::unique_ptr<char[]> > pieces;
  for (int i = 0; i < 100'000; ++i) {
    pieces.push_back(std::make_unique<char[]>(1024));
    std::memset(pieces.back().get(), 1, 1024);
  }
  memory.Sweep(now);
  EXPECT_GT(resident(), before + 90);
  auto last = std::make_unique<char[]>(1024);  // after all others, so that the heap can't simply be cut off
  pieces.clear();
  memory.Sweep(now + absl::Seconds(5));
  EXPECT_GT(resident(), before + 60) << "looks every 10 s";
  memory.Sweep(now + absl::Seconds(10));
  EXPECT_LT(resident(), before + 30);
#endif
}

TEST(PeerFacts, UnderstandsAddresses) {
  EXPECT_EQ(Plain("10.0.0.1:4711").ToString(), "10.0.0.1:4711");
  EXPECT_EQ(Plain("[::1]:4711").ToString(), "[::1]:4711");
  EXPECT_EQ(Plain("[2001:db8::7]:1").address, "2001:db8::7");
  EXPECT_EQ(Plain("[::ffff:10.0.0.1]:9").address, "10.0.0.1");
}

TEST(PeerFacts, NeverTakesWhatItDoesNotKnowForLocal) {
  for (const char* peer : {"", "unknown", "1.2.3.4", "1.2.3.4:99999", "host:1", "unix:", "/run/x.sock"}) {
    const PeerFacts facts = Plain(peer);
    EXPECT_FALSE(facts.is_unix) << peer;
    EXPECT_EQ(facts.address, "") << peer;
    EXPECT_EQ(facts.ToString(), "an unknown address") << peer;
  }
}

TEST(ConnectionPeers, FindsTheConnectionOfACall) {
  ConnectionPeers peers;
  peers.Add(4711, Plain("10.0.0.1:9"));
  const std::string name = "unix-abstract:" + SocketNameOf(4711);
  EXPECT_EQ(ConnectionOf(name), 4711u);
  EXPECT_EQ(peers.Find(name)->address, "10.0.0.1");
  EXPECT_EQ(peers.Find(name)->connection, 4711u);
  EXPECT_TRUE(peers.Find("unix:")->is_unix);
  EXPECT_TRUE(peers.Find("unix:/run/x.sock")->is_unix);
  peers.Remove(4711);
  EXPECT_EQ(peers.Find(name)->address, "");
}

// A client of the admin socket may give its own end any name.
TEST(ConnectionPeers, AnAbstractNameIsNeverTheAdminSocket) {
  const ConnectionPeers peers;
  for (const std::string& peer :
       {"unix-abstract:" + SocketNameOf(1), std::string("unix-abstract:x"), std::string("unix-abstract:"),
        std::string("unix-abstract:unix:"), std::string("ipv4:10.0.0.1:9"), std::string("vsock:1:2"), std::string()}) {
    EXPECT_FALSE(peers.Find(peer)->is_unix) << peer;
    EXPECT_EQ(peers.Find(peer)->address, "") << peer;
  }
}

TEST(PlaintextAuthorizer, ChangesNeedTheAdminSocket) {
  PlaintextAuthorizer authorizer;
  EXPECT_TRUE(authorizer.AuthorizeAdminChange(OfAdminSocket(), "j").ok());
  EXPECT_EQ(authorizer.AuthorizeAdminChange(Plain("127.0.0.1:5"), "j").code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(authorizer.AuthorizeAdminChange(Plain(""), "j").code(), absl::StatusCode::kPermissionDenied);
}

TEST(PlaintextAuthorizer, NodesJoinOverTcp) {
  PlaintextAuthorizer authorizer;
  EXPECT_TRUE(authorizer.AuthorizeJoin(Plain("127.0.0.1:5"), {}).ok());
  EXPECT_FALSE(authorizer.AuthorizeJoin(OfAdminSocket(), {}).ok());
  EXPECT_FALSE(authorizer.AuthorizeJoin(Plain("?"), {}).ok());
}

TEST(FirstBytes, DistinguishesProtocols) {
  EXPECT_EQ(Classify("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), FirstBytes::kHttp2);
  EXPECT_EQ(Classify("P"), FirstBytes::kHttp2) << "a beginning may still become one";
  EXPECT_EQ(Classify("POST / HTTP/1.1\r\n"), FirstBytes::kGarbage);
  EXPECT_EQ(Classify("GET / HTTP/1.1\r\n\r\n"), FirstBytes::kGarbage);
  EXPECT_EQ(Classify(std::string("\x16\x03\x01\x02", 4)), FirstBytes::kTls);
  EXPECT_EQ(Classify(std::string("\x16\x99", 2)), FirstBytes::kGarbage);
  EXPECT_EQ(Classify(std::string(1, '\0')), FirstBytes::kGarbage);
}

OutgoingQueue::Message Welcome() {
  auto message = std::make_shared<v1::SchedulerMessage>();
  message->mutable_welcome();
  return message;
}
OutgoingQueue::Message Probe(uint64_t probe) {
  auto message = std::make_shared<v1::SchedulerMessage>();
  message->mutable_probe()->set_probe(probe);
  return message;
}
OutgoingQueue::Message Acknowledgement(uint64_t seq) {
  auto message = std::make_shared<v1::SchedulerMessage>();
  message->mutable_acknowledgement()->set_heartbeat_seq(seq);
  return message;
}
OutgoingQueue::Message Desired(uint32_t round) {
  auto message = std::make_shared<v1::SchedulerMessage>();
  message->mutable_desired()->set_round(round);
  return message;
}

// systemd sets the limit of a service with MemoryMax= in the service's own group, not at the root of the hierarchy.
TEST(MemoryLimitOf, IsTheLeastOfTheControlGroupAndThoseAboveIt) {
  const agent::TemporaryFolder root;
  const auto limit = [&](const char* groups) { return MemoryLimitOf(groups, root.path()); };
  root.Write("system.slice/ms-scheduler.service/memory.max", "3000\n");
  root.Write("system.slice/memory.max", "max\n");
  root.Write("system.slice/small/memory.max", "9000\n");
  root.Write("memory/kubepods/memory.limit_in_bytes", "700\n");
  EXPECT_EQ(limit("0::/system.slice/ms-scheduler.service\n"), 3000u);
  EXPECT_EQ(limit("0::/system.slice/ms-scheduler.service/below\n"), 3000u);
  EXPECT_EQ(limit("0::/system.slice\n"), UINT64_MAX);
  EXPECT_EQ(limit("0::/\n"), UINT64_MAX);
  EXPECT_EQ(limit(""), UINT64_MAX);
  EXPECT_EQ(limit("nonsense\n0:x\n0::relative\n"), UINT64_MAX);
  EXPECT_EQ(limit("5:cpu:/kubepods\n4:hugetlb,memory:/kubepods/pod\n0::/\n"), 700u);
  root.Write("memory.max", "2000\n");  // a container's
  EXPECT_EQ(limit("0::/\n"), 2000u);
  EXPECT_EQ(limit("0::/system.slice/ms-scheduler.service\n"), 2000u);
}

TEST(OutgoingQueue, TheLatestWinsAndTheRestIsKeptInOrder) {
  OutgoingQueue queue;
  queue.Push(Welcome());
  for (uint32_t i = 1; i <= 100; ++i) {
    EXPECT_TRUE(queue.Push(Desired(i)));
    EXPECT_TRUE(queue.Push(Acknowledgement(i)));
  }
  queue.Push(Probe(1));
  queue.Push(Probe(2));
  EXPECT_TRUE(queue.Take()->has_welcome());
  EXPECT_EQ(queue.Take()->probe().probe(), 1u);
  EXPECT_EQ(queue.Take()->probe().probe(), 2u);
  EXPECT_EQ(queue.Take()->acknowledgement().heartbeat_seq(), 100u);
  EXPECT_EQ(queue.Take()->desired().round(), 100u);
  EXPECT_EQ(queue.Take(), nullptr);
  EXPECT_TRUE(queue.empty());
}

TEST(OutgoingQueue, ADesiredStateWaitsForTheWelcome) {
  OutgoingQueue queue;
  queue.Push(Desired(3));
  EXPECT_EQ(queue.Take(), nullptr);
  EXPECT_TRUE(queue.empty());
  queue.Push(Welcome());
  EXPECT_TRUE(queue.Take()->has_welcome());
  EXPECT_EQ(queue.Take()->desired().round(), 3u);
  queue.Push(Desired(4));
  EXPECT_EQ(queue.Take()->desired().round(), 4u);
}

TEST(OutgoingQueue, KeptMessagesAreBounded) {
  OutgoingQueue queue;
  for (size_t i = 0; i < OutgoingQueue::kMaxKept; ++i) EXPECT_TRUE(queue.Push(Probe(i)));
  EXPECT_FALSE(queue.Push(Probe(99)));
}

TEST(PublishedRounds, AnswersForTheLatestRoundsOfEachRun) {
  PublishedRounds rounds;
  const auto list = std::make_shared<const std::string>("bytes");
  for (uint32_t round : {1u, 2u, 3u}) rounds.Publish("job", 1, round, list);
  rounds.Publish("job", 2, 1, list);
  EXPECT_EQ(rounds.Find("job", 1, 1), nullptr);
  EXPECT_EQ(rounds.Find("job", 1, 2), list);
  EXPECT_EQ(rounds.Find("job", 1, 3), list);
  EXPECT_EQ(rounds.Find("other", 1, 3), nullptr);
  rounds.Forget("job", 1);
  EXPECT_EQ(rounds.Find("job", 1, 3), nullptr);
  EXPECT_EQ(rounds.Find("job", 2, 1), list);
}

TEST(PendingQueries, EachIsAnsweredOnce) {
  PendingQueries queries(2);
  int answers = 0;
  absl::Status last;
  const auto note = [&](Answer answer) {
    ++answers;
    last = answer.status;
  };
  const QueryId first = *queries.Add(MonotonicTime() + absl::Seconds(10), note);
  const QueryId second = *queries.Add(MonotonicTime() + absl::Seconds(20), note);
  EXPECT_EQ(queries.Add(MonotonicTime(), note).status().code(), absl::StatusCode::kResourceExhausted);
  queries.Resolve(Answer{first, absl::OkStatus(), {}});
  queries.Resolve(Answer{first, absl::OkStatus(), {}});
  EXPECT_EQ(answers, 1);
  queries.Expire(MonotonicTime() + absl::Seconds(19));
  EXPECT_EQ(answers, 1);
  queries.Expire(MonotonicTime() + absl::Seconds(20));
  EXPECT_EQ(answers, 2);
  EXPECT_EQ(last.code(), absl::StatusCode::kDeadlineExceeded);
  queries.Resolve(Answer{second, absl::OkStatus(), {}});
  EXPECT_EQ(answers, 2) << "too late";
}

TEST(PendingQueries, CloseAnswersAllAndTakesNoMore) {
  PendingQueries queries(2);
  absl::Status last;
  ASSERT_TRUE(queries.Add(MonotonicTime::Never(), [&](Answer answer) { last = answer.status; }).ok());
  queries.Close();
  EXPECT_EQ(last.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(queries.Add(MonotonicTime::Never(), nullptr).status().code(), absl::StatusCode::kUnavailable);
}

// The posted events, in order.
class PendingTurnsTest : public testing::Test {
 protected:
  QueryId Ask(const std::string& principal, const std::string& name) {
    const auto id = queries_.Add(
        MonotonicTime() + absl::Seconds(10), [](const Answer&) {}, principal);
    EXPECT_TRUE(id.ok()) << id.status();
    queries_.Begin(*id, [this, name] {
      posted_.push_back(name);
      return name != "refused";
    });
    return *id;
  }

  PendingQueries queries_{1'024};
  std::vector<std::string> posted_;
};

TEST_F(PendingTurnsTest, FewAreInTheQueueOfTheLoop) {
  for (int i = 0; i < 500; ++i) Ask("flood", "f");
  EXPECT_EQ(posted_.size(), PendingQueries::kMaxPosted);
  queries_.NoteApplied();
  EXPECT_EQ(posted_.size(), PendingQueries::kMaxPosted + 1);
}

TEST_F(PendingTurnsTest, PrincipalsTakeTurns) {
  for (int i = 0; i < 500; ++i) Ask("flood", "f");
  posted_.clear();
  for (const char* name : {"a1", "a2"}) Ask("a", name);
  Ask("b", "b1");
  for (int i = 0; i < 6; ++i) queries_.NoteApplied();
  EXPECT_THAT(posted_, testing::ElementsAre("f", "a1", "b1", "f", "a2", "f"));
}

TEST_F(PendingTurnsTest, OnePrincipalLeavesPlacesForOthers) {
  for (int i = 0; i < 512; ++i) Ask("flood", "f");
  EXPECT_EQ(queries_.Add(MonotonicTime(), nullptr, "flood").status().code(), absl::StatusCode::kResourceExhausted);
  Ask("a", "a1");
}

TEST_F(PendingTurnsTest, WhatIsAnsweredBeforeItsTurnIsNotPosted) {
  for (size_t i = 0; i < PendingQueries::kMaxPosted; ++i) Ask("a", "a");
  const QueryId late = Ask("a", "late"), other = Ask("b", "other");
  Ask("b", "last");
  posted_.clear();
  for (const QueryId id : {late, other}) queries_.Resolve(Answer{id, absl::OkStatus(), {}});
  queries_.NoteApplied();
  EXPECT_THAT(posted_, testing::ElementsAre("last"));
  for (size_t i = 0; i < PendingQueries::kMaxPosted; ++i) queries_.NoteApplied();
  Ask("a", "at once");
  EXPECT_EQ(posted_.back(), "at once");
}

TEST_F(PendingTurnsTest, APlaceThatIsNotUsedGoesToTheNext) {
  for (size_t i = 0; i < PendingQueries::kMaxPosted; ++i) Ask("a", "a");
  Ask("a", "refused");
  Ask("a", "next");
  queries_.NoteApplied();
  EXPECT_EQ(posted_.back(), "next");
}

TEST(PortHolder, FindsListeningSocketsOnly) {
  const std::string table =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
      "   0: 0100007F:1FB6 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 100 0\n"
      "   1: 0100007F:1FB6 0100007F:9999 01 00000000:00000000 00:00000000 00000000  1000        0 4712 1 0 100 0\n"
      "   2: 0100007F:1FB7 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4713 1 0 100 0\n"
      "garbage\n";
  const auto found = FindListening(table, 8118);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].inode, 4711u);
  EXPECT_EQ(found[0].uid, 1000u);
  EXPECT_TRUE(FindListening(table, 80).empty());
  EXPECT_TRUE(FindListening("", 8118).empty());
}

}  // namespace
}  // namespace muster::scheduler
