#include "worker_agent/devices/kernel_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/limits.h"
#include "common/base/text.h"
#include "common/causes/device_codes.h"
#include "common/sys/file_io.h"
#include "common/sys/log.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxRecordBytes = 8192;  // the kernel's limit for one read; PRINTK_MESSAGE_MAX is below it
constexpr size_t kMaxInformationBytes = 16 * 1024;
constexpr size_t kMaxGpus = 1024;
constexpr uint64_t kMaxLogged = 16;

// Returns the minor number of the device in the text of its file "information".
std::optional<uint32_t> MinorIn(const std::string& information) {
  for (const absl::string_view line : absl::StrSplit(information, '\n')) {
    const std::pair<absl::string_view, absl::string_view> sides = absl::StrSplit(line, absl::MaxSplits(':', 1));
    uint32_t minor = 0;
    if (absl::StripAsciiWhitespace(sides.first) == "Device Minor" &&
        absl::SimpleAtoi(absl::StripAsciiWhitespace(sides.second), &minor)) {
      return minor;
    }
  }
  return std::nullopt;
}

}  // namespace

std::map<std::string, uint32_t> NvidiaDevicesByAddress(const HostRoots& roots) {
  std::map<std::string, uint32_t> devices;
  std::error_code error;
  for (std::filesystem::directory_iterator at(roots.proc + "/driver/nvidia/gpus", error), end; !error && at != end;
       at.increment(error)) {
    if (devices.size() >= kMaxGpus) break;
    const absl::StatusOr<std::string> text = ReadSmallFile((at->path() / "information").string(), kMaxInformationBytes);
    const std::optional<uint32_t> minor = text.ok() ? MinorIn(*text) : std::nullopt;
    const std::string bus = absl::AsciiStrToLower(at->path().filename().string());
    if (minor) devices[bus.substr(0, bus.find('.'))] = *minor;
  }
  return devices;
}

KernelLog KernelLog::Open(const HostRoots& roots, std::map<std::string, uint32_t> devices) {
  KernelLog log;
  if (devices.empty()) return log;
  log.devices_ = std::move(devices);
  const std::string path = roots.dev + "/kmsg";
  log.fd_.reset(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (log.fd_.is_open() && lseek(log.fd_.get(), 0, SEEK_END) >= 0) return log;
  Log(Severity::kInfo,
      absl::StrCat("the kernel's log can't be read (", path, ": ", std::strerror(errno),
                   "), so faults that only the driver reports there (Xid) are not named; CAP_SYSLOG, or sysctl "
                   "kernel.dmesg_restrict=0, allows it"));
  log.fd_.reset();
  return log;
}

void KernelLog::Read(MonotonicTime now) {
  if (!fd_.is_open()) return;
  char bytes[kMaxRecordBytes];
  for (int i = 0; i < kMaxRecords; ++i) {
    const ssize_t n = read(fd_.get(), bytes, sizeof bytes);
    if (n > 0) {
      Take(std::string(bytes, static_cast<size_t>(n)), now);
    } else if (n == 0 || (errno != EPIPE && errno != EINTR)) {  // EPIPE: records were overwritten before this read
      return;
    }
  }
}

// A record is "6,339,5140900,-;NVRM: Xid …", and then lines with properties.
void KernelLog::Take(const std::string& record, MonotonicTime now) {
  const size_t begin = record.find(';');
  if (begin == std::string::npos) return;
  std::string line = EscapeControl(record.substr(begin + 1, record.find('\n') - begin - 1));
  // The names of processes in other lines may contain any text.
  const bool is_of_driver = absl::StartsWith(line, "NVRM: Xid") || absl::StartsWith(line, "nvidia-nvswitch");
  if (!is_of_driver || ReasonByXid(line).empty()) return;
  std::optional<uint32_t> device;
  if (!IsOfNvSwitch(line)) {
    const auto found = devices_.find(PciAddressOf(line).value_or(""));
    if (found == devices_.end()) return;  // another job may use that device
    device = found->second;
  }
  CutText(line, kMaxLastLineBytes);
  // A device that is gone may cause thousands of lines.
  if (count_ < kMaxLogged) {
    Log(Severity::kWarning, absl::StrCat("the kernel reports a fault of ",
                                         device ? absl::StrCat("device ", *device) : "an NVSwitch", ": ", line));
  }
  faults_.push_back({++count_, now, device, std::move(line)});
  if (faults_.size() > kMaxFaults) faults_.pop_front();
}

std::vector<std::string> KernelLog::FaultsAfter(uint64_t count, std::optional<uint32_t> device,
                                                MonotonicTime now) const {
  std::vector<std::string> lines;
  for (const Fault& fault : faults_) {
    const bool is_of_it = !device || !fault.device || *fault.device == *device;
    if (fault.number > count && is_of_it && now - fault.read_at <= kMaxAge) lines.push_back(fault.line);
  }
  const size_t surplus = lines.size() - std::min(lines.size(), kMaxKernelLines);
  lines.erase(lines.begin(), lines.begin() + static_cast<ptrdiff_t>(surplus));
  return lines;
}

}  // namespace muster::agent
