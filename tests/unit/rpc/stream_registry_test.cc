#include "scheduler/frontend/stream_registry.h"

#include <gtest/gtest.h>

#include "tests/unit/common/times.h"

namespace muster::scheduler {
namespace {

class FakeStream : public OpenStream {
 public:
  void Send(std::shared_ptr<const v1::SchedulerMessage> /*message*/) override {}
  void Close() override {}
  void CloseForShutdown() override {}
  void OnDeadline() override { ++deadlines; }
  void MakeRoom() override {}
  void CheckPeer() override {}
  int deadlines = 0;
};

TEST(StreamRegistry, EachDeadlineComesOnce) {
  StreamRegistry streams;
  const auto stream = std::make_shared<FakeStream>();
  const StreamId id = streams.NextId();
  streams.Add(id, "10.0.0.1", stream);
  streams.Watch(id, At(1));
  streams.Watch(id, At(2));
  streams.Sweep(At(0.9));
  EXPECT_EQ(stream->deadlines, 0);
  streams.Sweep(At(1));
  streams.Sweep(At(1.5));
  EXPECT_EQ(stream->deadlines, 1);
  streams.Sweep(At(9));
  EXPECT_EQ(stream->deadlines, 2);
  EXPECT_EQ(streams.deadline_count(), 0u);
}

// Streams that a peer opens and resets as fast as it can would pile up for the length of their time limits.
TEST(StreamRegistry, NothingIsKeptOfStreamsThatAreGone) {
  StreamRegistry streams;
  for (int i = 0; i < 1000; ++i) {
    const StreamId id = streams.NextId();
    streams.Add(id, "10.0.0.1", std::make_shared<FakeStream>());
    streams.Watch(id, At(10));
    streams.Watch(id, At(5));
    streams.Remove(id);
    streams.Watch(id, At(7));
  }
  EXPECT_EQ(streams.size(), 0u);
  EXPECT_EQ(streams.deadline_count(), 0u);
}

// An honest agent's join takes a moment, in which a hostile client can open thousands.
TEST(StreamRegistry, ThePrincipalWithMostStreamsMakesRoom) {
  StreamRegistry streams(10);
  const StreamId honest = streams.NextId();
  EXPECT_EQ(streams.Add(honest, "10.0.0.1", std::make_shared<FakeStream>()), nullptr);
  std::vector<std::shared_ptr<FakeStream>> flood;
  for (size_t i = 0; i < 100; ++i) {
    flood.push_back(std::make_shared<FakeStream>());
    const auto gone = streams.Add(streams.NextId(), "10.0.0.66", flood.back());
    EXPECT_EQ(gone, i < 9 ? nullptr : flood[i - 9]) << i;
  }
  streams.NoteJoined(honest);
  EXPECT_EQ(streams.Add(streams.NextId(), "10.0.0.2", std::make_shared<FakeStream>()), nullptr);
  EXPECT_NE(streams.Add(streams.NextId(), "10.0.0.2", std::make_shared<FakeStream>()), nullptr);
}

TEST(StreamRegistry, ThoseThatJoinOrEndCountNoMore) {
  StreamRegistry streams(2);
  for (int i = 0; i < 10; ++i) {
    const StreamId joins = streams.NextId(), ends = streams.NextId();
    EXPECT_EQ(streams.Add(joins, "10.0.0.1", std::make_shared<FakeStream>()), nullptr);
    EXPECT_EQ(streams.Add(ends, "10.0.0.1", std::make_shared<FakeStream>()), nullptr);
    streams.NoteJoined(joins);
    streams.Remove(ends);
    streams.Remove(ends);
    streams.NoteJoined(ends);
  }
}

}  // namespace
}  // namespace muster::scheduler
