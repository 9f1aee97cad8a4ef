// | the former start's record              | Judge      | why                                                       |
// |----------------------------------------|------------|-----------------------------------------------------------|
// | same boot, same pid namespace          | kLook      | /proc shows what it has left (if the namespace's number   |
// |                                        |            | is used again, all processes of the old one have ended)   |
// | same boot, another pid namespace, and  | kGone      | when process 1 of a namespace ends, the kernel ends all   |
// | it was process 1 of that namespace     |            | its other processes                                       |
// | same boot, another pid namespace       | kUnseen    | a launcher that it started may go on there                |
// | another boot, same hardware (network   | kGone      | this machine has booted since                             |
// | cards, machine-id, and, if root may    |            |                                                           |
// | read it, the board's number)           |            |                                                           |
// | another boot, other hardware           | kElsewhere | it was another machine, or that is not known              |
// | damaged, or no boot id                 | kUnseen    | nothing shows which processes were its own                |
#include "worker_agent/node/lock_record.h"

#include <signal.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/limits.h"
#include "common/base/sha256.h"
#include "common/net/net.h"
#include "common/sys/file_io.h"
#include "worker_agent/keeper/process/descendants.h"

namespace muster::agent {
namespace {

constexpr size_t kHexDigits = 16;
constexpr ino_t kFirstUtsNamespace = 0xEFFFFFFE;  // PROC_UTS_INIT_INO
constexpr char kDigest[] = "digest ";
// The most former starts that a record keeps. A scheduler that has welcomed a start needs none of those before it; a
// few are kept in case a join arrives late.
constexpr size_t kMaxEnded = 8;
constexpr size_t kMaxEndedUnknown = kMaxEndedStarts;  // for a start that no scheduler has welcomed

std::string Line(const std::string& path) {
  absl::StatusOr<std::string> text = ReadSmallFile(path, 256);
  if (text.ok()) absl::StripAsciiWhitespace(&*text);
  return text.ok() ? *text : "";
}

std::string Namespace(const char* kind) {
  struct stat info {};
  if (stat(absl::StrCat("/proc/self/ns/", kind).c_str(), &info) != 0) return "";
  return absl::StrCat(info.st_dev, ":", info.st_ino);
}

// Returns a digest of the machine's network cards, machine-id and board number. The board number makes clones of a
// virtual machine differ, which often have the same cards and machine-id. Empty in a container (recognised by its uts
// namespace).
std::string Hardware() {
  struct stat uts {};
  if (stat("/proc/self/ns/uts", &uts) != 0 || uts.st_ino != kFirstUtsNamespace) return "";
  std::vector<std::string> facts;
  std::error_code error;
  for (std::filesystem::directory_iterator it("/sys/class/net", error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (!std::filesystem::exists(it->path() / "device", ignored)) continue;
    const std::string address = Line((it->path() / "address").string());
    if (address.find_first_not_of("0:") != std::string::npos) facts.push_back(address);
  }
  if (error || facts.empty()) return "";
  std::sort(facts.begin(), facts.end());
  facts.push_back(Line("/etc/machine-id"));
  facts.push_back(Line("/sys/class/dmi/id/product_uuid"));  // empty where only root may read it
  return absl::BytesToHexString(Sha256(absl::StrJoin(facts, " "))).substr(0, kHexDigits);
}

std::string Digest(absl::string_view text) {
  return absl::BytesToHexString(Sha256(std::string(text))).substr(0, kHexDigits);
}

// Returns the text, or nothing if it contains a line break, which would break the file's format.
std::string OneLine(const std::string& text) { return absl::StrContains(text, '\n') ? "" : text; }

}  // namespace

StartPlace StartPlace::Here() {
  StartPlace here;
  here.host = LocalHostName();
  here.boot = Line("/proc/sys/kernel/random/boot_id");
  here.pids = Namespace("pid");
  here.times = Namespace("time");
  here.hardware = Hardware();
  here.is_init = getpid() == 1;
  if (const std::optional<ProcessInfo> self = ReadProcess(getpid())) here.start_time = self->start_time;
  return here;
}

uint64_t LockRecord::start() const {
  if (secret.empty()) return 0;
  const std::string digest = Sha256("start of a node: " + secret);
  uint64_t number = 0;
  std::memcpy(&number, digest.data(), sizeof number);
  return number;
}

std::vector<uint64_t> LockRecord::EndedWithIt() const {
  std::vector<uint64_t> all = ended;
  if (start() != 0) all.push_back(start());
  const size_t most = has_joined ? kMaxEnded : kMaxEndedUnknown;
  if (all.size() > most) all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(most));
  return all;
}

std::string LockRecord::Encode() const {
  std::string text = absl::StrCat(pid, "\n", token, "\n", OneLine(id), "\n", OneLine(work_folder), "\n", take, "\n");
  absl::StrAppend(&text, "secret ", secret, "\nhost ", OneLine(place.host), "\nboot ", place.boot, "\npids ",
                  place.pids, "\nhardware ", place.hardware, "\ninit ", place.is_init ? 1 : 0, "\nstarted ",
                  place.start_time, "\ntimes ", place.times, "\nmark ", mark ? mark->value() : 0, "\nended ",
                  absl::StrJoin(ended, ","), "\njoined ", has_joined ? 1 : 0, "\n");
  return absl::StrCat(text, kDigest, Digest(text), "\n");
}

LockRecord LockRecord::Decode(const std::string& text) {
  LockRecord record;
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  if (lines.size() < 3 || !absl::SimpleAtoi(lines[0], &record.pid)) return {};
  record.token = lines[1];
  record.id = lines[2].size() > kMaxIdBytes ? "" : lines[2];
  if (lines.size() > 4) record.work_folder = lines[3];  // complete, since another line follows
  if (lines.size() > 5 && !absl::SimpleAtoi(lines[4], &record.take)) record.take = 0;

  std::map<std::string, std::string> values;
  size_t before = 0;  // the bytes of all lines before this one
  for (size_t i = 0; i < lines.size() && !record.is_whole; before += lines[i].size() + 1, ++i) {
    if (i >= 5 && absl::StartsWith(lines[i], kDigest)) {
      record.is_whole = lines[i].substr(sizeof(kDigest) - 1) == Digest(absl::string_view(text).substr(0, before));
      break;
    }
    const std::pair<std::string, std::string> words = absl::StrSplit(lines[i], absl::MaxSplits(' ', 1));
    if (i >= 5) values.insert(words);
  }
  if (!record.is_whole) return record;
  record.secret = values["secret"];
  record.place = {.host = values["host"],
                  .boot = values["boot"],
                  .pids = values["pids"],
                  .times = values["times"],
                  .hardware = values["hardware"],
                  .is_init = values["init"] == "1"};
  if (!absl::SimpleAtoi(values["started"], &record.place.start_time)) record.place.start_time = 0;
  uint64_t number = 0;
  if (absl::SimpleAtoi(values["mark"], &number)) record.mark = ProcessMark::Of(number);
  for (const absl::string_view start : absl::StrSplit(values["ended"], ',', absl::SkipEmpty())) {
    if (absl::SimpleAtoi(start, &number)) record.ended.push_back(number);
  }
  record.has_joined = values["joined"] == "1";
  return record;
}

FormerStart Judge(const LockRecord& former, const StartPlace& here) {
  const StartPlace& there = former.place;
  if (!former.is_whole || there.boot.empty() || here.boot.empty()) return FormerStart::kUnseen;
  if (there.boot != here.boot) {
    return !here.hardware.empty() && there.hardware == here.hardware ? FormerStart::kGone : FormerStart::kElsewhere;
  }
  if (!here.pids.empty() && there.pids == here.pids) return FormerStart::kLook;
  return !there.pids.empty() && there.is_init ? FormerStart::kGone : FormerStart::kUnseen;
}

bool HasHolderEnded(const LockRecord& holder, const StartPlace& here) {
  const bool is_here = holder.is_whole && !here.boot.empty() && holder.place.boot == here.boot && !here.pids.empty() &&
                       holder.place.pids == here.pids;
  if (!is_here) return false;
  if (kill(holder.pid, 0) != 0 && errno == ESRCH) return true;
  const std::optional<ProcessInfo> process = ReadProcess(holder.pid);
  if (!process) return false;
  if (process->is_dead) return true;
  const bool is_comparable = holder.place.times == here.times;  // (both empty before Linux 5.6)
  return is_comparable && process->start_time != holder.place.start_time;
}

std::string RandomHex(size_t bytes) {
  std::string random(bytes, '\0');
  if (getrandom(random.data(), bytes, 0) != static_cast<ssize_t>(bytes)) return "";
  return absl::BytesToHexString(random);
}

}  // namespace muster::agent
