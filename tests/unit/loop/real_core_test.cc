// The loop around the real core and the memory journal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/core.h"
#include "scheduler/journal/memory_journal.h"
#include "tests/unit/loop/loop_fakes.h"

namespace muster::scheduler {
namespace {

using ::testing::Contains;

JoinRequested AJoin(StreamId stream) {
  JoinRequested requested;
  requested.stream = stream;
  requested.peer_address = "10.0.0.1";
  v1::Join& join = requested.join;
  join.set_protocol_version(1);
  join.set_job_id("job");
  join.set_incarnation(7);
  join.set_connect_seq(1);
  join.mutable_settings()->set_worker_num(1);
  join.mutable_node()->set_role(v1::ROLE_WORKER);
  join.mutable_node()->set_host_name("host");
  join.mutable_node()->set_machine_id("m");
  join.mutable_node()->add_slots();
  join.mutable_node()->set_master_port(6000);
  return requested;
}

TEST(RealCore, AJobOfOneFormsThroughTheLoop) {
  Story story;
  StorySink sink(story);
  MemoryJournal journal;
  Core core(CoreOptions{}, "cluster");
  Loop loop(core, journal, sink, Clock::System(), {});
  ASSERT_TRUE(loop.Start().ok());
  ASSERT_TRUE(loop.Post(AJoin(1)));
  ASSERT_TRUE(loop.Post(QueryReceived{5, v1::StatusRequest()}));
  loop.Stop();
  EXPECT_THAT(story.words(), Contains("welcome 1 term 1"));
  EXPECT_THAT(story.words(), Contains("publish 1"));
  EXPECT_THAT(story.words(), Contains("desired 1 term 1"));
  EXPECT_THAT(story.words(), Contains("answer 5"));
  core.CheckInvariants();
}

TEST(RealCore, DeadlinesRunByThemselves) {
  Story story;
  StorySink sink(story);
  MemoryJournal journal;
  CoreOptions options;
  options.is_once = true;
  options.topo_timeout = absl::Milliseconds(20);
  Core core(options, "cluster");
  Loop loop(core, journal, sink, Clock::System(), {});
  ASSERT_TRUE(loop.Start().ok());
  story.Await(1);
  loop.Stop();
  EXPECT_THAT(story.words(), Contains("settled 0")) << "nobody joined: --once ends without a run";
}

}  // namespace
}  // namespace muster::scheduler
