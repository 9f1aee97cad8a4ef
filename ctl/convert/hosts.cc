// The lines of a host file, and their meaning:
//
//   node1 slots=8 max_slots=16, node1 cpu=8    host node1 with 8 slots (Open MPI, Horovod, DeepSpeed)
//   node1:8, node1:8 binding=user:0            host node1 with 8 slots (Hydra)
//   node1, user@node1                          host node1; its number of slots is not given
//   # words                                    a comment
//   node1 on two lines                         one host; its slots are the sum
#include "ctl/convert/hosts.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/base/limits.h"
#include "common/base/text.h"
#include "common/command/shell_words.h"
#include "common/net/ip_address.h"

namespace muster::ctl {
namespace {

constexpr size_t kMaxHosts = 65536;

// Returns the index of the ":" after the host's name, before a number; npos: there is none.
size_t PortAt(const std::string& host) {
  if (absl::StartsWith(host, "[")) {
    const size_t bracket = host.find(']');
    return bracket == std::string::npos ? bracket : host.find(':', bracket);
  }
  return IpAddress::Parse(host) ? std::string::npos : FindOutsideExpansions(host, ':');
}

class HostList {
 public:
  absl::Status Add(const std::string& name, const std::string& slots) {
    uint32_t number = 0;
    const bool is_number = absl::SimpleAtoi(slots, &number) && number > 0 && number <= kMaxWorkers;
    const bool is_variable = absl::StartsWith(slots, "$");
    if (!slots.empty() && !is_number && !is_variable) {
      return absl::InvalidArgumentError(
          absl::StrCat(Quoted(slots), " of host ", Quoted(name), " must be a number of processes"));
    }
    if (name.empty()) return absl::InvalidArgumentError("a host has no name");
    const auto [known, is_new] = by_name_.try_emplace(name, hosts_.size());
    if (!is_new) {
      // A mention of a host without a number counts as one process.
      HostSlots& host = hosts_[known->second];
      host.expression.clear();
      const uint64_t sum = uint64_t{std::max<uint32_t>(host.slots, 1)} + std::max<uint32_t>(number, 1);
      host.slots = static_cast<uint32_t>(std::min<uint64_t>(sum, kMaxWorkers + 1));  // SettleSize refuses the sum
      return absl::OkStatus();
    }
    if (hosts_.size() == kMaxHosts) {
      return absl::InvalidArgumentError(absl::StrCat("more than ", kMaxHosts, " hosts"));
    }
    hosts_.push_back({name, is_variable ? 0 : number, is_variable ? slots : ""});
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<HostSlots>> Take() {
    if (hosts_.empty()) return absl::InvalidArgumentError("no host is named");
    return std::move(hosts_);
  }

 private:
  std::vector<HostSlots> hosts_;
  absl::flat_hash_map<std::string, size_t> by_name_;
};

}  // namespace

std::string WithoutPort(const std::string& host) {
  std::string name = host.substr(0, PortAt(host));
  if (absl::StartsWith(name, "[") && absl::EndsWith(name, "]")) name = name.substr(1, name.size() - 2);
  const size_t user = FindOutsideExpansions(name, '@');
  return user == std::string::npos ? name : name.substr(user + 1);
}

bool IsEachMachineItself(const std::string& host) {
  const std::string name = absl::AsciiStrToLower(host);
  const auto address = IpAddress::Parse(name);
  return absl::StartsWith(name, "localhost") || absl::StartsWith(name, "ip6-localhost") ||
         (address && (address->is_loopback() || address->is_any()));
}

absl::StatusOr<std::vector<HostSlots>> ParseHosts(const std::string& list) {
  HostList hosts;
  for (const absl::string_view item : absl::StrSplit(list, ',', absl::SkipEmpty())) {
    const std::string host(absl::StripAsciiWhitespace(item));
    const size_t port = PortAt(host);
    const bool may_be_several = host == list && host.find_first_of("$`") == 0 && port == std::string::npos;
    if (may_be_several) {
      return absl::InvalidArgumentError(
          absl::StrCat(host, " may hold several hosts: replace it by HOST1:SLOTS,HOST2:SLOTS"));
    }
    const std::string slots = port == std::string::npos ? "" : host.substr(port + 1);
    if (absl::Status added = hosts.Add(WithoutPort(host), slots == "*" ? "" : slots); !added.ok()) return added;
  }
  return hosts.Take();
}

absl::StatusOr<std::vector<HostSlots>> ParseHostFile(const std::string& text) {
  HostList hosts;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::string bare = absl::StrReplaceAll(line.substr(0, line.find('#')), {{" = ", "="}, {"= ", "="}});
    const std::vector<std::string> words = absl::StrSplit(bare, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (words.empty()) continue;
    const size_t port = PortAt(words[0]);
    std::string slots = port == std::string::npos ? "" : words[0].substr(port + 1);
    for (const std::string& word : words) {
      const std::string name = absl::AsciiStrToLower(word.substr(0, word.find('=')));
      if (name == "slots" || name == "cpu" || name == "count")
        slots = word.substr(std::min(word.find('='), word.size() - 1) + 1);
    }
    if (absl::Status added = hosts.Add(WithoutPort(words[0]), slots); !added.ok()) return added;
  }
  return hosts.Take();
}

}  // namespace muster::ctl
