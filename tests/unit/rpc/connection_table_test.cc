#include "scheduler/ingress/connection_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace muster::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

MonotonicTime At(double seconds) { return MonotonicTime() + absl::Seconds(seconds); }

class ConnectionTableTest : public ::testing::Test {
 protected:
  // Returns the connections that were found silent.
  std::vector<std::string> SweepAt(double seconds) {
    std::vector<std::string> names;
    for (const NamedConnection& mute : table_.TakeMute(At(seconds))) names.push_back(mute.peer);
    return names;
  }

  ConnectionTable table_{{.limit = 3,
                          .silence_limit = absl::Seconds(10),
                          .crowded_silence_limit = absl::Seconds(3),
                          .call_limit = absl::Seconds(11)}};
};

TEST_F(ConnectionTableTest, AHandedOverConnectionCountsUntilTheFirstCall) {
  for (const uint64_t id : {5, 6, 7}) table_.AddHandedOver({id, absl::StrCat("b:", id)}, At(0));
  EXPECT_EQ(table_.AddWaiting(8, "c:1"), std::nullopt);
  EXPECT_FALSE(table_.HasNext());
  EXPECT_EQ(table_.TakeNext(), std::nullopt);
  EXPECT_EQ(table_.NoteCall(6), "b:6");
  EXPECT_FALSE(table_.NoteCall(6).has_value()) << "only the first call matters";
  EXPECT_FALSE(table_.NoteCall(99).has_value());
  const auto next = table_.TakeNext();
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->fd, 8);
  EXPECT_EQ(next->peer, "c:1");
}

TEST_F(ConnectionTableTest, AClientWithManyPlacesIsNotNext) {
  table_.AddHandedOver({5, "flood:1"}, At(0));
  table_.AddHandedOver({6, "flood:2"}, At(0));
  EXPECT_EQ(table_.AddWaiting(7, "flood:3"), std::nullopt);
  EXPECT_EQ(table_.AddWaiting(8, "honest:1"), std::nullopt);
  EXPECT_EQ(table_.TakeNext()->peer, "honest:1");
  for (const uint64_t id : {5, 6}) table_.NoteClosed(id);  // the flood's connections have gone
  EXPECT_EQ(table_.AddWaiting(9, "honest:2"), std::nullopt);
  EXPECT_EQ(table_.TakeNext()->peer, "flood:3") << "it came first, and holds no more places";
}

TEST_F(ConnectionTableTest, TheLastPlaceIsForAClientThatHasNone) {
  ConnectionTable table({.limit = 8});
  for (uint64_t id = 10; id < 17; ++id) table.AddHandedOver({id, absl::StrCat("flood:", id)}, At(0));
  EXPECT_EQ(table.AddWaiting(20, "flood:1"), std::nullopt);
  EXPECT_EQ(table.TakeNext(), std::nullopt);
  EXPECT_TRUE(table.IsFull());
  EXPECT_EQ(table.AddWaiting(21, "honest:1"), std::nullopt);
  EXPECT_EQ(table.TakeNext()->peer, "honest:1");
  table.AddHandedOver({21, "honest:1"}, At(0));
  EXPECT_EQ(table.TakeNext(), std::nullopt);
  table.NoteCall(21);
  table.NoteCall(10);
  EXPECT_EQ(table.TakeNext()->peer, "flood:1");
}

// A simulated scheduler with 2 cores and TLS. All addresses of an attacker send half a TLS hello, keep their places for
// 10 s, and come again. After a second honest peers come, with handshakes of 20 ms.
class Flood {
 public:
  // Returns how long the honest peers wait until all have made their calls.
  static double WaitBehind(const std::vector<std::string>& flood, const std::vector<std::string>& honest) {
    Flood race;
    for (const std::string& peer : flood) race.Come(peer);
    race.PassTo(1'000);
    for (const std::string& peer : honest) race.Come(peer);
    for (const std::string& peer : honest) race.honest_.insert(peer);
    while (!race.honest_.empty() && race.now_ms_ < 600'000) race.PassTo(race.now_ms_ + 10);
    return race.honest_.empty() ? static_cast<double>(race.now_ms_ - 1'000) / 1'000 : 1e9;
  }

 private:
  void Come(const std::string& peer) {
    const auto gone = table_.AddWaiting(++last_fd_, peer);
    if (gone.has_value()) dropped_.emplace(now_ms_ + 1'000, gone->peer);
  }
  void PassTo(int64_t until_ms) {
    for (; now_ms_ <= until_ms; now_ms_ += 10) {
      for (; !ends_.empty() && ends_.begin()->first <= now_ms_; ends_.erase(ends_.begin())) {
        const std::string peer = *table_.NoteCall(ends_.begin()->second);
        if (honest_.erase(peer) == 0) Come(peer);
      }
      for (; !dropped_.empty() && dropped_.begin()->first <= now_ms_; dropped_.erase(dropped_.begin())) {
        Come(dropped_.begin()->second);
      }
      while (const auto next = table_.TakeNext()) {
        table_.AddHandedOver({++last_id_, next->peer}, At(0));
        ends_.emplace(now_ms_ + (honest_.contains(next->peer) ? 20 : 10'000), last_id_);
      }
    }
  }

  ConnectionTable table_{{.limit = 32}};
  std::multimap<int64_t, uint64_t> ends_;
  std::multimap<int64_t, std::string> dropped_;
  std::set<std::string> honest_;
  int64_t now_ms_ = 0;
  int last_fd_ = 0;
  uint64_t last_id_ = 0;
};

std::vector<std::string> Peers(int count, const std::function<std::string(int)>& address) {
  std::vector<std::string> peers;
  for (int i = 0; i < count; ++i) peers.push_back(absl::StrCat(address(i), ":", 1'000 + i));
  return peers;
}
std::string OneAddress(int /*i*/) { return "10.0.0.1"; }
std::string OfOneSlash24(int i) { return absl::StrCat("10.0.1.", i % 256); }
std::string OfOneSlash64(int i) { return absl::StrFormat("[2001:db8:bad:1::%x]", i + 1); }
std::string OfOneSlash48(int i) { return absl::StrFormat("[2001:db8:bad:%x::1]", i + 1); }
std::string Rack(int i) { return absl::StrCat("10.7.", i / 250, ".", i % 250); }
std::string RackOfIpv6(int i) { return absl::StrFormat("[2001:db8:7:7::%x]", i + 1); }

TEST(ConnectionFlood, ShutsOutNoOtherClient) {
  const struct {
    const char* name;
    std::vector<std::string> flood;
  } floods[] = {
      {"one address", Peers(3'000, OneAddress)},      {"a /24", Peers(256, OfOneSlash24)},
      {"3,000 of a /24", Peers(3'000, OfOneSlash24)}, {"a /64", Peers(3'000, OfOneSlash64)},
      {"a /48", Peers(3'000, OfOneSlash48)},
  };
  for (const auto& flood : floods) {
    EXPECT_LE(Flood::WaitBehind(flood.flood, Peers(1, Rack)), 0.1) << flood.name;
    EXPECT_LE(Flood::WaitBehind(flood.flood, Peers(1, RackOfIpv6)), 0.1) << flood.name;
    // The honest peers share the remaining places, so they take longer; real agents wait up to two minutes.
    EXPECT_LE(Flood::WaitBehind(flood.flood, Peers(1'000, Rack)), 15) << flood.name;
    EXPECT_LE(Flood::WaitBehind(flood.flood, Peers(1'000, RackOfIpv6)), 25) << flood.name;
  }
}

// The flood comes from a machine of the cluster: its neighbours share a network, or even a /64, with it.
TEST(ConnectionFlood, FromOneAddressShutsOutNoNeighbour) {
  const auto neighbour = [](int i) { return absl::StrFormat("[2001:db8:bad:1::7:%x]", i); };
  for (const auto& flood :
       {Peers(3'000, [](int) { return "10.7.0.251"; }), Peers(3'000, [](int) { return "[2001:db8:bad:1::66]"; })}) {
    EXPECT_LE(Flood::WaitBehind(flood, Peers(1'000, Rack)), 15) << flood[0];
    EXPECT_LE(Flood::WaitBehind(flood, Peers(1'000, neighbour)), 15) << flood[0];
  }
  // The rack has a /64 of its own in the cluster's /48.
  const auto rack_of_48 = [](int i) { return absl::StrFormat("[2001:db8:bad:ffff::%x]", i); };
  EXPECT_LE(Flood::WaitBehind(Peers(3'000, OfOneSlash64), Peers(1, rack_of_48)), 0.1);
}

// This is true even if more connections come than the waiting room has places, which are 16,384.
TEST(ConnectionFlood, OfManyClientAddressesFillsNoRoom) {
  EXPECT_LE(Flood::WaitBehind(Peers(17'000, OfOneSlash48), Peers(10, Rack)), 1);
  EXPECT_LE(Flood::WaitBehind(Peers(17'000, OfOneSlash64), Peers(10, Rack)), 1);
}

TEST_F(ConnectionTableTest, TheOldestSilentOneMakesRoom) {
  ConnectionTable table({.most_silent = 2});
  EXPECT_EQ(table.AddSilent(5, "a:1", At(1)), std::nullopt);
  EXPECT_EQ(table.AddSilent(6, "b:1", At(0)), std::nullopt);
  const auto gone = table.AddSilent(7, "c:1", At(2));
  ASSERT_TRUE(gone.has_value());
  EXPECT_EQ(gone->fd, 6);
  EXPECT_EQ(gone->age, absl::Seconds(2));
  EXPECT_EQ(table.TakeSilent(6), std::nullopt);
  EXPECT_THAT(table.TakeAllOwn(), ElementsAre(5, 7));
  EXPECT_TRUE(table.empty());
}

TEST_F(ConnectionTableTest, ASilentOneIsTakenOnce) {
  table_.AddSilent(5, "a:1", At(0));
  EXPECT_EQ(table_.TakeSilent(5), "a:1");
  EXPECT_EQ(table_.TakeSilent(5), std::nullopt);
  EXPECT_TRUE(table_.empty());
}

TEST_F(ConnectionTableTest, SilenceHasALimit) {
  table_.AddSilent(5, "a:1", At(0));
  table_.AddSilent(6, "b:1", At(4));
  EXPECT_THAT(table_.TakeOverdue(At(9.9), false), IsEmpty());
  const auto overdue = table_.TakeOverdue(At(10), false);
  ASSERT_EQ(overdue.size(), 1u);
  EXPECT_EQ(overdue[0].fd, 5);
  EXPECT_EQ(overdue[0].peer, "a:1");
  EXPECT_EQ(overdue[0].age, absl::Seconds(10));
}

TEST_F(ConnectionTableTest, WhileDescriptorsAreScarceTheLimitIsShorter) {
  for (int fd : {5, 6, 7}) table_.AddSilent(fd, "x:" + std::to_string(fd), At(fd == 7 ? 2 : 0));
  EXPECT_THAT(table_.TakeOverdue(At(2.9), true), IsEmpty());
  EXPECT_EQ(table_.TakeOverdue(At(3), true).size(), 2u);
  EXPECT_THAT(table_.TakeOverdue(At(6), false), IsEmpty()) << "with room the long limit holds again";
}

TEST_F(ConnectionTableTest, AConnectionThatClosesBeforeItsFirstCallIsReported) {
  table_.AddHandedOver({5, "stays:1"}, At(0));
  table_.AddHandedOver({6, "closes:1"}, At(0));
  table_.NoteCall(5);
  EXPECT_EQ(table_.NoteClosed(5), std::nullopt) << "it had made a call";
  EXPECT_EQ(table_.NoteClosed(6), "closes:1");
  EXPECT_EQ(table_.NoteClosed(6), std::nullopt);
  EXPECT_TRUE(table_.empty());
}

TEST_F(ConnectionTableTest, OneThatMakesNoCallStopsCounting) {
  table_.AddHandedOver({5, "mute:1"}, At(0));
  EXPECT_THAT(SweepAt(10.9), IsEmpty());
  EXPECT_THAT(SweepAt(11), ElementsAre("mute:1"));
  EXPECT_TRUE(table_.empty());
}

}  // namespace
}  // namespace muster::scheduler
