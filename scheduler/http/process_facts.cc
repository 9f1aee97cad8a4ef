#include "scheduler/http/process_facts.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "common/sys/file_io.h"

namespace muster::http {
namespace {

constexpr absl::Duration kCountInterval = absl::Seconds(10);  // counting thousands of descriptors takes long

std::string FirstLine(const char* path) {
  const std::string text = ReadSmallFile(path, 64 * 1024).value_or("");
  return text.substr(0, text.find('\n'));
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

uint64_t CountOpenDescriptors() {
  DIR* folder = opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  uint64_t count = 0;
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count - 3;  // without ".", "..", and the descriptor of `folder` itself
}

double BootUnixSeconds() {
  double boot = 0;
  for (absl::string_view line : absl::StrSplit(ReadSmallFile("/proc/stat", 16 << 20).value_or(""), '\n')) {
    if (absl::ConsumePrefix(&line, "btime ") && absl::SimpleAtod(line, &boot)) return boot;
  }
  return 0;
}

}  // namespace

ProcessFacts ProcessReader::Read(MonotonicTime now) {
  if (!counted_at_ || now - *counted_at_ >= kCountInterval) {
    counted_at_ = now;
    open_descriptors_ = CountOpenDescriptors();
  }
  ProcessFacts facts;
  facts.open_descriptors = open_descriptors_;
  rusage usage = {};
  if (getrusage(RUSAGE_SELF, &usage) == 0) facts.cpu_seconds = Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) facts.max_descriptors = limit.rlim_cur;
  // proc(5): field 2 is the name in parentheses, so `fields` begins with field 3. Field 20 is the number of threads,
  // field 22 the start in ticks since the boot, field 24 the number of resident pages.
  const std::string stat = FirstLine("/proc/self/stat");
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return facts;
  const std::vector<std::string> fields = absl::StrSplit(stat.substr(name_end + 1), ' ', absl::SkipEmpty());
  uint64_t start_ticks = 0, pages = 0;
  if (fields.size() < 22 || !absl::SimpleAtoi(fields[17], &facts.threads) ||
      !absl::SimpleAtoi(fields[19], &start_ticks) || !absl::SimpleAtoi(fields[21], &pages)) {
    return facts;
  }
  facts.resident_bytes = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  facts.start_unix_seconds =
      BootUnixSeconds() + static_cast<double>(start_ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
  return facts;
}

}  // namespace muster::http
