#include "common/settings/values.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "common/settings/settings.h"

namespace muster {
namespace {

TEST(ParseWholeNumber, TakesDigitsWithinBounds) {
  const struct {
    std::string text;
    std::optional<int64_t> number;
  } cases[] = {{"1", 1},  {"8", 8},    {" 7 ", 7},  {"007", 7},  {"0", {}},
               {"9", {}}, {"-1", {}},  {"+3", {}},  {"3x", {}},  {"", {}},
               {" ", {}}, {"0x3", {}}, {"1e0", {}}, {"3.0", {}}, {"99999999999999999999", {}}};
  for (const auto& c : cases) {
    const auto parsed = ParseWholeNumber(c.text, 1, 8);
    EXPECT_EQ(parsed.ok() ? std::optional(*parsed) : std::nullopt, c.number) << c.text;
    EXPECT_EQ(parsed.status().message(), c.number ? "" : "must be a whole number from 1 to 8") << c.text;
  }
  EXPECT_EQ(*ParseWholeNumber("-5", -10, 10), -5);
}

TEST(ParseBool, KnowsTheUsualWords) {
  for (const std::string text : {"1", "true", "True", "YES", "on"}) EXPECT_EQ(*ParseBool(text), true) << text;
  for (const std::string text : {"0", "false", "No", "off"}) EXPECT_EQ(*ParseBool(text), false) << text;
  for (const std::string text : {"", "2", "y", "maybe"}) EXPECT_FALSE(ParseBool(text).ok()) << text;
}

TEST(ParseDuration, TakesSecondsAndUnits) {
  const struct {
    std::string text;
    absl::Duration duration;
  } cases[] = {{"600", absl::Seconds(600)},    {"0.5", absl::Milliseconds(500)}, {"500ms", absl::Milliseconds(500)},
               {"10s", absl::Seconds(10)},     {"5m", absl::Minutes(5)},         {"2h", absl::Hours(2)},
               {" 1.5 m ", absl::Seconds(90)}, {"0", absl::ZeroDuration()}};
  for (const auto& c : cases) {
    const auto parsed = ParseDuration(c.text, absl::ZeroDuration(), absl::Hours(3), false);
    ASSERT_TRUE(parsed.ok()) << c.text;
    EXPECT_EQ(*parsed, c.duration) << c.text;
  }
}

TEST(ParseDuration, RefusesTheRest) {
  for (const std::string text : {"", "s", "-1", "1d", "nan", "inf", "1e3", "1.2.3", "5 minutes", "181m", "."}) {
    const auto parsed = ParseDuration(text, absl::ZeroDuration(), absl::Hours(3), false);
    EXPECT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.status().message(),
              "must be a time from 0 s to 10800 s, in seconds or with a unit (500ms, 10s, 5m, 2h)");
  }
}

TEST(ParseDuration, NegativeIsForEverWhereAllowed) {
  EXPECT_EQ(*ParseDuration("-1", absl::Seconds(1), absl::Hours(3), true), absl::InfiniteDuration());
  EXPECT_EQ(ParseDuration("0", absl::Seconds(1), absl::Hours(3), true).status().message(),
            "must be a time from 1 s to 10800 s, in seconds or with a unit (500ms, 10s, 5m, 2h), or -1 for ever");
}

TEST(CheckId, NamesTheBadCharacterAndItsPlace) {
  const struct {
    std::string text, message;
  } cases[] = {
      {"a", ""},
      {"Node-1.rack_2:slot@site", ""},
      {std::string(128, 'x'), ""},
      {std::string(129, 'x'), "must be 1 to 128 letters, digits or . _ : @ -; it is 129 bytes long"},
      {"", "must be 1 to 128 letters, digits or . _ : @ -, and is empty"},
      {".", "must not be ., which names a folder"},
      {"..", "must not be .., which names a folder"},
      {"...", ""},
      {"a/b", "must be 1 to 128 letters, digits or . _ : @ -; character 2 is \"/\""},
      {"a b", "must be 1 to 128 letters, digits or . _ : @ -; character 2 is \" \""},
      {"a\nb", "must be 1 to 128 letters, digits or . _ : @ -; character 2 is none of these"},
      {"ü", "must be 1 to 128 letters, digits or . _ : @ -; character 1 is none of these"},
  };
  for (const auto& c : cases) EXPECT_EQ(CheckId(c.text).message(), c.message) << c.text;
}

TEST(ShowDuration, ReadsAsPeopleWrite) {
  const struct {
    absl::Duration duration;
    std::string shown;
  } cases[] = {{absl::Seconds(600), "600 s"},       {absl::Milliseconds(1500), "1.5 s"},
               {absl::Milliseconds(250), "250 ms"}, {absl::Microseconds(500), "0.5 ms"},
               {absl::ZeroDuration(), "0 s"},       {absl::InfiniteDuration(), "for ever"},
               {absl::Hours(1), "3600 s"}};
  for (const auto& c : cases) EXPECT_EQ(ShowDuration(c.duration), c.shown);
}

TEST(ShowTimeouts, LinesUpTheSteps) {
  EXPECT_EQ(ShowTimeouts({{"heartbeat", absl::Seconds(2), "how often"}, {"lease", absl::Seconds(600), "how long"}}),
            "Timeouts:\n"
            "  heartbeat    2 s  how often\n"
            "  lease      600 s  how long\n");
}

}  // namespace
}  // namespace muster
