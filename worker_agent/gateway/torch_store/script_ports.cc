#include "worker_agent/gateway/torch_store/script_ports.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/sys/file_io.h"

namespace muster::agent {
namespace {

constexpr std::string_view kName = "MASTER_PORT";
constexpr size_t kMostPorts = 4;
constexpr size_t kMostScriptBytes = size_t{1} << 20;

void Skip(std::string_view letters, absl::string_view& text) {
  while (!text.empty() && letters.find(text.front()) != std::string_view::npos) text.remove_prefix(1);
}

// What is assigned, if `text`, which stands behind the name, begins with an assignment of a number.
uint32_t AssignedNumber(absl::string_view text) {
  Skip("'\"] \t", text);
  if (!absl::ConsumePrefix(&text, "=") || absl::StartsWith(text, "=")) return 0;
  Skip(" \t", text);
  absl::ConsumePrefix(&text, "str(");
  Skip("'\"", text);
  size_t digits = 0;
  while (digits < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[digits]))) ++digits;
  uint32_t number = 0;
  return absl::SimpleAtoi(text.substr(0, digits), &number) ? number : 0;
}

}  // namespace

std::vector<uint16_t> MasterPortsIn(std::string_view script) {
  std::vector<uint16_t> ports;
  for (absl::string_view line : absl::StrSplit(absl::string_view(script.data(), script.size()), '\n')) {
    line = line.substr(0, line.find('#'));
    for (size_t at = line.find(kName.data()); at != absl::string_view::npos;
         at = line.find(kName.data(), at + kName.size())) {
      const uint32_t port = AssignedNumber(line.substr(at + kName.size()));
      const bool is_new = std::find(ports.begin(), ports.end(), port) == ports.end();
      if (port != 0 && port <= 65535 && is_new && ports.size() < kMostPorts)
        ports.push_back(static_cast<uint16_t>(port));
    }
  }
  return ports;
}

std::vector<uint16_t> MasterPortsOfCommand(const std::vector<std::string>& command) {
  const auto script =
      std::find_if(command.begin(), command.end(), [](const std::string& word) { return absl::EndsWith(word, ".py"); });
  if (script == command.end()) return {};
  const absl::StatusOr<std::string> text = ReadSmallFile(*script, kMostScriptBytes);
  return text.ok() ? MasterPortsIn(*text) : std::vector<uint16_t>();
}

}  // namespace muster::agent
