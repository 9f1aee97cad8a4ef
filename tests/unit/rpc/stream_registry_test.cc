#include "scheduler/rpc/stream_registry.h"

#include <gtest/gtest.h>

namespace muster::scheduler {
namespace {

MonotonicTime At(double seconds) { return MonotonicTime() + absl::Seconds(seconds); }

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
  streams.Add(id, stream);
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

// Streams that are opened and reset as fast as a peer can would pile up for as long as their limits of time are.
TEST(StreamRegistry, NothingIsKeptOfStreamsThatAreGone) {
  StreamRegistry streams;
  for (int i = 0; i < 1000; ++i) {
    const StreamId id = streams.NextId();
    streams.Add(id, std::make_shared<FakeStream>());
    streams.Watch(id, At(10));
    streams.Watch(id, At(5));
    streams.Remove(id);
    streams.Watch(id, At(7));
  }
  EXPECT_EQ(streams.size(), 0u);
  EXPECT_EQ(streams.deadline_count(), 0u);
}

}  // namespace
}  // namespace muster::scheduler
