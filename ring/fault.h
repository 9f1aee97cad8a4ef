// What is wrong with a link of the ring, and how the ranks' accounts of it become one verdict. Pure.
//
// Every rank tells all others what it found (over the links that work); each merges by the same rules, so that all give
// the same answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ring/plan.h"

namespace muster::ring {

// The order is that of the verdict: a link is judged by the first of these that anybody found.
enum class FaultKind : uint8_t {
  kWrongCertificate = 1,  // the peer showed another certificate than the listed one
  kBadCertificate = 2,    // the listed one, but expired, revoked or of nobody we trust
  kRefused = 3,           // nobody listens there, or a firewall turns it away
  kTimedOut = 4,          // no answer at all
  kUnreachable = 5,       // the network says so
  kNotTls = 6,            // the handshake failed otherwise
  kWrongPeer = 7,         // it is another rank, job, run or round
  kWrongData = 8,         // what arrived is not what was to be sent
  kSlow = 9,              // far slower than the others
  // What follows is a consequence of the above where there is any.
  kCertificateRefused = 10,  // the peer did not take ours
  kBroken = 11,              // closed in the middle
  kMissing = 12,             // the rank before never came
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
  uint64_t progress = 0;  // kStalled: how far it had come; the least is the culprit
  std::string detail;

  bool operator==(const Fault&) const = default;
};

class FaultList {
 public:
  // False: it is known already, or there are too many.
  bool Add(Fault fault);
  bool empty() const { return faults_.empty(); }
  const std::vector<Fault>& all() const { return faults_; }
  bool IsAbout(uint32_t from) const;

  // One for each faulty link, in the order of ranks: without consequences where there is a cause, and of stalled links
  // only the one that had come least far, whose rank before had come farther.
  std::vector<Fault> Verdict() const;

 private:
  std::vector<Fault> StalledFirst() const;

  std::vector<Fault> faults_;
};

// What needs no connection to be seen: links to another machine whose end has a loopback address. Every rank finds the
// same. (Where both ends have one they stand on one host, which --machine alone parts.)
std::vector<Fault> LoopbackFaults(const Plan& plan);

// "rank 3 on gpu1 -> rank 4 on gpu2 (10.0.0.2:40001): refused: …"
std::string FaultText(const Plan& plan, const Fault& fault);

}  // namespace muster::ring
