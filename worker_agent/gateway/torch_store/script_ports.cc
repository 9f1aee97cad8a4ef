#include "worker_agent/gateway/torch_store/script_ports.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/sys/file_io.h"

namespace muster::agent {
namespace {

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

// The port of the address, if `text`, which stands behind "tcp://", begins with one.
uint32_t PortOfAddress(absl::string_view text) {
  text = text.substr(0, text.find_first_of("'\" \t,?"));
  const size_t colon = text.rfind(':');
  uint32_t number = 0;
  return colon != absl::string_view::npos && absl::SimpleAtoi(text.substr(colon + 1), &number) ? number : 0;
}

class Ports {
 public:
  void Add(uint32_t port) {
    const bool is_new = std::find(ports_.begin(), ports_.end(), port) == ports_.end();
    if (port != 0 && port <= 65535 && is_new && ports_.size() < kMostPorts)
      ports_.push_back(static_cast<uint16_t>(port));
  }
  std::vector<uint16_t> Take() { return std::move(ports_); }

 private:
  std::vector<uint16_t> ports_;
};

// Calls `found` with what stands behind each `word` of the line.
template <typename Found>
void ForEach(absl::string_view line, absl::string_view word, Found found) {
  for (size_t at = line.find(word); at != absl::string_view::npos; at = line.find(word, at + word.size())) {
    found(line.substr(at + word.size()));
  }
}

}  // namespace

std::vector<uint16_t> MasterPortsIn(std::string_view script) {
  Ports ports;
  for (absl::string_view line : absl::StrSplit(absl::string_view(script.data(), script.size()), '\n')) {
    line = line.substr(0, line.find('#'));
    ForEach(line, "MASTER_PORT", [&](absl::string_view behind) { ports.Add(AssignedNumber(behind)); });
    if (!absl::StrContains(line, "init_method") && !absl::StrContains(line, "dist_url")) continue;
    ForEach(line, "tcp://", [&](absl::string_view behind) { ports.Add(PortOfAddress(behind)); });
  }
  return ports.Take();
}

std::vector<uint16_t> MasterPortsOfCommand(const std::vector<std::string>& command) {
  const auto script =
      std::find_if(command.begin(), command.end(), [](const std::string& word) { return absl::EndsWith(word, ".py"); });
  if (script == command.end()) return {};
  const absl::StatusOr<std::string> text = ReadSmallFile(*script, kMostScriptBytes);
  return text.ok() ? MasterPortsIn(*text) : std::vector<uint16_t>();
}

}  // namespace muster::agent
