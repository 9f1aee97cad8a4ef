// A list, and the hosts that it names:
//
//   n1                n1
//   n[1-3,07-09],m2   n1 n2 n3 n07 n08 n09 m2
//   r[1-2]n[1-2]-ib   r1n1-ib r1n2-ib r2n1-ib r2n2-ib
//   n[9-10]           n9 n10
//   n[1-3 n[] n[3-1] n[a] "a,,b" ""   errors
#include "worker_agent/platform/hostlist.h"

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/text.h"

namespace muster::agent {
namespace {

using Names = std::vector<std::string>;

constexpr size_t kMaxDigits = 9;
constexpr size_t kMaxNameBytes = 253;

absl::Status Wrong(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("must be a list of hosts like n[1-3,07-09],m2; ", what));
}

absl::Status TooMany() { return Wrong(absl::StrCat("there are more than ", kMaxHosts, " hosts")); }

bool ParseDigits(absl::string_view text, uint32_t& number) {
  return !text.empty() && text.size() <= kMaxDigits && text.find_first_not_of("0123456789") == text.npos &&
         absl::SimpleAtoi(text, &number);
}

// Expands the text in brackets: "1-3,07-09".
absl::StatusOr<Names> ExpandRanges(absl::string_view text) {
  Names out;
  for (const absl::string_view item : absl::StrSplit(text, ',')) {
    const size_t dash = item.find('-');
    const absl::string_view low = item.substr(0, dash);
    const absl::string_view high = dash == item.npos ? low : item.substr(dash + 1);
    uint32_t first = 0, last = 0;
    if (!ParseDigits(low, first) || !ParseDigits(high, last) || last < first) {
      return Wrong(absl::StrCat(Quoted(std::string(item)), " is no range"));
    }
    if (last - first >= kMaxHosts - out.size()) return TooMany();
    for (uint32_t number = first; number <= last; ++number) {
      const std::string digits = absl::StrCat(number);
      out.push_back(absl::StrCat(std::string(low.size() - std::min(low.size(), digits.size()), '0'), digits));
    }
  }
  return out;
}

// Expands one name with any number of brackets.
absl::StatusOr<Names> ExpandName(absl::string_view name) {
  Names out = {""};
  while (!name.empty()) {
    const size_t open = name.find('[');
    for (std::string& begun : out) absl::StrAppend(&begun, name.substr(0, open));
    if (open == name.npos) break;
    const size_t close = name.find(']', open);
    if (close == name.npos) return Wrong("a bracket is not closed");
    const absl::StatusOr<Names> middles = ExpandRanges(name.substr(open + 1, close - open - 1));
    if (!middles.ok()) return middles.status();
    if (out.size() * middles->size() > kMaxHosts) return TooMany();
    Names longer;
    for (const std::string& begun : out) {
      for (const std::string& middle : *middles) longer.push_back(begun + middle);
    }
    out = std::move(longer);
    name.remove_prefix(close + 1);
  }
  if (out.front().empty() || out.back().size() > kMaxNameBytes || out.front().find(']') != std::string::npos) {
    return Wrong("there is an item that is no name");
  }
  return out;
}

// Splits at commas outside of brackets.
std::vector<absl::string_view> Items(absl::string_view text) {
  std::vector<absl::string_view> items;
  bool is_inside = false;
  size_t begin = 0;
  for (size_t at = 0; at <= text.size(); ++at) {
    if (at == text.size() || (text[at] == ',' && !is_inside)) {
      items.push_back(text.substr(begin, at - begin));
      begin = at + 1;
    } else if (text[at] == '[' || text[at] == ']') {
      is_inside = text[at] == '[';
    }
  }
  return items;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ExpandHostList(const std::string& text) {
  Names hosts;
  for (const absl::string_view item : Items(text)) {
    absl::StatusOr<Names> names = ExpandName(item);
    if (!names.ok()) return names.status();
    if (hosts.size() + names->size() > kMaxHosts) return TooMany();
    hosts.insert(hosts.end(), names->begin(), names->end());
  }
  return hosts;
}

}  // namespace muster::agent
