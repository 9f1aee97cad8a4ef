#include "ctl/certs/index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_replace.h"
#include "tests/unit/certs/times.h"

namespace muster::certs {
namespace {

using ::testing::HasSubstr;

IndexEntry Entry(const std::string& serial, const std::string& name) {
  IndexEntry entry;
  entry.serial = serial;
  entry.subject = {Kind::kNode, name, "spiffe://muster/muster/*/node/" + name, {}};
  entry.not_before = kNow - absl::Hours(1);
  entry.not_after = kNow + absl::Hours(24);
  entry.fingerprint = "ff";
  return entry;
}

TEST(Index, ComesBackAsItWas) {
  Index index{"muster", 7, {Entry("4f", "a"), Entry("50", "b")}};
  index.entries[0].subject.hosts = {"x", "10.0.0.1"};
  index.entries[1].form = Form::kP12;
  index.entries[1].revoked_at = kNow;
  index.entries[1].reason = "superseded";
  index.entries[0].is_unfinished = true;
  index.others = {{"60", kNow, "cessation"}, {"61", kNow, ""}};
  const auto parsed = ParseIndex(IndexText(index));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(IndexText(*parsed), IndexText(index));
  EXPECT_EQ(parsed->entries[1].revoked_at, kNow);
  EXPECT_EQ(parsed->entries[1].form, Form::kP12);
  EXPECT_EQ(parsed->others, index.others);
  EXPECT_TRUE(parsed->entries[0].is_unfinished);
  EXPECT_FALSE(parsed->entries[1].is_unfinished);
}

TEST(Index, StatusFollowsTimeAndRevocation) {
  IndexEntry entry = Entry("4f", "a");
  EXPECT_EQ(StatusWord(entry, kNow), "valid");
  EXPECT_EQ(StatusWord(entry, entry.not_after), "expired");
  entry.revoked_at = kNow;
  EXPECT_EQ(StatusWord(entry, kNow), "revoked");
  EXPECT_FALSE(entry.IsLive(kNow));
}

TEST(Index, TheLatestOfANameIsTheOneIssuedLast) {
  const Index index{"muster", 1, {Entry("01", "a"), Entry("02", "b"), Entry("03", "a")}};
  EXPECT_EQ(index.Latest("a")->serial, "03");
  EXPECT_EQ(index.Latest("c"), nullptr);
  EXPECT_TRUE(index.HasLive("a", kNow));
  EXPECT_FALSE(index.HasLive("a", kNow + absl::Hours(48)));
}

TEST(Index, EachDamageIsReportedWithItsPlace) {
  const std::string good = IndexText({"muster", 1, {Entry("4f", "a")}, {{"60", kNow, "x"}}});
  const auto error = [&](const std::string& from, const std::string& to) {
    return std::string(ParseIndex(absl::StrReplaceAll(good, {{from, to}})).status().message());
  };
  EXPECT_THAT(error("muster.certificates/1", "muster.certificates/2"), HasSubstr("schema"));
  EXPECT_THAT(error("\"serial\": \"4f\"", "\"serial\": \"xyz\""), HasSubstr("certificate 1: member 'serial'"));
  EXPECT_THAT(error("\"kind\": \"node\"", "\"kind\": \"king\""), HasSubstr("'kind'"));
  EXPECT_THAT(error("\"name\": \"a\"", "\"name\": \"../a\""), HasSubstr("'name'"));
  EXPECT_THAT(error("\"revoked_at\": null", "\"revoked_at\": \"soon\""), HasSubstr("'revoked_at'"));
  EXPECT_THAT(error("\"list_number\": 1", "\"list_number\": -1"), HasSubstr("'list_number'"));
  EXPECT_THAT(error("\"hosts\": []", "\"hosts\": [1]"), HasSubstr("'hosts'"));
  EXPECT_THAT(error("\"reason\": \"\"", "\"reason\": \"\", \"unfinished\": 1"), HasSubstr("'unfinished'"));
  EXPECT_THAT(error("\"serial\": \"60\"", "\"serial\": \"\""), HasSubstr("'other_revoked'"));
  EXPECT_THAT(error("\"reason\": \"x\"", "\"reason\": 1"), HasSubstr("'other_revoked'"));
}

TEST(Index, GarbageIsAnErrorAndNeverAnException) {
  for (const char* bad : {"", "[]", "1", "{", "{\"schema\": 1}", "{\"schema\": \"muster.certificates/1\"}",
                          "{\"schema\": \"muster.certificates/1\", \"trust_domain\": \"a\", \"list_number\": 1, "
                          "\"certificates\": [1, null]}"}) {
    EXPECT_FALSE(ParseIndex(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace muster::certs
