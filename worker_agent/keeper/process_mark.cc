// | this process's hard limit          | what Make does                                       |
// |------------------------------------|------------------------------------------------------|
// | unlimited, or above all marks      | a mark for a start of its own                        |
// | an outer start's mark              | a nested mark: the same upper bits, other lower bits |
// | a nested mark, or a user's limit   | an error: there is no room below it                  |
// | can't be lowered (gVisor)          | an error                                             |
#include "worker_agent/keeper/process_mark.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/base/unique_fd.h"

namespace muster::agent {
namespace {

constexpr int kNestedBits = 23;
constexpr uint64_t kNestedMask = (uint64_t{1} << kNestedBits) - 1;
constexpr uint64_t kLowest = uint64_t{1} << 62;
constexpr uint64_t kHighest = (uint64_t{1} << 63) - 1;
constexpr size_t kMaxLimitBytes = 4096;  // sixteen lines
constexpr char kRow[] = "Max realtime timeout";

bool IsMark(uint64_t value) { return value >= kLowest && value <= kHighest; }
bool IsOuter(uint64_t value) { return IsMark(value) && (value & kNestedMask) == kNestedMask; }

// Fails rather than waits for the kernel's entropy, which is available long before an agent starts.
absl::StatusOr<uint64_t> RandomNumber() {
  uint64_t number = 0;
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) {
    return absl::UnavailableError(absl::StrCat("getrandom: ", std::strerror(errno)));
  }
  return number;
}

absl::Status Refused(const char* call) {
  return absl::UnavailableError(absl::StrCat(call, "(RLIMIT_RTTIME): ", std::strerror(errno)));
}

// Checks that the system accepts the limit and shows it in /proc. Changes only the soft limit for this test, because a
// lowered hard limit could not be raised again.
absl::Status Try(uint64_t value, const rlimit& before) {
  const rlimit tried{value, before.rlim_max};
  if (setrlimit(RLIMIT_RTTIME, &tried) != 0) return Refused("setrlimit");
  rlimit now{};
  const bool is_taken = getrlimit(RLIMIT_RTTIME, &now) == 0 && now.rlim_cur == value;
  setrlimit(RLIMIT_RTTIME, &before);
  if (!is_taken) return absl::UnavailableError("setting the limit RLIMIT_RTTIME has no effect");
  return RealTimeLimitOf(getpid()).status();
}

}  // namespace

absl::StatusOr<ProcessMark> ProcessMark::Make() {
  rlimit before{};
  if (getrlimit(RLIMIT_RTTIME, &before) != 0) return Refused("getrlimit");
  const absl::StatusOr<uint64_t> random = RandomNumber();
  if (!random.ok()) return random.status();
  uint64_t value = 0;
  if (before.rlim_max > kHighest) {
    value = kLowest | (*random & (kLowest - 1)) | kNestedMask;
  } else if (IsOuter(before.rlim_max)) {
    value = (before.rlim_max & ~kNestedMask) | (*random % kNestedMask);
  } else {
    return absl::UnavailableError(absl::StrCat("the limit RLIMIT_RTTIME (ulimit -R) is ", before.rlim_max,
                                               " µs already, so that there is no room for a mark below it"));
  }
  if (absl::Status works = Try(value, before); !works.ok()) return works;
  return ProcessMark(value);
}

std::optional<ProcessMark> ProcessMark::Of(uint64_t value) {
  return IsMark(value) ? std::optional(ProcessMark(value)) : std::nullopt;
}

absl::Status ProcessMark::Set() const {
  const rlimit limit{value_, value_};
  return setrlimit(RLIMIT_RTTIME, &limit) == 0 ? absl::OkStatus() : Refused("setrlimit");
}

bool ProcessMark::Covers(uint64_t limit) const {
  return IsOuter(value_) ? limit >> kNestedBits == value_ >> kNestedBits : limit == value_;
}

bool ProcessMark::IsBelowMarks(uint64_t limit) { return limit < kLowest; }

absl::StatusOr<uint64_t> RealTimeLimitOf(pid_t pid) {
  const std::string path = absl::StrCat("/proc/", pid, "/limits");
  char text[kMaxLimitBytes];
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const ssize_t size = file.is_open() ? read(file.get(), text, sizeof text) : -1;
  if (size == 0 || (size < 0 && (errno == ENOENT || errno == ESRCH))) return absl::NotFoundError("it has ended");
  if (size < 0) return absl::UnavailableError(absl::StrCat(path, ": ", std::strerror(errno)));
  const absl::string_view rows(text, static_cast<size_t>(size));
  const size_t row = rows.find(kRow);
  if (row == absl::string_view::npos) return absl::UnavailableError(absl::StrCat(path, " has no line ", kRow));
  // The row's name, then the soft limit, the hard one, and the unit.
  const size_t begin = row + sizeof(kRow) - 1;
  const std::vector<std::string> words =
      absl::StrSplit(rows.substr(begin, rows.find('\n', begin) - begin), ' ', absl::SkipEmpty());
  if (words.size() < 2) return absl::UnavailableError(absl::StrCat(path, ": no hard limit in the line ", kRow));
  if (words[1] == "unlimited") return std::numeric_limits<uint64_t>::max();
  uint64_t limit = 0;
  if (!absl::SimpleAtoi(words[1], &limit)) {
    return absl::UnavailableError(absl::StrCat(path, ": ", words[1], " is no limit"));
  }
  return limit;
}

}  // namespace muster::agent
