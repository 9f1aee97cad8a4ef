// Rank tables of Ascend clusters (versions 1.0 and 1.2): the rank of each device of each server.
//
// The rules are those of the format's guide: status "completed", server_count as many as there are, server ids unique
// and shorter than 64 characters, rank ids 0..N-1 without gaps, device addresses unique and needed as soon as there is
// more than one server (1.2: unless all servers stand in one super pod), every server in exactly one super pod. A table
// that breaks one is refused here, where the message can say which: HCCL would say EI0004. Version 2.0, of the devices
// of 2026, is recognised and refused by its name: it is another format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/net/ip_address.h"
#include "muster/v1/types.pb.h"

namespace muster::agent {

struct TableDevice {
  uint32_t device_id = 0;
  std::string device_ip;  // as written, may be a comma list; empty: none
  uint32_t rank = 0;
  std::optional<uint32_t> super_device_id;  // 1.2
  std::string entry;                        // its place: "server_list[1].device[0]"
};

struct TableServer {
  std::string server_id;
  std::string entry;                   // "server_list[1]"
  std::vector<std::string> addresses;  // server_id and its other addresses: host_ip, pod_ip, container_ip
  std::vector<TableDevice> devices;    // by device id
};

struct RankTable {
  std::string version;
  std::vector<TableServer> servers;
  uint32_t rank_count = 0;
  std::string digest;  // SHA-256 of the file's bytes, lower-case hex
};

inline constexpr size_t kMaxRankTableBytes = 16 * 1024 * 1024;

// One broken rule, at one entry.
struct TableProblem {
  std::string rule;    // a stable word: "rank_id_unique"
  std::string entry;   // "server_list[1].device[0]"; "the table"
  std::string found;   // the fault there
  std::string remedy;  // the text to write instead
};

struct TableReport {
  std::vector<TableProblem> problems;  // the first 50; empty: the table may be used
  std::vector<std::string> remarks;    // allowed here, but not by the guide
  RankTable table;                     // as far as it could be read
};

// Checks all rules that can be checked, also beyond a broken one.
TableReport CheckRankTable(const std::string& text);

// The error names the file, the place in it, what was found and what is expected.
absl::StatusOr<RankTable> LoadRankTable(const std::string& path);

// `name` stands for the file in messages.
absl::StatusOr<RankTable> ParseRankTable(const std::string& text, const std::string& name);

// The server that is known by one of `own_addresses`; the error names these and the table's servers. The result points
// into the table.
absl::StatusOr<const TableServer*> FindServer(const RankTable& table, const std::vector<IpAddress>& own_addresses);

// For the join, in device order: NodeInfo.table_ranks, and device id and address for each slot.
std::vector<uint32_t> TableRanks(const TableServer& server);
std::vector<v1::SlotOffer> TableOffers(const TableServer& server);

}  // namespace muster::agent
