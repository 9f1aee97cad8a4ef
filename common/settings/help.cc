#include "common/settings/help.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/text.h"

namespace muster {
namespace {

constexpr size_t kNameColumn = 30;
constexpr size_t kWidth = 110;
constexpr char kOther[] = "Other";  // the last group: flags that every program has

constexpr char kHowSettingsAreGiven[] =
    "Each setting is a flag (dashes and underscores mean the same), an environment variable (in brackets) and a line "
    "of the file that --config names. A flag wins over a variable, and a variable over the file. Times are in seconds, "
    "or with a unit: 500ms, 10s, 5m, 2h. A switch needs no value; --name=0 turns it off.";

// Returns how many columns a UTF-8 text takes. Counts every character as one column.
size_t Columns(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

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

std::string Paragraph(const std::string& text) { return absl::StrCat(absl::StrJoin(Wrap(text, kWidth), "\n"), "\n"); }

std::string Entry(const std::string& name, const std::string& text) {
  if (text.empty()) return absl::StrCat("  ", name, "\n");
  const std::vector<std::string> lines = Wrap(text, kWidth - kNameColumn);
  std::string out = absl::StrCat("  ", name);
  const size_t columns = Columns(out);
  const bool fits = columns + 2 <= kNameColumn;
  if (!fits) out += "\n";
  for (size_t i = 0; i < lines.size(); ++i) {
    const size_t indent = i == 0 && fits ? kNameColumn - columns : kNameColumn;
    absl::StrAppend(&out, std::string(indent, ' '), lines[i], "\n");
  }
  return out;
}

std::string Entry(const Setting& setting, bool names_commands) {
  const bool is_of_some = names_commands && !setting.commands.empty();
  std::string text =
      is_of_some ? absl::StrCat(absl::StrJoin(setting.commands, ", "), ": ", setting.help) : setting.help;
  if (!setting.range_text.empty()) absl::StrAppend(&text, " Range: ", setting.range_text, ".");
  if (setting.is_switch()) {
    if (setting.default_text == "1") absl::StrAppend(&text, " Default: on.");
  } else if (!setting.default_text.empty()) {
    absl::StrAppend(&text, " Default: ", setting.default_text, ".");
  }
  if (!setting.env.empty()) absl::StrAppend(&text, " [", absl::StrJoin(setting.env, ", "), "]");
  if (!setting.aliases.empty()) absl::StrAppend(&text, " Also: --", absl::StrJoin(setting.aliases, ", --"), ".");
  const std::string value = setting.is_switch() ? "" : absl::StrCat(" ", setting.value_name);
  return Entry(absl::StrCat("--", setting.flag, value), text);
}

bool IsAnyCommon(const SettingsTable& table) {
  return std::any_of(table.settings().begin(), table.settings().end(), [](const Setting& s) { return s.is_common; });
}

std::string BuiltInEntries(bool is_any_common) {
  std::string out =
      Entry("--config FILE",
            "Reads settings from a file with lines `key = value`; # starts a comment. FILE may be a pipe, "
            "as in --config <(command).");
  absl::StrAppend(
      &out, Entry("--help, -h", is_any_common ? "Shows the settings that most people need." : "Shows this text."),
      is_any_common ? Entry("--help-all", "Shows all settings.") : "", Entry("--version", "Shows the version."));
  return out;
}

// Sections of the help text. Each stands under the heading of its group; groups come in the order of their first entry.
class Sections {
 public:
  void Add(const std::string& group, const std::string& entry) {
    const auto found =
        std::find_if(sections_.begin(), sections_.end(), [&](const auto& section) { return section.first == group; });
    if (found == sections_.end()) {
      sections_.emplace_back(group, entry);
    } else {
      found->second += entry;
    }
  }
  std::string Text() const {
    return absl::StrJoin(sections_, "", [](std::string* out, const auto& section) {
      absl::StrAppend(out, "\n", section.first, ":\n", section.second);
    });
  }

 private:
  std::vector<std::pair<std::string, std::string>> sections_;
};

Sections SectionsOf(const SettingsTable& table, const std::function<bool(const Setting&)>& is_shown,
                    bool names_commands) {
  Sections sections;
  for (const bool is_last : {false, true}) {
    for (const Setting& setting : table.settings()) {
      if (setting.is_hidden || !is_shown(setting) || (setting.group == kOther) != is_last) continue;
      sections.Add(setting.group, Entry(setting, names_commands));
    }
  }
  return sections;
}

std::string TextBeforeSettings(const SettingsTable& table) {
  return absl::StrCat(HelpHead(table.usage(), table.summary()), HelpLines(table.commands()),
                      HelpLines(table.examples()), "\n", Paragraph(kHowSettingsAreGiven));
}

}  // namespace

std::string HelpHead(const std::string& usage, const std::string& text) {
  return absl::StrCat("Usage: ", usage, "\n\n", Paragraph(text));
}

std::string HelpLines(const std::vector<HelpLine>& lines) {
  Sections sections;
  for (const HelpLine& line : lines) {
    sections.Add(line.group.empty() ? "Examples" : line.group, Entry(line.words, line.help));
  }
  return sections.Text();
}

std::string HelpSettings(const SettingsTable& table, const std::function<bool(const Setting&)>& is_shown) {
  return SectionsOf(table, is_shown, /*names_commands=*/false).Text();
}

std::string HelpEnd(const SettingsTable& table) {
  const auto count = std::count_if(table.settings().begin(), table.settings().end(),
                                   [](const Setting& setting) { return !setting.is_hidden; });
  return absl::StrCat("\n--help-all shows all ", count, " settings.\n");
}

std::string HelpText(const SettingsTable& table) {
  if (!IsAnyCommon(table)) return FullHelpText(table);
  return absl::StrCat(TextBeforeSettings(table), HelpSettings(table, [](const Setting& s) { return s.is_common; }),
                      HelpEnd(table));
}

std::string FullHelpText(const SettingsTable& table) {
  Sections sections = SectionsOf(
      table, [](const Setting&) { return true; }, /*names_commands=*/true);
  sections.Add(kOther, BuiltInEntries(IsAnyCommon(table)));
  return absl::StrCat(TextBeforeSettings(table), sections.Text());
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
