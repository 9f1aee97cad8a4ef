#include "worker_agent/node/name_wait.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::agent {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A name server that knows a name from some moment on, with a clock of its own.
struct World {
  absl::StatusOr<Addresses> Await(absl::Duration patience) {
    NameWaitTools tools;
    tools.look_up = [this]() -> absl::StatusOr<Addresses> {
      ++looks;
      if (now >= known_from) return answer;
      return absl::UnavailableError("\"pod-0\" is not known");
    };
    tools.pause = [this](absl::Duration pause) {
      now = now + pause;
      return now < end_requested;
    };
    tools.now = [this] { return now; };
    tools.say = [this](const std::string& text) { said.push_back(text); };
    return AwaitHost("sched_host", patience, tools);
  }

  MonotonicTime now;
  MonotonicTime known_from = MonotonicTime::Never();
  MonotonicTime end_requested = MonotonicTime::Never();
  absl::StatusOr<Addresses> answer = Addresses{*IpAddress::Parse("10.0.0.1")};
  int looks = 0;
  std::vector<std::string> said;
};

TEST(AwaitHost, ANameThatIsKnownIsTakenWithoutAWord) {
  World world;
  world.known_from = world.now;
  EXPECT_TRUE(world.Await(absl::Hours(1)).ok());
  EXPECT_EQ(world.looks, 1);
  EXPECT_THAT(world.said, IsEmpty());
}

TEST(AwaitHost, ANameThatComesLaterIsWaitedForAndReportedAtOnce) {
  World world;
  world.known_from = world.now + absl::Seconds(20);
  const auto found = world.Await(absl::Minutes(30));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->at(0).ToString(), "10.0.0.1");
  EXPECT_THAT(world.said, ElementsAre("sched_host: \"pod-0\" is not known; looking it up again for up to 30m",
                                      HasSubstr("again for up to 29m")));
  EXPECT_LE(world.now, world.known_from + absl::Seconds(3));
}

TEST(AwaitHost, GivesUpWhenPatienceIsUsedUpAndSaysLittleUntilThen) {
  World world;
  const absl::Status status = world.Await(absl::Hours(1)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("sched_host: "), HasSubstr("gave up after 1h")));
  EXPECT_LT(world.said.size(), 20u);
}

TEST(AwaitHost, ASignalEndsTheWaitAndABadNameBeginsNone) {
  World world;
  world.end_requested = world.now + absl::Seconds(2);
  EXPECT_EQ(world.Await(absl::Hours(1)).status().code(), absl::StatusCode::kCancelled);
  World bad;
  bad.known_from = bad.now;
  bad.answer = absl::InvalidArgumentError("it is link-local");
  EXPECT_EQ(bad.Await(absl::Hours(1)).status().message(), "sched_host: it is link-local");
  EXPECT_THAT(bad.said, IsEmpty());
}

TEST(PatientLookUp, FindsWhatIsKnownAndSaysWhatIsNot) {
  EXPECT_EQ(PatientLookUp("10.1.2.3")()->at(0).ToString(), "10.1.2.3");
  EXPECT_TRUE(PatientLookUp("localhost")()->at(0).is_loopback());
  EXPECT_EQ(PatientLookUp("no such host")().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(PatientLookUp("fe80::1%lo")().status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace muster::agent
