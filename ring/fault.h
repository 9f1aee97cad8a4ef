// Faults of the ring's links, and the rules that merge the ranks' reports into one result. Pure.
//
// Every rank sends the faults that it found to all others, over the links that work. All ranks merge the faults by the
// same rules, so that all have the same result.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ring/plan.h"

namespace muster::ring {

// The kinds of faults, the most telling first. If the ranks report several kinds for a link, the first of them counts.
enum class FaultKind : uint8_t {
  kWrongCertificate = 1,  // the peer's certificate is not the one in the peer list
  kBadCertificate = 2,    // the peer's certificate is the listed one, but expired, revoked or not trusted
  kRefused = 3,           // nothing listens at the peer's port, or a firewall rejects the connection
  kTimedOut = 4,          // the peer's address does not answer
  kUnreachable = 5,       // the kernel reports that the network does not reach the peer
  kNotTls = 6,            // the TLS handshake failed for another reason
  kWrongPeer = 7,         // the peer belongs to another rank, job, run or round, or is another program
  kWrongData = 8,         // the received data is not as expected
  kSlow = 9,              // the link is far slower than the other links
  // If any link has one of the kinds above, faults of the kinds below count as its consequences.
  kCertificateRefused = 10,  // the peer refused our certificate
  kBroken = 11,              // the connection was closed during the check
  kMissing = 12,             // the previous rank never connected
  kStalled = 13,             // no more data arrived
};

// Returns the kind in words, such as "wrong certificate".
std::string FaultWord(FaultKind kind);
bool IsConsequence(FaultKind kind);

inline constexpr size_t kMaxFaultDetailBytes = 400;
inline constexpr size_t kMaxFaults = 2112;  // two for each of 1,024 ranks, and some more

struct Fault {
  uint32_t from = 0;  // the rank at which the link begins
  uint32_t to = 0;    // the rank at which it ends: the next one
  FaultKind kind = FaultKind::kStalled;
  uint32_t reporter = 0;
  uint64_t progress = 0;  // kStalled: how far the reporter was; the link with the least progress is at fault
  std::string detail;

  bool operator==(const Fault&) const = default;
};

class FaultList {
 public:
  // Adds the fault. False: the list has it already, or is full.
  bool Add(Fault fault);
  bool empty() const { return faults_.empty(); }
  const std::vector<Fault>& all() const { return faults_; }
  // True if the list has a fault of the link that begins at this rank.
  bool IsAbout(uint32_t from) const;

  // Returns one fault for each faulty link, in the order of ranks. Leaves out consequences if the list has a cause. If
  // the list has only stalled links, returns only the one that stalled first: it has the least progress, and its
  // sender was not waiting for data itself.
  std::vector<Fault> RootFaults() const;

 private:
  std::vector<Fault> StalledFirst() const;

  std::vector<Fault> faults_;
};

// Returns the faults that the peer list itself shows: links to another machine that end at a loopback address. Every
// rank finds the same ones. (If both ends have a loopback address, it is no fault: they are on one host, and only
// --machine separates them.)
std::vector<Fault> LoopbackFaults(const Plan& plan);

// Returns the fault in words: "rank 3 on gpu1 -> rank 4 on gpu2 (10.0.0.2:40001): refused: …".
std::string FaultText(const Plan& plan, const Fault& fault);

}  // namespace muster::ring
