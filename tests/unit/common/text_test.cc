#include "common/base/text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace muster {
namespace {

TEST(EscapeControl, EscapesWhatSteersAndKeepsWhatReads) {
  const struct {
    std::string text, escaped;
  } cases[] = {
      {"plain – ü 漢 😀", "plain – ü 漢 😀"},
      {"a\nb\tc\rd", "a\\nb\\tc\\rd"},
      {"\x1b[31m\x7f", "\\x1b[31m\\x7f"},
      {std::string("\0x", 2), "\\x00x"},
      {"\xC2\x9B", "\\x9b"},                // C1 control sequence introducer
      {"\xC2\xA0", "\xC2\xA0"},             // the first character after the control characters
      {"\xff\xC3", "\\xff\\xc3"},           // not UTF-8, and cut short
      {"\xC0\xAF", "\\xc0\\xaf"},           // overlong
      {"\xED\xA0\x80", "\\xed\\xa0\\x80"},  // surrogate
      {"\xF4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
      {"back\\slash", "back\\slash"},
      {"a\u2028b\u2029c", "a\\u2028b\\u2029c"},
      {"gpj.\u202Eexe", "gpj.\\u202eexe"},
      {"\u2066x\u2067y\u2068z\u2069", "\\u2066x\\u2067y\\u2068z\\u2069"},
      {"\u061C\u200E\u200F\u202A", "\\u061c\\u200e\\u200f\\u202a"},
      {"no\u00ADde\u200B-\u2060\uFEFF1", "no\\u00adde\\u200b-\\u2060\\ufeff1"},
      {"\U000E0041\U0001F600", "\\U000e0041\U0001F600"},
      {"\u2027\u202F\u2065\u2070", "\u2027\u202F\\u2065\u2070"},                                 // their neighbours
      {"می\u200Cخواهم क्\u200Dष עברית العربية ไทย", "می\u200Cخواهم क्\u200Dष עברית العربية ไทย"},  // in ordinary text
      {"👩\u200D🔧 e\u0301", "👩\u200D🔧 e\u0301"},
      {"", ""},
  };
  for (const auto& c : cases) EXPECT_EQ(EscapeControl(c.text), c.escaped);
}

TEST(EscapeJson, MeansTheSameAndShowsNothingThatSteers) {
  const std::string text = "a\u202Eb\u2028c\xC2\x9B\x7F\U000E0041 ü\n漢";
  nlohmann::ordered_json document;
  document["text"] = text;
  for (const int indent : {-1, 2}) {
    const std::string escaped = EscapeJson(document.dump(indent));
    EXPECT_EQ(nlohmann::ordered_json::parse(escaped), document) << escaped;
    EXPECT_NE(escaped.find("a\\u202eb\\u2028c\\u009b\\u007f\\udb40\\udc41 ü\\n漢"), std::string::npos) << escaped;
  }
}

TEST(CutText, KeepsWhatIsNoTextUpToTheLimit) {
  std::string text(200, '\x80');  // continuation bytes without a beginning
  CutText(text, 100);
  EXPECT_GE(text.size(), 97u);
}

TEST(Quoted, CutsBetweenCharacters) {
  EXPECT_EQ(Quoted("abc", 3), "\"abc\"");
  EXPECT_EQ(Quoted("abcd", 3), "\"abc…\"");
  EXPECT_EQ(Quoted("abü", 3), "\"ab…\"");
}

TEST(FormatAge, Table) {
  const std::vector<std::pair<absl::Duration, std::string>> table = {
      {absl::ZeroDuration(), "0 s"},
      {absl::Seconds(-5), "0 s"},
      {absl::Microseconds(400), "0 s"},
      {absl::Microseconds(600), "1 ms"},
      {absl::Milliseconds(99), "99 ms"},
      {absl::Milliseconds(100), "0.1 s"},
      {absl::Milliseconds(949), "0.9 s"},
      {absl::Milliseconds(950), "1 s"},
      {absl::Milliseconds(1500), "1.5 s"},
      {absl::Seconds(2), "2 s"},
      {absl::Milliseconds(9949), "9.9 s"},
      {absl::Milliseconds(9950), "10 s"},
      {absl::Milliseconds(119'499), "119 s"},
      {absl::Milliseconds(119'500), "2 min"},
      {absl::Seconds(150), "2 min 30 s"},
      {absl::Seconds(1800), "30 min"},
      {absl::Seconds(3599), "59 min 59 s"},
      {absl::Hours(1), "1 h"},
      {absl::Minutes(125), "2 h 5 min"},
      {absl::Hours(47) + absl::Minutes(59), "47 h 59 min"},
      {absl::Hours(48), "2 d"},
      {absl::Hours(76), "3 d 4 h"},
      {absl::InfiniteDuration(), "for ever"},
      {-absl::InfiniteDuration(), "0 s"},
  };
  for (const auto& [age, text] : table) EXPECT_EQ(FormatAge(age), text) << absl::FormatDuration(age);
}

}  // namespace
}  // namespace muster
