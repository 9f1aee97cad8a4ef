// The answer to each command:
//
// cmd                  answer
// init                 response_to_init; a version other than 1 is refused
// get_maxes            maxes: how long names, keys and values may be
// get_appnum           appnum: 0
// get_my_kvsname       my_kvsname
// get_universe_size    universe_size: the number of the job's ranks
// put                  put_result; all ranks see the value after the next barrier
// get                  get_result; rc=-1 if there is no such key
// barrier_in           barrier_out, once all ranks of the job are in it
// finalize             finalize_ack
// abort                none: the rank waits to be ended
// any other            (spawn, publish_name, …) rc=-1
#include "worker_agent/gateway/mpi/pmi1.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/text.h"

namespace muster::agent {

std::string ProcessMapping(const RoundLayout& layout, size_t most_bytes) {
  struct Block {
    uint32_t machine = 0;
    uint32_t machines = 0;
    uint32_t ranks = 0;
  };
  std::vector<Block> blocks;
  std::vector<Block> runs;  // sequences of ranks that follow each other on one machine
  for (const uint32_t machine : layout.MachineOfRank()) {
    if (runs.empty() || runs.back().machine != machine) runs.push_back({machine, 1, 0});
    ++runs.back().ranks;
  }
  for (const Block& run : runs) {
    const bool follows = !blocks.empty() && blocks.back().ranks == run.ranks &&
                         blocks.back().machine + blocks.back().machines == run.machine;
    if (follows) {
      ++blocks.back().machines;
    } else {
      blocks.push_back(run);
    }
  }
  std::string text = "(vector";
  for (const Block& block : blocks) {
    absl::StrAppend(&text, ",(", block.machine, ",", block.machines, ",", block.ranks, ")");
  }
  text += ")";
  return text.size() > most_bytes ? "" : text;
}

namespace {

constexpr size_t kMaxBytesOfJob = 64 * 1024 * 1024;
constexpr char kMappingKey[] = "PMI_process_mapping";

using Words = std::map<std::string, std::string, std::less<>>;

// Parses a line. An abort's message has blanks, so it is the whole rest of the line.
Words WordsOf(absl::string_view line) {
  Words words;
  for (size_t at = 0; at < line.size();) {
    const size_t end = std::min(line.find(' ', at), line.size());
    const absl::string_view word = line.substr(at, end - at);
    const size_t equals = word.find('=');
    if (equals != absl::string_view::npos) {
      const absl::string_view name = word.substr(0, equals);
      const bool takes_rest = name == "error_msg" || name == "message";
      words.emplace(name, takes_rest ? line.substr(at + equals + 1) : word.substr(equals + 1));
      if (takes_rest) break;
    }
    at = end + 1;
  }
  return words;
}

absl::string_view WordOf(const Words& words, absl::string_view name) {
  const auto found = words.find(name);
  return found == words.end() ? absl::string_view() : absl::string_view(found->second);
}

}  // namespace

Pmi1::Pmi1(const RoundLayout& layout)
    : name_(absl::StrCat("kvs_", layout.id)), size_(layout.size()), ranks_(layout.own_agent().ranks.size()) {
  std::string mapping = ProcessMapping(layout, kMaxValueBytes - 1);
  if (!mapping.empty()) values_[kMappingKey] = std::move(mapping);
}

absl::StatusOr<Pmi1::Step> Pmi1::OnLine(uint32_t slot, absl::string_view line) {
  Rank& rank = ranks_[slot];
  const Words words = WordsOf(line);
  const absl::string_view command = WordOf(words, "cmd");
  Step step;
  const auto answer = [&](std::string text) { step.replies.push_back({slot, std::move(text) + "\n"}); };
  const auto refuse = [&](const std::string& why) {
    rank.progress.error = why;
    return absl::InvalidArgumentError(why);
  };
  if (command == "init") {
    if (WordOf(words, "pmi_version") != "1") {
      return refuse(absl::StrCat("it speaks version ", Quoted(std::string(WordOf(words, "pmi_version")), 16),
                                 " of PMI, not version 1"));
    }
    rank.progress.has_connected = true;
    answer("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0");
  } else if (command == "get_maxes") {
    answer(absl::StrCat("cmd=maxes kvsname_max=", kMaxNameBytes, " keylen_max=", kMaxKeyBytes,
                        " vallen_max=", kMaxValueBytes));
  } else if (command == "get_appnum") {
    answer("cmd=appnum appnum=0");
  } else if (command == "get_my_kvsname") {
    answer(absl::StrCat("cmd=my_kvsname kvsname=", name_));
  } else if (command == "get_universe_size") {
    answer(absl::StrCat("cmd=universe_size size=", size_));
  } else if (command == "put") {
    const absl::Status put = Put(rank, words);
    if (!put.ok()) return refuse(std::string(put.message()));
    answer("cmd=put_result rc=0 msg=success");
  } else if (command == "get") {
    answer(Get(words));
  } else if (command == "barrier_in") {
    if (rank.is_in_barrier) return refuse("it entered a barrier twice");
    rank.is_in_barrier = true;
    if (std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& other) { return other.is_in_barrier; })) {
      step.has_fence = true;
      step.bundle = std::exchange(bundle_, "");
    }
  } else if (command == "finalize") {
    rank.progress.has_finalized = true;
    answer("cmd=finalize_ack rc=0");
  } else if (command == "abort") {
    rank.progress.has_aborted = true;
    if (!absl::SimpleAtoi(WordOf(words, "exitcode"), &rank.progress.abort_code)) rank.progress.abort_code = 1;
    const absl::string_view message = WordOf(words, words.contains("message") ? "message" : "error_msg");
    rank.progress.abort_message = std::string(message);
  } else if (command.empty()) {
    return refuse(absl::StrCat("it sent something that is not PMI-1: ", Quoted(std::string(line), 64)));
  } else {
    answer(absl::StrCat("cmd=", command, "_result rc=-1 msg=not_supported"));
  }
  return step;
}

absl::Status Pmi1::Put(Rank& rank, const Words& words) {
  const absl::string_view key = WordOf(words, "key");
  const absl::string_view value = WordOf(words, "value");
  if (key.empty() || key.size() > kMaxKeyBytes || value.size() > kMaxValueBytes) {
    return absl::InvalidArgumentError("it put a key or a value that is too long");
  }
  if (++rank.puts > kMaxPutsOfRank) {
    return absl::InvalidArgumentError(absl::StrCat("it put more than ", kMaxPutsOfRank, " keys before a barrier"));
  }
  absl::StrAppend(&bundle_, key, "=", value, "\n");
  return absl::OkStatus();
}

std::string Pmi1::Get(const Words& words) const {
  const auto found = values_.find(WordOf(words, "key"));
  if (found == values_.end()) return "cmd=get_result rc=-1 msg=key_not_found value=unknown";
  return absl::StrCat("cmd=get_result rc=0 msg=success value=", found->second);
}

absl::Status Pmi1::TakeBundle(absl::string_view bundle) {
  for (const absl::string_view line : absl::StrSplit(bundle, '\n', absl::SkipEmpty())) {
    const size_t equals = line.find('=');
    if (equals == absl::string_view::npos || equals == 0 || line.size() > kMaxKeyBytes + kMaxValueBytes + 1) {
      return absl::InvalidArgumentError("another node's values are damaged");
    }
    value_bytes_ += line.size();
    if (value_bytes_ > kMaxBytesOfJob)
      return absl::ResourceExhaustedError("the values that the ranks have put are too large in all");
    values_[std::string(line.substr(0, equals))] = std::string(line.substr(equals + 1));
  }
  return absl::OkStatus();
}

Pmi1::Step Pmi1::Gathered(const absl::StatusOr<std::vector<std::string>>& bundles) {
  absl::Status status = bundles.status();
  if (status.ok()) {
    for (const std::string& bundle : *bundles) {
      status = TakeBundle(bundle);
      if (!status.ok()) break;
    }
  }
  Step step;
  for (uint32_t slot = 0; slot < ranks_.size(); ++slot) {
    if (!std::exchange(ranks_[slot].is_in_barrier, false)) continue;
    ranks_[slot].puts = 0;
    if (status.ok()) {
      step.replies.push_back({slot, "cmd=barrier_out\n"});
    } else {
      ranks_[slot].progress.error =
          absl::StrCat("MPI's barrier between the nodes failed: ", std::string(status.message()));
    }
  }
  return step;
}

}  // namespace muster::agent
