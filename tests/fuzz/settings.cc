// The settings of the programs: command line, environment and config file through the shared parser and the rules after
// it. The input is three lists of lines with a NUL between them: words, NAME=VALUE, the config file.
#include "common/settings/settings.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/check.h"
#include "ring/ring_settings.h"
#include "scheduler/scheduler_settings.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster {
namespace {

struct Given {
  std::vector<std::string> words;
  std::map<std::string, std::string> environment;
};

void CheckLines(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    MUSTER_CHECK(!line.empty() && line.find('\n') == std::string::npos, "a finding is one line");
  }
}

template <typename Settings, typename Check>
void Load(SettingsTable (*make)(Settings&), const Given& given, bool first_word_is_command, Check check) {
  Settings settings;
  SettingsTable table = make(settings);
  const LoadResult loaded = LoadSettings(table, given.words, given.environment, first_word_is_command);
  CheckLines(loaded.findings.errors);
  CheckLines(loaded.findings.warnings);
  MUSTER_CHECK(loaded.sources.size() == table.settings().size(), "every setting has a source");
  MUSTER_CHECK(!ShowSettings(table, loaded).empty(), "settings can be shown");
  // After errors the programs end, and check no further.
  if (loaded.findings.errors.empty()) check(settings);
}

// The config file has no name: nothing is written to disk, and no other file is opened.
class ConfigFile {
 public:
  explicit ConfigFile(const std::string& text) : fd_(memfd_create("config", MFD_CLOEXEC)) {
    MUSTER_CHECK(fd_ >= 0 && write(fd_, text.data(), text.size()) == static_cast<ssize_t>(text.size()), "a file");
  }
  ~ConfigFile() { close(fd_); }
  std::string word() const { return absl::StrCat("--config=/proc/self/fd/", fd_); }

 private:
  int fd_;
};

void Play(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits('\0', 2));
  Given given;
  const ConfigFile config(parts.size() > 2 ? parts[2] : "");
  given.words.push_back(config.word());
  for (const auto& word : absl::StrSplit(parts[0], '\n')) {
    if (!absl::StrContains(word, "config")) given.words.emplace_back(word);
  }
  if (parts.size() > 1) {
    for (const auto& line : absl::StrSplit(parts[1], '\n')) {
      const std::vector<std::string> pair = absl::StrSplit(line, absl::MaxSplits('=', 1));
      if (pair.size() == 2) given.environment.emplace(pair[0], pair[1]);
    }
  }
  Load(scheduler::SchedulerSettingsTable, given, false, [](const scheduler::SchedulerSettings& s) {
    CheckLines(scheduler::CheckSchedulerSettings(s).errors);
    MUSTER_CHECK(!ShowTimeouts(scheduler::SchedulerTimeouts(s)).empty(), "timeouts");
  });
  Load(agent::AgentSettingsTable, given, true,
       [](const agent::AgentSettings& s) { CheckLines(agent::CheckAgentSettings(s).errors); });
  Load(ring::RingSettingsTable, given, false, [](const ring::RingSettings&) {});
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  muster::Play(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
