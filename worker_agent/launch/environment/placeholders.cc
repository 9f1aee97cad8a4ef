#include "worker_agent/launch/environment/placeholders.h"

#include "absl/strings/ascii.h"
#include "common/net/address_rules.h"
#include "common/net/ip_address.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxName = 32;

// Returns the position of the } after the known name that begins at `start`; npos if no known name begins there.
size_t EndOfKnownName(const std::string& text, size_t start, const Placeholders& values) {
  const std::string head = text.substr(start, kMaxName + 1);
  const size_t length = head.find('}');
  if (length == std::string::npos || !values.contains(head.substr(0, length))) return std::string::npos;
  return start + length;
}

// True if a port follows at `at`: ":29500", ":{master_port}".
bool IsPortNext(const std::string& text, size_t at) {
  return at + 1 < text.size() && text[at] == ':' && (text[at + 1] == '{' || absl::ascii_isdigit(text[at + 1]));
}

}  // namespace

std::string FillPlaceholders(const std::string& text, const Placeholders& values) {
  std::string filled;
  size_t at = 0;
  while (at < text.size()) {
    if (text[at] != '{') {
      filled += text[at++];
      continue;
    }
    if (text.compare(at, 2, "{{") == 0) {
      const size_t end = EndOfKnownName(text, at + 2, values);
      if (end != std::string::npos && text.compare(end, 2, "}}") == 0) {
        filled += text.substr(at + 1, end - at);
        at = end + 2;
        continue;
      }
    }
    const size_t end = EndOfKnownName(text, at + 1, values);
    if (end == std::string::npos) {
      filled += text[at++];
      continue;
    }
    const std::string& value = values.at(text.substr(at + 1, end - at - 1));
    at = end + 1;
    filled += IsPortNext(text, at) && IpAddress::Parse(value) ? BracketIpv6(value) : value;
  }
  return filled;
}

std::vector<std::string> FillPlaceholders(const std::vector<std::string>& arguments, const Placeholders& values) {
  std::vector<std::string> filled;
  filled.reserve(arguments.size());
  for (const std::string& argument : arguments) filled.push_back(FillPlaceholders(argument, values));
  return filled;
}

}  // namespace muster::agent
