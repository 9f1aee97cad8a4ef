#include "ring/plan.h"

#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/text.h"
#include "common/net/address_rules.h"

namespace muster::ring {

namespace {

int64_t Quarters(uint32_t rank, size_t index) {
  return static_cast<int64_t>((index % kPeriod * 31 + static_cast<size_t>(rank) * 17) % kPeriod) - 125;
}

}  // namespace

float PatternValue(uint32_t rank, size_t index) { return static_cast<float>(Quarters(rank, index)) * 0.25F; }

void ExpectedSum::Add(uint32_t rank) {
  for (size_t i = 0; i < kPeriod; ++i) quarters_[i] += Quarters(rank, i);
}

std::optional<size_t> ExpectedSum::FirstWrong(const float* values, size_t first_index, size_t count) const {
  std::array<float, kPeriod> expected{};
  for (size_t i = 0; i < kPeriod; ++i) expected[i] = At(i);
  size_t at = first_index % kPeriod;
  for (size_t i = 0; i < count; ++i) {
    if (!(values[i] == expected[at])) return i;  // not "!=", so that a NaN counts as wrong
    if (++at == kPeriod) at = 0;
  }
  return std::nullopt;
}

namespace {

constexpr size_t kFingerprintDigits = 64;

absl::Status Wrong(const std::string& what) { return absl::InvalidArgumentError(absl::StrCat("cluster file: ", what)); }

const nlohmann::json* Find(const nlohmann::json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

std::optional<std::string> Text(const nlohmann::json& object, const char* name, size_t limit) {
  const nlohmann::json* value = Find(object, name);
  if (value == nullptr || !value->is_string()) return std::nullopt;
  std::string text = value->get<std::string>();
  if (text.size() > limit) return std::nullopt;
  return text;
}

std::optional<uint32_t> Number(const nlohmann::json& object, const char* name, uint32_t highest) {
  const nlohmann::json* value = Find(object, name);
  if (value == nullptr || !value->is_number_unsigned() || value->get<uint64_t>() > highest) return std::nullopt;
  return static_cast<uint32_t>(value->get<uint64_t>());
}

bool IsFingerprint(const std::string& text) {
  return text.empty() ||
         (text.size() == kFingerprintDigits && text.find_first_not_of("0123456789abcdef") == std::string::npos);
}

absl::StatusOr<Peer> ParsePeer(const nlohmann::json& json) {
  const auto rank = Number(json, "rank", kMaxRanksInClusterFile - 1);
  if (!rank) return Wrong("a peer's \"rank\" is missing or out of range");
  const auto wrong = [&](const char* member) {
    return Wrong(absl::StrCat("the \"", member, "\" of peer ", *rank, " is missing or malformed"));
  };
  Peer peer;
  peer.rank = *rank;
  const auto node_id = Text(json, "node_id", kMaxIdBytes);
  if (!node_id) return wrong("node_id");
  const auto host = Text(json, "host", kMaxHostNameBytes);
  if (!host) return wrong("host");
  const auto address = IpAddress::Parse(Text(json, "address", kMaxShortTextBytes).value_or(""));
  if (!address) return wrong("address");
  if (IsLinkLocal(*address)) return Wrong(absl::StrCat("the address of peer ", *rank, " ", kNoLinkLocal));
  const auto port = Number(json, "ring_port", 65535);
  if (!port || *port == 0) return wrong("ring_port");
  const auto fingerprint = Text(json, "certificate_fingerprint", kFingerprintDigits);
  if (!fingerprint || !IsFingerprint(*fingerprint)) return wrong("certificate_fingerprint");
  const auto machine = Number(json, "node_rank", UINT32_MAX);
  if (!machine) return wrong("node_rank");
  peer.node_id = *node_id;
  peer.host = *host;
  peer.address = *address;
  peer.port = static_cast<uint16_t>(*port);
  peer.fingerprint = *fingerprint;
  peer.machine = *machine;
  return peer;
}

absl::StatusOr<std::vector<Peer>> ParsePeers(const nlohmann::json& file, const std::string& role, uint32_t world_size) {
  const nlohmann::json* list = Find(file, "peers");
  if (list == nullptr || !list->is_array()) return Wrong("\"peers\" is missing or no list");
  std::vector<std::optional<Peer>> by_rank(world_size);
  for (const nlohmann::json& json : *list) {
    if (Text(json, "role", kMaxShortTextBytes) != role) continue;
    absl::StatusOr<Peer> peer = ParsePeer(json);
    if (!peer.ok()) return peer.status();
    if (peer->rank >= world_size)
      return Wrong(absl::StrCat("peer ", peer->rank, " is beyond the world size ", world_size));
    if (by_rank[peer->rank]) return Wrong(absl::StrCat("rank ", peer->rank, " is in the list twice"));
    const uint32_t rank = peer->rank;
    by_rank[rank] = *std::move(peer);
  }
  std::vector<Peer> peers;
  for (uint32_t rank = 0; rank < world_size; ++rank) {
    if (!by_rank[rank]) return Wrong(absl::StrCat("rank ", rank, " is not in the list"));
    peers.push_back(*std::move(by_rank[rank]));
  }
  return peers;
}

absl::StatusOr<uint32_t> OwnRank(const nlohmann::json& file, std::optional<uint32_t> wanted) {
  const nlohmann::json* list = Find(file, "local_ranks");
  if (list == nullptr || !list->is_array()) return Wrong("\"local_ranks\" is missing or no list");
  std::set<uint32_t> local;
  for (const nlohmann::json& json : *list) {
    const auto rank = Number(json, "rank", kMaxWorkers);
    if (!rank) return Wrong("a local rank is malformed");
    local.insert(*rank);
  }
  if (wanted && local.contains(*wanted)) return *wanted;
  if (wanted) return Wrong(absl::StrCat("rank ", *wanted, " is not a rank of this node"));
  if (local.size() == 1) return *local.begin();
  return Wrong(absl::StrCat("this node has ", local.size(), " ranks: choose one with --rank"));
}

}  // namespace

std::string Peer::Where() const {
  return absl::StrCat("rank ", rank, " on ", EscapeControl(host), " (", JoinHostPort(address.ToString(), port), ")");
}

absl::StatusOr<Plan> ParsePlan(const std::string& text, std::optional<uint32_t> rank) {
  if (text.size() > kMaxClusterFileBytes) return Wrong("is too large");
  const nlohmann::json file = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (Text(file, "schema", kMaxShortTextBytes) != "muster.cluster/1")
    return Wrong("its \"schema\" is not \"muster.cluster/1\"");
  Plan plan;
  const auto job_id = Text(file, "job_id", kMaxIdBytes);
  const auto run = Number(file, "run", UINT32_MAX);
  const auto round = Number(file, "round", UINT32_MAX);
  const auto role = Text(file, "role", kMaxShortTextBytes);
  const auto world_size = Number(file, "world_size", kMaxWorkers);
  if (!job_id || !run || !round || !role || !world_size || *world_size == 0) {
    return Wrong("job_id, run, round, role or world_size is missing or malformed");
  }
  const nlohmann::json* complete = Find(file, "peers_complete");
  if (*world_size > kMaxRanksInClusterFile || complete == nullptr || !complete->is_boolean() ||
      !complete->get<bool>()) {
    return Wrong(
        absl::StrCat("it doesn't list all peers: the ring is checked up to ", kMaxRanksInClusterFile, " ranks"));
  }
  plan.job_id = *job_id;
  plan.run = *run;
  plan.round = *round;
  absl::StatusOr<std::vector<Peer>> peers = ParsePeers(file, *role, *world_size);
  if (!peers.ok()) return peers.status();
  plan.peers = *std::move(peers);
  const absl::StatusOr<uint32_t> own = OwnRank(file, rank);
  if (!own.ok()) return own.status();
  if (*own >= *world_size) return Wrong(absl::StrCat("rank ", *own, " is beyond the world size ", *world_size));
  plan.rank = *own;
  for (const Peer& peer : plan.peers) plan.is_secure = plan.is_secure || !peer.fingerprint.empty();
  for (const Peer& peer : plan.peers) {
    if (plan.is_secure && peer.fingerprint.empty()) {
      return Wrong(
          absl::StrCat(peer.Where(), " announced no certificate, others did: start its agent with --tls_config"));
    }
  }
  return plan;
}

}  // namespace muster::ring
