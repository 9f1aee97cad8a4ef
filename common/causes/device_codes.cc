// A code counts if NVIDIA's catalogue says to reset the device, to reboot, or to check the hardware. These codes do not
// count:
//
//   13, 31, 32, 43, 69   the program is the most frequent cause
//   45                   a consequence of another code
//   63, 92, 156          corrected, or only a report
//   94                   a contained error: only the program has to start again
//   144 to 150           errors of NVLink 5; only the registers in the rest of the line say whether they matter
//   154                  a report about another code
//   a Non-fatal SXid     the NVSwitch goes on
//
// SXids need no table, because the driver itself says which event is fatal.
//
// Sources: docs.nvidia.com/deploy/xid-errors, "Analyzing Xid Errors with the Xid Catalog"; NVSWITCH_REPORT_FATAL in
// NVIDIA/open-gpu-kernel-modules.
#include "common/causes/device_codes.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/reason.h"

namespace muster {
namespace {

constexpr size_t kMaxPlaceBytes = 64;  // of the parentheses: "PCI:0000:3b:00 GPU-I:05 GPU-CI:02"
constexpr size_t kMaxDigits = 6;       // of a code; SXids have 5

struct XidMeaning {
  uint32_t xid;
  absl::string_view text;
};

constexpr std::array kMeanings = std::to_array<XidMeaning>({
    {46, "the GPU has stopped processing"},
    {48, "a double-bit error in the GPU's memory"},
    {54, "the GPU's auxiliary power is not connected"},
    {62, "the GPU's internal micro-controller has halted"},
    {64, "the GPU can't remap a faulty row of its memory"},
    {74, "an error of NVLink"},
    {79, "the GPU has fallen off the bus"},
    {95, "an uncontained error in the GPU's memory"},
    {109, "the GPU did not switch between contexts in time"},
    {110, "a security fault of the GPU"},
    {119, "the GPU's system processor (GSP) does not answer"},
    {120, "the GPU's system processor (GSP) reports an error"},
    {136, "an NVLink could not be trained"},
    {140, "an unrecovered error in the GPU's memory"},
    {143, "the GPU can't be initialized"},
    {158, "a fatal timeout of the GPU"},
});

// One line of a driver.
struct Report {
  bool is_of_switch = false;
  absl::string_view place;  // "PCI:0000:3b:00"
  uint32_t code = 0;
  bool is_fatal = false;  // of an SXid

  // Returns the meaning; empty if the code means no fault of a device.
  absl::string_view meaning() const {
    if (is_of_switch) return is_fatal ? "a fatal error of an NVSwitch" : "";
    const auto found =
        std::find_if(kMeanings.begin(), kMeanings.end(), [this](const auto& m) { return m.xid == code; });
    return found == kMeanings.end() ? "" : found->text;
  }
};

// Parses the text after "Xid (": "PCI:0000:3b:00): 79, pid=2".
std::optional<Report> ParseReport(absl::string_view rest, bool is_of_switch) {
  Report report;
  report.is_of_switch = is_of_switch;
  const size_t end = rest.substr(0, kMaxPlaceBytes).find(')');
  if (end == absl::string_view::npos) return std::nullopt;
  report.place = rest.substr(0, end);
  rest.remove_prefix(end);
  if (!absl::ConsumePrefix(&rest, "): ")) return std::nullopt;
  size_t digits = 0;
  while (digits < rest.size() && digits <= kMaxDigits &&
         absl::ascii_isdigit(static_cast<unsigned char>(rest[digits]))) {
    ++digits;
  }
  if (digits > kMaxDigits || !absl::SimpleAtoi(rest.substr(0, digits), &report.code)) return std::nullopt;
  rest.remove_prefix(digits);
  if (!absl::StartsWith(rest, ",")) return std::nullopt;
  report.is_fatal = absl::StartsWith(rest, ", Fatal,");
  return report;
}

// Returns the next report at or after `at`, and sets `at` to where the search goes on. nullopt: there is none.
std::optional<Report> NextReport(absl::string_view text, size_t& at) {
  constexpr absl::string_view kXid = "Xid (";
  while ((at = text.find(kXid, at)) != absl::string_view::npos) {
    const absl::string_view before = text.substr(0, at);
    at += kXid.size();
    const bool is_of_switch = absl::EndsWith(before, "S");
    if (!is_of_switch && !absl::EndsWith(before, "NVRM: ")) continue;
    if (const std::optional<Report> report = ParseReport(text.substr(at), is_of_switch)) return report;
  }
  return std::nullopt;
}

std::optional<Report> FirstFault(absl::string_view text) {
  size_t at = 0;
  std::optional<Report> report = NextReport(text, at);
  while (report && report->meaning().empty()) report = NextReport(text, at);
  return report;
}

std::optional<Report> FirstFaultOrReport(absl::string_view text) {
  if (std::optional<Report> fault = FirstFault(text)) return fault;
  size_t at = 0;
  return NextReport(text, at);
}

// True for "0000:3b:00": a domain, a bus and a device in hexadecimal digits.
bool IsAddress(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  return parts.size() == 3 && std::all_of(parts.begin(), parts.end(), [](absl::string_view part) {
           return !part.empty() && std::all_of(part.begin(), part.end(), [](char c) {
             return absl::ascii_isxdigit(static_cast<unsigned char>(c));
           });
         });
}

}  // namespace

absl::string_view ReasonByXid(absl::string_view text) { return FirstFault(text) ? reason::kDeviceFault : ""; }

std::string MeaningOfXid(absl::string_view text) {
  const std::optional<Report> fault = FirstFault(text);
  if (!fault) return "";
  return absl::StrCat(fault->is_of_switch ? "SXid " : "Xid ", fault->code, ": ", fault->meaning());
}

std::optional<std::string> PciAddressOf(absl::string_view text) {
  const std::optional<Report> report = FirstFaultOrReport(text);
  if (!report) return std::nullopt;
  absl::string_view address = absl::StripPrefix(report->place, "PCI:");  // old drivers write no "PCI:"
  address = address.substr(0, address.find_first_of(" ."));  // without the part of a divided GPU, or a function
  if (!IsAddress(address)) return std::nullopt;
  return absl::AsciiStrToLower(address);
}

bool IsOfNvSwitch(absl::string_view text) {
  const std::optional<Report> report = FirstFaultOrReport(text);
  return report && report->is_of_switch;
}

}  // namespace muster
