#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/text.h"
#include "common/settings/settings.h"

namespace muster {
namespace {

constexpr size_t kNameColumn = 30;
constexpr size_t kWidth = 110;

// Returns `text` broken into lines of at most `width` characters.
std::vector<std::string> Wrap(const std::string& text, size_t width) {
  std::vector<std::string> lines(1);
  for (const auto& word : absl::StrSplit(text, ' ')) {
    const bool is_full = !lines.back().empty() && lines.back().size() + 1 + word.size() > width;
    if (is_full) lines.emplace_back();
    absl::StrAppend(&lines.back(), lines.back().empty() ? "" : " ", word);
  }
  return lines;
}

std::string Entry(const std::string& name, const std::string& text) {
  const std::vector<std::string> lines = Wrap(text, kWidth - kNameColumn);
  std::string out = absl::StrCat("  ", name);
  const bool fits = out.size() + 2 <= kNameColumn;
  if (!fits) out += "\n";
  for (size_t i = 0; i < lines.size(); ++i) {
    const size_t indent = i == 0 && fits ? kNameColumn - out.size() : kNameColumn;
    absl::StrAppend(&out, std::string(indent, ' '), lines[i], "\n");
  }
  return out;
}

std::string Entry(const Setting& setting) {
  std::string text = setting.help;
  if (!setting.default_text.empty() && !setting.is_switch())
    absl::StrAppend(&text, " Default: ", setting.default_text, ".");
  if (setting.is_switch() && setting.default_text == "true") {
    absl::StrAppend(&text, " On unless --", setting.flag, "=false.");
  }
  if (!setting.env.empty()) absl::StrAppend(&text, " [", absl::StrJoin(setting.env, ", "), "]");
  if (!setting.aliases.empty()) absl::StrAppend(&text, " Also: --", absl::StrJoin(setting.aliases, ", --"), ".");
  const std::string value = setting.is_switch() ? "" : absl::StrCat(" ", setting.value_name);
  return Entry(absl::StrCat("--", setting.flag, value), text);
}

std::string BuiltInEntries() {
  return absl::StrCat(
      Entry("--config FILE", "A file with lines `key = value`; # starts a comment. Or a pipe, as of <(command)."),
      Entry("--help, -h", "Shows this."), Entry("--version", "Shows the version."));
}

}  // namespace

std::string HelpText(const SettingsTable& table) {
  std::vector<std::string> groups;
  for (const Setting& setting : table.settings()) {
    const bool is_new = std::find(groups.begin(), groups.end(), setting.group) == groups.end();
    if (is_new && !setting.is_hidden && setting.group != "Other") groups.push_back(setting.group);
  }
  groups.push_back("Other");

  std::string out =
      absl::StrCat("Usage: ", table.usage(), "\n\n", absl::StrJoin(Wrap(table.summary(), kWidth), "\n"), "\n\n");
  absl::StrAppend(&out,
                  absl::StrJoin(Wrap("Each setting is a flag (dashes and underscores mean the same), an environment "
                                     "variable (in brackets) and a line of the file that --config names; the first "
                                     "of these that sets it wins. Times are in seconds, or with a unit: 500ms, 10s, "
                                     "5m, 2h.",
                                     kWidth),
                                "\n"),
                  "\n");
  for (const std::string& group : groups) {
    absl::StrAppend(&out, "\n", group, ":\n");
    for (const Setting& setting : table.settings()) {
      if (setting.group == group && !setting.is_hidden) out += Entry(setting);
    }
    if (group == "Other") out += BuiltInEntries();
  }
  return out;
}

std::string ShowSettings(const SettingsTable& table, const LoadResult& result) {
  struct Row {
    std::string name, value, source;
  };
  std::vector<Row> rows;
  size_t name_width = 0;
  size_t value_width = 0;
  for (const Setting& setting : table.settings()) {
    const auto found = result.sources.find(setting.flag);
    const std::string source = found == result.sources.end() ? "default" : found->second;
    if (setting.is_hidden && source == "default") continue;
    std::string value = setting.is_ignored ? "(not used here)" : EscapeControl(setting.show());
    if (value.empty() && source == "default" && !setting.is_switch()) value = setting.default_text;
    rows.push_back({setting.flag, value.empty() ? "(not set)" : value, source});
    name_width = std::max(name_width, rows.back().name.size());
    value_width = std::max(value_width, rows.back().value.size());
  }
  std::string out = "Settings:\n";
  for (const Row& row : rows) {
    absl::StrAppendFormat(&out, "  %-*s  %-*s  %s\n", static_cast<int>(name_width), row.name,
                          static_cast<int>(value_width), row.value, row.source);
  }
  return out;
}

}  // namespace muster
