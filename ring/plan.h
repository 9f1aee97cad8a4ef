// The plan of a ring check, which a rank reads from MS_CLUSTER_FILE; and the numbers that the ring adds up. Pure.
//
// Each number is a small multiple of 0.25. So a sum over up to 1,024 ranks is exact in float32, in any order, and every
// wrong bit is found. The numbers repeat after kPeriod elements, so a small table has all expected sums.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/net/ip_address.h"

namespace muster::ring {

inline constexpr size_t kPeriod = 251;

// Returns element `index` of the data that `rank` adds to the sum.
float PatternValue(uint32_t rank, size_t index);

// The expected sum over the ranks added so far.
class ExpectedSum {
 public:
  void Add(uint32_t rank);
  float At(size_t index) const { return static_cast<float>(quarters_[index % kPeriod]) * 0.25F; }

  // Compares `count` values with the elements of the sum from `first_index` on. Returns the index in `values` of the
  // first wrong one; none: all are right.
  std::optional<size_t> FirstWrong(const float* values, size_t first_index, size_t count) const;

 private:
  std::array<int64_t, kPeriod> quarters_{};
};

inline constexpr size_t kMaxClusterFileBytes = 4 << 20;

struct Peer {
  uint32_t rank = 0;
  std::string node_id;
  std::string host;
  IpAddress address = *IpAddress::Parse("0.0.0.0");
  uint16_t port = 0;
  std::string fingerprint;  // SHA-256 of the certificate's DER, 64 lower-case hex digits; empty: without TLS
  uint32_t machine = 0;     // ranks with the same number are on the same machine

  std::string Where() const;  // returns "rank 3 on gpu1 (10.0.0.2:40001)"
};

struct Plan {
  std::string job_id;
  uint32_t run = 0;
  uint32_t round = 0;
  uint32_t rank = 0;
  std::vector<Peer> peers;  // the ranks of this rank's role; the index is the rank
  bool is_secure = false;   // true: every peer has a fingerprint; false: none has one

  uint32_t size() const { return static_cast<uint32_t>(peers.size()); }
  uint32_t next_rank() const { return (rank + 1) % size(); }
  uint32_t previous_rank() const { return (rank + size() - 1) % size(); }
  const Peer& own() const { return peers[rank]; }
  const Peer& next() const { return peers[next_rank()]; }
  const Peer& previous() const { return peers[previous_rank()]; }
  bool IsInsideMachine(uint32_t from) const { return peers[from].machine == peers[(from + 1) % size()].machine; }
};

// Parses the text of a cluster file. `rank`: which of the file's local ranks this process is; needed if there are
// several. An error names the member that is wrong.
absl::StatusOr<Plan> ParsePlan(const std::string& text, std::optional<uint32_t> rank);

}  // namespace muster::ring
