// Value of the host          meaning
//
//   node1, 10.0.0.1, ::1      the host
//   [::1]                     the host ::1
//   node1:8118, [::1]:8118    host and port
//   ::1:8118                  an IPv6 address without a port
#include "common/settings/sched_address.h"

#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/net/ip_address.h"
#include "common/settings/cluster_settings.h"
#include "common/settings/values.h"

namespace muster {
namespace {

constexpr char kPortRule[] = "must be a port from 1024 to 65535";

// Returns a source's place in the order of precedence (see LoadSettings): 0 is the highest.
int Distance(const std::string& source) {
  if (source == "default") return 3;
  if (absl::StartsWith(source, "--")) return 0;
  return absl::StartsWith(source, "MS_") && !absl::StrContains(source, ":") ? 1 : 2;
}

absl::Status TakePort(const std::string& text, uint16_t* port) {
  const auto number = ParseWholeNumber(text, 1024, 65535);
  if (!number.ok()) {
    return absl::InvalidArgumentError("must be HOST or HOST:PORT, with a port from 1024 to 65535");
  }
  *port = static_cast<uint16_t>(*number);
  return absl::OkStatus();
}

// Sets the port once host and port are both known. Errors name both sources.
void SettlePort(uint16_t of_host, uint16_t* port, LoadResult& result) {
  if (of_host == 0) return;
  const std::string& host_source = result.sources["sched_host"];
  std::string& port_source = result.sources["sched_port"];
  if (port_source != "default" && *port != of_host && Distance(port_source) <= Distance(host_source)) {
    result.findings.errors.push_back(absl::StrCat("sched_host (from ", host_source, ") names port ", of_host,
                                                  ", but sched_port (from ", port_source, ") is ", *port,
                                                  "; give the port once"));
    return;
  }
  *port = of_host;
  port_source = host_source;
}

}  // namespace

absl::Status ParseHostAndPort(const std::string& text, std::string* host, uint16_t* port) {
  *port = 0;
  std::string name = text;
  if (absl::StartsWith(text, "[") || !IpAddress::Parse(text)) {
    const size_t bracket = absl::StartsWith(text, "[") ? text.find(']') : std::string::npos;
    const size_t colon = bracket == std::string::npos ? text.rfind(':') : bracket + 1;
    if (bracket != std::string::npos) {
      name = text.substr(1, bracket - 1);
      const auto address = IpAddress::Parse(name);
      if (!address || !absl::StrContains(name, ":")) {
        return absl::InvalidArgumentError("must have an IPv6 address between the brackets, as in [::1]:8118");
      }
    } else if (colon != std::string::npos) {
      name = text.substr(0, colon);
    }
    const bool has_rest = colon != std::string::npos && colon < text.size();
    if (has_rest && text[colon] != ':') return absl::InvalidArgumentError("must have :PORT after the bracket");
    if (has_rest) {
      const absl::Status taken = TakePort(text.substr(colon + 1), port);
      if (!taken.ok()) return taken;
    }
  }
  const absl::Status checked = CheckHost(name);
  if (checked.ok()) *host = name;
  return checked;
}

Setting& AddSchedAddress(SettingsTable& table, std::string* host, uint16_t* port, bool may_be_zero,
                         SchedAddressHelp help) {
  const auto of_host = std::make_shared<uint16_t>(0);
  Setting& host_setting = table.AddString("sched_host", host, std::move(help.host));
  host_setting.Value("HOST[:PORT]").Env({"MS_SCHED_HOST"}).Common();
  host_setting.parse = [host, of_host](const std::string& text) { return ParseHostAndPort(text, host, of_host.get()); };
  Setting& port_setting = table.AddPort("sched_port", port, std::move(help.port)).Env({"MS_SCHED_PORT"});
  if (!may_be_zero) {
    port_setting.range_text = "1024 to 65535";
    port_setting.parse = [store = port_setting.parse](const std::string& text) -> absl::Status {
      if (ParseWholeNumber(text, 1024, 65535).ok()) return store(text);
      return absl::InvalidArgumentError(kPortRule);
    };
  }
  table.AtEnd([of_host, port](LoadResult& result) { SettlePort(*of_host, port, result); });
  return port_setting;
}

}  // namespace muster
