#include "worker_agent/gateway/torch_store/relay/mux.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"

namespace muster::torch_store {
namespace {

// Two ends with a connection between them; when it is cut, it loses the bytes in transit.
class Pair {
 public:
  Pair()
      : relay(Mux::Side::kRelay,
              {.opened = [](uint32_t) {}, .touched = [](uint32_t) {}, .has_room = [this] { ++times_room; }}),
        store(Mux::Side::kStore,
              {.opened = [this](uint32_t id) { opened.insert(id); }, .touched = [](uint32_t) {}, .has_room = [] {}}) {}

  // Carries some bytes each way.
  void Carry(size_t most = SIZE_MAX) {
    Move(relay, to_store_, store, most);
    Move(store, to_relay_, relay, most);
  }
  void Cut() {
    to_store_.clear();
    to_relay_.clear();
    const uint64_t received_there = store.stream().received();
    ASSERT_TRUE(store.stream().Resume(relay.stream().received()).ok());
    ASSERT_TRUE(relay.stream().Resume(received_there).ok());
  }
  void CarryAll() {
    const auto carry = [this] {
      while (relay.stream().has_more() || store.stream().has_more() || !to_store_.empty() || !to_relay_.empty())
        Carry();
    };
    carry();
    relay.stream().Acknowledge();
    store.stream().Acknowledge();
    carry();
  }

  std::set<uint32_t> opened;
  int times_room = 0;
  Mux relay;
  Mux store;

 private:
  static void Move(Mux& from, std::string& wire, Mux& to, size_t most) {
    from.stream().Fill(wire, wire.size() + 1);
    const std::string part = wire.substr(0, most);
    wire.erase(0, part.size());
    const absl::Status status = to.Receive(part);
    ASSERT_TRUE(status.ok()) << status;
  }

  std::string to_store_;
  std::string to_relay_;
};

std::string TakeAll(Mux& mux, uint32_t id) {
  std::string bytes(mux.Peek(id));
  if (!bytes.empty()) mux.Consume(id, bytes.size());
  return bytes;
}

std::string Frame(char kind, uint32_t id, uint32_t number, const std::string& data = "") {
  std::string frame(1, kind);
  frame.append(reinterpret_cast<const char*>(&id), 4);
  frame.append(reinterpret_cast<const char*>(&number), 4);
  return frame + data;
}

std::string Record(const std::string& bytes, uint64_t received = 0) {
  std::string record(reinterpret_cast<const char*>(&received), 8);
  const auto size = static_cast<uint32_t>(bytes.size());
  record.append(reinterpret_cast<const char*>(&size), 4);
  return record + bytes;
}

TEST(Mux, BytesArriveBothWaysAndTheEndBehindThem) {
  Pair pair;
  const uint32_t id = pair.relay.Open();
  pair.relay.Write(id, "ask");
  pair.relay.Close(id);
  pair.CarryAll();
  EXPECT_THAT(pair.opened, testing::ElementsAre(id));
  EXPECT_FALSE(pair.store.IsAtEnd(id));
  EXPECT_EQ(TakeAll(pair.store, id), "ask");
  EXPECT_TRUE(pair.store.IsAtEnd(id));
  pair.store.Write(id, "answer");
  pair.store.Close(id);
  pair.CarryAll();
  EXPECT_EQ(TakeAll(pair.relay, id), "answer");
  EXPECT_TRUE(pair.relay.IsAtEnd(id));
  EXPECT_EQ(pair.relay.stream().kept() + pair.store.stream().kept(), 0U);
}

TEST(Mux, AClientThatDoesNotReadBlocksNoOther) {
  Pair pair;
  const uint32_t slow = pair.relay.Open();
  const uint32_t other = pair.relay.Open();
  pair.CarryAll();
  ASSERT_EQ(pair.store.Room(slow), Mux::kWindow);
  pair.store.Write(slow, std::string(Mux::kWindow, 's'));
  pair.CarryAll();
  EXPECT_EQ(pair.store.Room(slow), 0U);
  pair.store.Write(other, "prompt");
  pair.CarryAll();
  EXPECT_EQ(TakeAll(pair.relay, other), "prompt");
  pair.relay.Consume(slow, Mux::kWindow / 2);
  pair.CarryAll();
  EXPECT_EQ(pair.store.Room(slow), Mux::kWindow / 2);
  EXPECT_EQ(pair.relay.buffered(), Mux::kWindow / 2);
}

TEST(Mux, ThereIsRoomAgainOnceBytesAreConfirmed) {
  Pair pair;
  std::vector<uint32_t> ids;
  while (true) {
    ids.push_back(pair.relay.Open());
    const size_t room = pair.relay.Room(ids.back());
    if (room == 0) break;
    pair.relay.Write(ids.back(), std::string(room, 'x'));
  }
  EXPECT_LE(pair.relay.stream().kept(), ResumableStream::kMaxKept + 10 * ids.size() * 2);
  EXPECT_EQ(pair.times_room, 0);
  pair.CarryAll();
  EXPECT_EQ(pair.times_room, 1);
  EXPECT_EQ(pair.relay.Room(ids.back()), Mux::kWindow);
}

TEST(Mux, WhatComesForADroppedOneGoesNowhere) {
  Pair pair;
  const uint32_t id = pair.relay.Open();
  pair.CarryAll();
  pair.store.Write(id, std::string(Mux::kWindow, 'a'));
  pair.CarryAll();
  pair.relay.Drop(id);
  pair.CarryAll();
  EXPECT_EQ(pair.relay.buffered(), 0U);
  EXPECT_EQ(pair.store.Room(id), Mux::kWindow);  // it gets credit anyway
  pair.store.Write(id, "more");
  pair.store.Close(id);
  pair.CarryAll();
  EXPECT_EQ(pair.relay.buffered(), 0U);
}

TEST(Mux, ThePastOfAnIdThatTheStoreClosedIsIgnored) {
  Pair pair;
  const uint32_t id = pair.relay.Open();
  pair.CarryAll();
  pair.relay.Write(id, "late");
  pair.store.Close(id);
  pair.relay.Close(id);
  pair.CarryAll();
  EXPECT_TRUE(pair.relay.IsAtEnd(id));
  EXPECT_EQ(pair.store.buffered(), 0U);
}

TEST(Mux, HostileFramesAreRefused) {
  const std::string open = Frame(1, 1, 0);
  const std::string full = open + Frame(2, 1, Mux::kWindow - 1, std::string(Mux::kWindow - 1, 'x'));
  for (const std::string& bytes : {
           Record(Frame(1, 2, 0)),                            // not the next id
           Record(open + Frame(1, 1, 0)),                     // twice
           Record(Frame(2, 1, 1, "x")),                       // never opened
           Record(Frame(2, 0, 1, "x")),                       //
           Record(open + Frame(2, 1, 0)),                     // nothing
           Record(open + Frame(2, 1, Mux::kWindow + 1)),      // beyond the window
           Record(open + Frame(3, 1, 0) + Frame(2, 1, 1)),    // after its end
           Record(open + Frame(3, 1, 0) + Frame(3, 1, 0)),    //
           Record(open + Frame(4, 1, 1)),                     // credit for nothing
           Record(open + Frame(9, 1, 0)),                     // an unknown kind
           Record("", 1),                                     // confirms more than was sent
           std::string(8, '\0') + std::string("\1\0\1\0", 4)  // a record of 65537 bytes
       }) {
    Pair pair;
    EXPECT_FALSE(pair.store.Receive(bytes).ok());
  }
  Pair pair;
  EXPECT_TRUE(
      pair.store
          .Receive(Record(full.substr(0, 60000)) + Record(full.substr(60000, 60000)) + Record(full.substr(120000)))
          .ok());
  EXPECT_FALSE(pair.store.Receive(Record(Frame(2, 1, 2, "yy"))).ok());
}

TEST(Mux, AnEndlessOpenAndCloseIsBounded) {
  Pair pair;
  absl::Status status;
  for (uint32_t id = 1; status.ok() && id < 2'000'000; ++id) {
    status = pair.store.Receive(Record(Frame(1, id, 0)));
    pair.store.Close(id);
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
}

// One connection in each direction, as its two ends saw it.
struct Flow {
  std::string written;
  std::string read;
};

class MuxRandom : public testing::TestWithParam<int> {};

// No byte is lost, doubled or out of order, no matter where the link is cut.
TEST_P(MuxRandom, SurvivesCuts) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  const auto below = [&](size_t n) { return random() % n; };
  Pair pair;
  std::map<uint32_t, Flow> up;
  std::map<uint32_t, Flow> down;
  std::set<uint32_t> open;
  std::set<uint32_t> ended;
  const auto write = [&](Mux& mux, uint32_t id, std::map<uint32_t, Flow>& flows) {
    const size_t size = std::min(mux.Room(id), below(4) == 0 ? below(90'000) : below(60));
    if (size == 0) return;
    std::string bytes;
    while (bytes.size() < size) absl::StrAppend(&bytes, flows[id].written.size() + bytes.size(), ",");
    bytes.resize(size);
    mux.Write(id, bytes);
    flows[id].written += bytes;
  };
  for (int step = 0; step < 3000; ++step) {
    const size_t choice = below(100);
    if (choice < 2 && up.size() < 50) open.insert(pair.relay.Open());
    if (choice < 5) pair.Cut();
    if (choice < 60) pair.Carry(below(3) == 0 ? SIZE_MAX : below(3000));
    if (open.empty()) continue;
    const uint32_t id = *std::next(open.begin(), static_cast<int64_t>(below(open.size())));
    if (!ended.contains(id)) write(pair.relay, id, up);
    if (pair.opened.contains(id)) {
      up[id].read += TakeAll(pair.store, id);
      write(pair.store, id, down);
    }
    if (choice < 70) down[id].read += TakeAll(pair.relay, id);
    if (choice == 99 && ended.insert(id).second) pair.relay.Close(id);
  }
  for (int i = 0; i < 200; ++i) {
    if (i % 10 == 0) pair.Cut();
    pair.Carry();
    for (const uint32_t id : open) {
      down[id].read += TakeAll(pair.relay, id);
      if (pair.opened.contains(id)) up[id].read += TakeAll(pair.store, id);
    }
  }
  pair.CarryAll();
  for (const uint32_t id : open) {
    down[id].read += TakeAll(pair.relay, id);
    up[id].read += TakeAll(pair.store, id);
    EXPECT_TRUE(up[id].read == up[id].written) << id;
    EXPECT_TRUE(down[id].read == down[id].written) << id;
    EXPECT_EQ(pair.store.IsAtEnd(id), ended.contains(id));
  }
  EXPECT_EQ(pair.store.buffered() + pair.relay.buffered(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, MuxRandom, testing::Range(1, 9));

}  // namespace
}  // namespace muster::torch_store
