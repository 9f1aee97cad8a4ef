#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/text.h"
#include "common/settings/foreign_words.h"
#include "common/settings/sources.h"
#include "common/sys/file_io.h"

namespace muster {
namespace {

constexpr size_t kMaxConfigBytes = size_t{1024} * 1024;
constexpr absl::Duration kPipePatience = absl::Seconds(10);  // for a pipe's command to write all settings

// Returns the line without its comment. A comment begins with "#" at the start of the line or after a blank, but not
// within quotes.
std::string WithoutComment(const std::string& line) {
  char quote = '\0';
  for (size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '"' || c == '\'') {
      const size_t before = line.find_last_not_of(" \t", at == 0 ? 0 : at - 1);
      if (before != std::string::npos && line[before] == '=') quote = c;  // an apostrophe elsewhere is ordinary text
    } else if (c == '#' && (at == 0 || absl::ascii_isspace(line[at - 1]))) {
      return line.substr(0, at);
    }
  }
  return line;
}

std::string WithoutQuotes(const std::string& value) {
  const bool is_quoted =
      value.size() >= 2 && value.front() == value.back() && (value.front() == '"' || value.front() == '\'');
  return is_quoted ? value.substr(1, value.size() - 2) : value;
}

const Setting* FindKey(const NameIndex& names, const std::string& key) {
  const Setting* by_flag = names.FindFlag(key);
  return by_flag != nullptr ? by_flag : names.FindVariable(key);
}

std::string UnknownKey(const NameIndex& names, const std::string& key) {
  const std::string unknown = absl::StrCat("unknown key ", Quoted(key));
  if (NormalFlag(key) == "config") {
    return absl::StrCat(unknown, ": a config file can't name another one; write the other file's lines here");
  }
  auto meant = names.ResemblingFlag(key);
  if (meant && IsBuiltInFlag(*meant)) meant.reset();
  if (!meant) meant = names.ResemblingVariable(key);
  return absl::StrCat(unknown, meant ? absl::StrCat(": did you mean ", *meant, "?") : ": remove the line");
}

}  // namespace

ConfigFile ParseConfigText(const NameIndex& names, const std::string& path, const std::string& text) {
  ConfigFile out;
  std::map<const Setting*, std::string> first_source;
  int number = 0;
  for (const auto& raw : absl::StrSplit(text, '\n')) {
    ++number;
    const std::string source = absl::StrCat(path, ":", number);
    const std::string line(absl::StripAsciiWhitespace(WithoutComment(std::string(raw))));
    if (line.empty()) continue;
    const size_t equals = line.find('=');
    if (equals == std::string::npos) {
      out.errors.push_back(absl::StrCat(source, ": ", Quoted(line), " is no setting: write key = value"));
      continue;
    }
    const std::string key(absl::StripAsciiWhitespace(line.substr(0, equals)));
    const std::string value = WithoutQuotes(std::string(absl::StripAsciiWhitespace(line.substr(equals + 1))));
    if (const std::string* why = names.FindForbidden(key)) {
      out.errors.push_back(absl::StrCat(source, ": ", NormalFlag(key), ": ", ForeignWordHint(*why, value)));
      continue;
    }
    const Setting* setting = FindKey(names, key);
    if (setting == nullptr) {
      out.errors.push_back(absl::StrCat(source, ": ", UnknownKey(names, key)));
      continue;
    }
    const auto [first, is_new] = first_source.emplace(setting, source);
    if (!is_new && !setting->is_repeated) {
      out.errors.push_back(absl::StrCat(source, ": ", setting->flag, " was already set at ", first->second,
                                        ": remove one of the lines"));
      continue;
    }
    out.values.push_back({setting, value, source});
  }
  return out;
}

ConfigFile ReadConfigFile(const NameIndex& names, const std::string& path) {
  ConfigFile out;
  const absl::StatusOr<std::string> text = ReadSmallFileOrPipe(path, kMaxConfigBytes, kPipePatience);
  if (!text.ok()) {
    out.errors.push_back(absl::StrCat("--config: ", EscapeControl(std::string(text.status().message())),
                                      "; name a text file of at most 1 MiB that this user may read"));
    return out;
  }
  return ParseConfigText(names, path, *text);
}

}  // namespace muster
