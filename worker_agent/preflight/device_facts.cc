// The sources of the facts about an Ascend device:
//
//   address, netmask   /etc/hccn.conf (address_N, netmask_N), else hccn_tool -i N -ip -g
//   TLS switch         hccn_tool -i N -tls -g
//   health             hccn_tool -i N -net_health -g
//   neighbour          hccn_tool -i N -lldp -g
//
// Calls of hccn_tool run one after the other. Once their time limit is over, the missing facts stay unknown.
#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/text.h"
#include "common/net/ip_address.h"
#include "common/sys/child/bounded_command.h"
#include "common/sys/file_io.h"
#include "worker_agent/preflight/facts.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxFactFileBytes = 64 * 1024;
constexpr size_t kMaxToolBytes = 16 * 1024;
constexpr size_t kMaxPciDevices = 4096;
constexpr size_t kMaxWordBytes = 64;

std::string ReadOrNothing(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadSmallFile(path, kMaxFactFileBytes);
  return text.ok() ? std::string(absl::StripAsciiWhitespace(*text)) : "";
}

// Returns the text after `name` in the first line that begins with it; empty: no line does.
std::string ValueOf(const std::string& text, absl::string_view name) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (!absl::ConsumePrefix(&line, name)) continue;
    return EscapeControl(std::string(absl::StripAsciiWhitespace(line).substr(0, kMaxWordBytes)));
  }
  return "";
}

// Returns the kind of the Ascend devices by their PCI device numbers: 910, 910B (A2) or 910_93 (A3).
AscendKind KindByPci(const HostRoots& roots) {
  std::error_code error;
  size_t count = 0;
  for (std::filesystem::directory_iterator at(roots.sys + "/bus/pci/devices", error), end; !error && at != end;
       at.increment(error)) {
    if (++count > kMaxPciDevices) break;
    if (ReadOrNothing((at->path() / "vendor").string()) != "0x19e5") continue;
    const std::string device = ReadOrNothing((at->path() / "device").string());
    if (device == "0xd801") return AscendKind::kFirst;
    if (device == "0xd802") return AscendKind::kA2;
    if (device == "0xd803") return AscendKind::kA3;
  }
  return AscendKind::kUnknown;
}

// Returns the version in the line "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 …".
std::string NvidiaDriver(const HostRoots& roots) {
  for (const absl::string_view word :
       absl::StrSplit(ValueOf(ReadOrNothing(roots.proc + "/driver/nvidia/version"), "NVRM version:"), ' ')) {
    if (absl::StrContains(word, '.') && absl::ascii_isdigit(static_cast<unsigned char>(word[0]))) {
      return std::string(word);
    }
  }
  return "";
}

// Calls hccn_tool until the time limit for all calls is over.
class Tool {
 public:
  explicit Tool(const DeviceSearch& search)
      : search_(search),
        path_(FindHccnTool(search, why_not_)),
        give_up_(search.clock->Read().monotonic + search.whole_limit) {}

  std::optional<std::string> Ask(uint32_t device, const char* what) const {
    const MonotonicTime now = search_.clock->Read().monotonic;
    if (path_.empty() || now >= give_up_) return std::nullopt;
    CommandResult result = RunBounded({{path_, "-i", absl::StrCat(device), what, "-g"},
                                       {absl::StrCat("PATH=", search_.search_path)},
                                       kMaxToolBytes,
                                       std::min(now + search_.call_limit, give_up_)},
                                      *search_.clock);
    if (result.end != CommandResult::End::kExited || result.code != 0) return std::nullopt;
    return std::move(result.output);
  }

 private:
  const DeviceSearch& search_;
  std::vector<std::string>
      why_not_;  // why path_ is empty; not reported here: AddDevices reports it if --hccl_mode needs the tool
  const std::string path_;
  const MonotonicTime give_up_;
};

// Returns whether TLS is on, from the output "dev_id:0, tls switch[0](0:disable, 1:enable), …".
std::optional<bool> TlsSwitch(const std::string& text) {
  if (absl::StrContains(text, "tls switch[0]")) return false;
  if (absl::StrContains(text, "tls switch[1]")) return true;
  return std::nullopt;
}

void ReadAddress(uint32_t number, const std::string& given, const std::string& conf, const Tool& tool,
                 DeviceFacts& facts) {
  const std::map<uint32_t, std::string> addresses = ParseHccnConf(conf);
  if (const auto found = addresses.find(number); found != addresses.end()) {
    facts.address = found->second;
    facts.netmask = ValueOf(conf, absl::StrCat("netmask_", number, "="));
  } else if (const auto text = tool.Ask(number, "-ip")) {
    facts.address = ParseHccnTool(*text);
    facts.netmask = ValueOf(*text, "netmask:");
  }
  if (!given.empty()) facts.address = given;
  if (!IpAddress::Parse(facts.netmask)) facts.netmask.clear();
}

void AskState(uint32_t number, const Tool& tool, DeviceFacts& facts) {
  if (const auto text = tool.Ask(number, "-tls")) facts.has_tls = TlsSwitch(*text);
  if (const auto text = tool.Ask(number, "-net_health")) facts.health = ValueOf(*text, "net health status:");
  if (const auto text = tool.Ask(number, "-lldp")) {
    facts.has_neighbour = !absl::StripAsciiWhitespace(*text).empty();
  }
}

}  // namespace

void ReadDevices(const FactsRequest& request, HostFacts& facts) {
  const HostRoots& roots = request.search.roots;
  if (facts.device_kind == "NVIDIA") {
    if (std::string driver = NvidiaDriver(roots); !driver.empty()) facts.driver = std::move(driver);
  }
  if (facts.device_kind != "Ascend") return;
  if (std::string driver = ValueOf(ReadOrNothing(roots.driver + "/version.info"), "Version="); !driver.empty()) {
    facts.driver = std::move(driver);
  }
  facts.ascend = KindByPci(roots);
  for (const char* name : {"davinci_manager", "devmm_svm", "hisi_hdc"}) {
    if (access(absl::StrCat(roots.dev, "/", name).c_str(), F_OK) != 0 && errno == ENOENT) {
      facts.missing_device_files.push_back(absl::StrCat("/dev/", name));
    }
  }
  const std::string conf = ReadHccnConf(request.search).value_or("");
  const Tool tool(request.search);
  for (const uint32_t device : facts.devices) {
    const auto given = facts.given_addresses.find(device);
    ReadAddress(device, given == facts.given_addresses.end() ? "" : given->second, conf, tool,
                facts.device_facts[device]);
  }
  // The state of the devices comes after all addresses, which matter more if the time runs out.
  for (const uint32_t device : facts.devices) AskState(device, tool, facts.device_facts[device]);
}

}  // namespace muster::agent
