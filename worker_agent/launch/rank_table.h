// Reads and checks rank tables of Ascend clusters (versions 1.0 and 1.2). A table gives each device of each server its
// rank.
//
// The rules are those of the format's guide:
//   - status is "completed", and server_count is the number of servers;
//   - server ids are unique and shorter than 64 characters;
//   - rank ids are 0..N-1 without gaps;
//   - device addresses are unique, and needed with several servers (1.2: unless one super pod has all servers);
//   - 1.2: every server is in exactly one super pod.
// A table that breaks a rule is refused here with a message that names the rule; HCCL would only report EI0004. Version
// 2.0, for the devices of 2026, is a different format: the message about such a table says so.
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
  std::string device_ip;  // as in the table; may be a list with commas; empty: none
  uint32_t rank = 0;
  std::optional<uint32_t> super_device_id;  // only in version 1.2
  std::string entry;                        // its place in the table: "server_list[1].device[0]"
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
  std::string rule;    // a name that never changes: "rank_id_unique"
  std::string entry;   // the place: "server_list[1].device[0]", or "the table"
  std::string found;   // what is wrong at that place
  std::string remedy;  // the text to write instead
};

struct TableReport {
  std::vector<TableProblem> problems;  // the first 50; empty: the table may be used
  std::vector<std::string> remarks;    // on things that this program accepts, though the guide forbids them
  RankTable table;                     // the part that could be read
};

// Checks a table. After a broken rule it goes on with all rules that can still be checked.
TableReport CheckRankTable(const std::string& text);

// Reads and checks a table's file. The error names the file, the place in it, what was found and what is expected.
absl::StatusOr<RankTable> LoadRankTable(const std::string& path);

// Checks the text of a table. `name` is the file's name for the error message.
absl::StatusOr<RankTable> ParseRankTable(const std::string& text, const std::string& name);

// Returns the server that has one of `own_addresses`; the pointer is into `table`. The error names the addresses and
// the table's servers.
absl::StatusOr<const TableServer*> FindServer(const RankTable& table, const std::vector<IpAddress>& own_addresses);

// Return the server's ranks (NodeInfo.table_ranks), and the device id and address for each slot. Both lists are in the
// order of device ids. The node sends them in its join.
std::vector<uint32_t> TableRanks(const TableServer& server);
std::vector<v1::SlotOffer> TableOffers(const TableServer& server);

}  // namespace muster::agent
