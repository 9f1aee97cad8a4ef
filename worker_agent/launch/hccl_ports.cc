#include "worker_agent/launch/hccl_ports.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/base/text.h"

namespace muster::agent {
namespace {

constexpr uint32_t kHighestPort = 65535;

absl::Status BadPorts(const std::string& variable, const std::string& value) {
  return absl::InvalidArgumentError(absl::StrCat(
      variable, " is ", Quoted(value),
      ", but HCCL takes auto, or ports from 1 to 65535, each once, as in 61000-61050 or 61000,61010-61020; "
      "correct it or leave it out"));
}

bool Overlap(std::vector<NumberRange> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const NumberRange& a, const NumberRange& b) { return a.low < b.low; });
  return std::adjacent_find(ranges.begin(), ranges.end(),
                            [](const NumberRange& a, const NumberRange& b) { return b.low <= a.high; }) != ranges.end();
}

}  // namespace

std::vector<NumberRange> HcclPorts::HostRanges() const {
  if (host.choice != PortChoice::kNotSet) return host.ranges;
  return {NumberRange{base_port, base_port + kHcclPorts - 1}};
}

const char* HcclPorts::HostVariable() const {
  return host.choice == PortChoice::kNotSet ? kHcclBasePortVariable : kHcclHostPortsVariable;
}

absl::StatusOr<SocketPorts> ParseSocketPorts(const std::string& variable, const std::string& value) {
  SocketPorts ports;
  if (value == "auto") {
    ports.choice = PortChoice::kAuto;
    return ports;
  }
  const std::string text = absl::StrReplaceAll(value, {{" ", ""}});
  if (text.empty()) return ports;
  // ParseNumberRanges would also take tabs, which HCCL refuses.
  if (text.find_first_not_of("0123456789,-") != std::string::npos) return BadPorts(variable, value);
  absl::StatusOr<std::vector<NumberRange>> ranges = ParseNumberRanges(text, kHighestPort);
  if (!ranges.ok()) return BadPorts(variable, value);
  const bool has_zero =
      std::any_of(ranges->begin(), ranges->end(), [](const NumberRange& range) { return range.low == 0; });
  if (has_zero || Overlap(*ranges)) return BadPorts(variable, value);
  ports.choice = PortChoice::kRanges;
  ports.ranges = *std::move(ranges);
  return ports;
}

absl::StatusOr<SocketPorts> FindSocketPorts(const std::string& variable,
                                            const std::map<std::string, std::string>& env_setting,
                                            const std::map<std::string, std::string>& environment) {
  if (const auto given = env_setting.find(variable); given != env_setting.end()) {
    // The launch fills in placeholders such as {local_rank}, so the ports are not known yet.
    if (given->second.find('{') != std::string::npos) return SocketPorts{PortChoice::kPerProcess, {}};
    return ParseSocketPorts(variable, given->second);
  }
  const auto inherited = environment.find(variable);
  if (inherited == environment.end()) return SocketPorts{};
  return ParseSocketPorts(variable, inherited->second);
}

std::string ShowPorts(const std::vector<NumberRange>& ranges) {
  return absl::StrJoin(ranges, ",", [](std::string* out, const NumberRange& range) {
    absl::StrAppend(out, range.low);
    if (range.high != range.low) absl::StrAppend(out, "-", range.high);
  });
}

}  // namespace muster::agent
