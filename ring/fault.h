// Faults of the ring's links, and the rules that merge the ranks' reports into one result. Pure.
//
// Every rank sends all others what it found, over the links that work. All merge by the same rules, so that all have
// the same result.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ring/plan.h"

namespace muster::ring {

// In the order of precedence: a link is judged by the first of these kinds that any rank found.
enum class FaultKind : uint8_t {
  kWrongCertificate = 1,  // the peer showed another certificate than the listed one
  kBadCertificate = 2,    // the listed one, but expired, revoked or not issued by a trusted authority
  kRefused = 3,           // nothing listens there, or a firewall rejects it
  kTimedOut = 4,          // no answer at all
  kUnreachable = 5,       // the network says so
  kNotTls = 6,            // the handshake failed otherwise
  kWrongPeer = 7,         // it belongs to another rank, job, run or round
  kWrongData = 8,         // other bytes arrived than were to be sent
  kSlow = 9,              // far slower than the others
  // The kinds below are consequences if there is any of the kinds above.
  kCertificateRefused = 10,  // the peer refused our certificate
  kBroken = 11,              // closed in the middle
  kMissing = 12,             // the rank before never connected
  kStalled = 13,             // nothing arrived any more
};

// "wrong certificate", …
std::string FaultWord(FaultKind kind);
bool IsConsequence(FaultKind kind);

inline constexpr size_t kMaxFaultDetailBytes = 400;
inline constexpr size_t kMaxFaults = 2112;  // two for each rank, and some

struct Fault {
  uint32_t from = 0;  // the link's ranks
  uint32_t to = 0;
  FaultKind kind = FaultKind::kStalled;
  uint32_t reporter = 0;
  uint64_t progress = 0;  // kStalled: how far the reporter had come; the link with the least is at fault
  std::string detail;

  bool operator==(const Fault&) const = default;
};

class FaultList {
 public:
  // False: it is known already, or the list is full.
  bool Add(Fault fault);
  bool empty() const { return faults_.empty(); }
  const std::vector<Fault>& all() const { return faults_; }
  bool IsAbout(uint32_t from) const;

  // One fault for each faulty link, in the order of ranks; no consequences if there is a cause. If all links have
  // stalled, only the one that had come least far and was not itself waiting for a stalled rank before it.
  std::vector<Fault> RootFaults() const;

 private:
  std::vector<Fault> StalledFirst() const;

  std::vector<Fault> faults_;
};

// Faults that show without a connection: links to another machine whose end has a loopback address. Every rank finds
// the same. (If both ends have a loopback address, they are on one host and only --machine separates them.)
std::vector<Fault> LoopbackFaults(const Plan& plan);

// "rank 3 on gpu1 -> rank 4 on gpu2 (10.0.0.2:40001): refused: …"
std::string FaultText(const Plan& plan, const Fault& fault);

}  // namespace muster::ring
