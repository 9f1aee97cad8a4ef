#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/store/memory_job_store.h"
#include "tests/unit/common/manual_clock.h"
#include "worker_agent/gateway/mpi/pmix/asked_of_agents.h"
#include "worker_agent/gateway/mpi/pmix/frames.h"

namespace muster::agent {
namespace {

using Kind = PublishedNames::Kind;

class PublishedNamesTest : public testing::Test {
 protected:
  static absl::StatusOr<std::string> Ask(PublishedNames& names, Kind kind, const std::string& name,
                                         const std::string& value = "") {
    names.Ask({kind, 7, name, value});
    const auto answers = names.TakeAll();
    if (answers.size() != 1 || answers[0].token != 7) return absl::InternalError("no answer");
    return answers[0].value;
  }
  ManualClock clock_;
  MemoryJobStore store_{clock_};
  PublishedNames first_{store_, std::make_shared<Poller>()};
  PublishedNames second_{store_, std::make_shared<Poller>()};
};

TEST_F(PublishedNamesTest, AnotherNodeFindsWhatOneHasPublishedUntilItIsTakenBack) {
  EXPECT_TRUE(absl::IsNotFound(Ask(second_, Kind::kLookup, "service").status()));
  EXPECT_TRUE(Ask(first_, Kind::kPublish, "service of another", "port").ok());
  EXPECT_TRUE(absl::IsNotFound(Ask(second_, Kind::kLookup, "service").status()));
  EXPECT_TRUE(Ask(first_, Kind::kPublish, "service", "port").ok());
  EXPECT_EQ(*Ask(second_, Kind::kLookup, "service"), "port");
  EXPECT_TRUE(Ask(first_, Kind::kUnpublish, "service").ok());
  EXPECT_TRUE(absl::IsNotFound(Ask(second_, Kind::kLookup, "service").status()));
  EXPECT_TRUE(Ask(first_, Kind::kUnpublish, "service").ok());
}

TEST_F(PublishedNamesTest, ANameIsPublishedOnce) {
  EXPECT_TRUE(Ask(first_, Kind::kPublish, "service", "port").ok());
  EXPECT_TRUE(Ask(first_, Kind::kPublish, "service", "port").ok()) << "asked again";
  EXPECT_TRUE(absl::IsAlreadyExists(Ask(second_, Kind::kPublish, "service", "other").status()));
  EXPECT_EQ(*Ask(first_, Kind::kLookup, "service"), "port");
}

TEST_F(PublishedNamesTest, NamesAndTheirNumberHaveLimits) {
  const std::string long_name(PublishedNames::kMaxNameBytes + 1, 'n');
  const std::string long_value(PublishedNames::kMaxValueBytes + 1, 'v');
  EXPECT_TRUE(absl::IsInvalidArgument(Ask(first_, Kind::kLookup, long_name).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Ask(first_, Kind::kLookup, "").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Ask(first_, Kind::kPublish, "name", long_value).status()));
  for (size_t i = 0; i < PublishedNames::kMaxPublished; ++i) {
    ASSERT_TRUE(Ask(first_, Kind::kPublish, absl::StrCat("name ", i), "port").ok());
  }
  EXPECT_TRUE(absl::IsResourceExhausted(Ask(first_, Kind::kPublish, "one more", "port").status()));
  EXPECT_TRUE(Ask(second_, Kind::kPublish, "one more", "port").ok());
}

TEST(PmixNames, WhatIsAskedComesAsItWasSent) {
  const std::string bytes = pmix::NameBytes({'P', 258, "a name", std::string("x\0y", 3)});
  const auto request = pmix::TakeName(bytes);
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->what, 'P');
  EXPECT_EQ(request->token, 258U);
  EXPECT_EQ(request->name, "a name");
  EXPECT_EQ(request->value, std::string("x\0y", 3));
  for (size_t size = 0; size < bytes.size() - 3; ++size) {
    EXPECT_FALSE(pmix::TakeName(std::string_view(bytes).substr(0, size)).has_value()) << size;
  }
}

}  // namespace
}  // namespace muster::agent
