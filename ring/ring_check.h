// The check of a ring: every rank runs one with its neighbours, all at the same time.
//
// 1. Each rank dials the next rank and accepts the previous one.
// 2. Latency: each rank sends pings over its link to the next rank.
// 3. Bandwidth: all links are measured at the same time, in three passes. The best pass of a link counts.
// 4. Judgement: every rank gets the figures of all links. Links that look slow are measured again one by one, while the
//    other links are idle. (A slow link delays the acknowledgements of its neighbour, which then looks slow, too.) All
//    ranks reach the same result.
// 5. Sum: a ring allreduce of float32 numbers (reduce-scatter, then allgather). Each rank compares every part that it
//    receives with the expected values.
//
// A rank that finds a fault sends it over the links that work, in both directions, so that all ranks have the same
// list. The check runs in one thread. It ends within connect_timeout + timeout + 4 s, no matter what the peers do.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "ring/fault.h"
#include "ring/frames.h"
#include "ring/neighbours.h"
#include "ring/plan.h"

namespace muster::ring {

struct RingOptions {
  uint64_t bytes = 4 << 20;                            // the size of the sum; a multiple of 4
  absl::Duration connect_timeout = absl::Seconds(30);  // until both neighbours are connected
  absl::Duration step_timeout = absl::Seconds(10);     // how long a neighbour that must send may be silent
  absl::Duration timeout = absl::Seconds(60);          // for the rest of the check, after connect_timeout
  uint32_t slow_factor = 5;  // a link this many times slower than the median is faulty; 0: no link is
};

// The measurements of one link, from a rank to the next rank.
struct LinkFigures {
  uint64_t bytes_per_second = 0;
  uint64_t latency_ns = 0;
  uint64_t latency_median_ns = 0;
};

struct RingResult {
  std::vector<Fault> faults;       // empty: the ring is good
  std::vector<LinkFigures> links;  // by the rank at which the link begins; empty: the check failed earlier
  uint64_t sum_ns = 0;             // how long the sum took at the slowest rank; 0: the check failed earlier
  absl::Duration took;
  bool IsGood() const { return faults.empty(); }
};

// Returns a fault for each slow link. There are two kinds of links, inside a machine and between machines. Each link is
// compared with the median of its kind; of two links, the slower with the faster.
std::vector<Fault> SlowLinks(const Plan& plan, const std::vector<LinkFigures>& links, double slow_factor);

// Returns the links to measure again one by one, before any link is judged: those that SlowLinks returns, and those
// that are slower by the same factor than the fastest link of their kind. (On hosts with too few processors most links
// look slow in the first measurement, and their median hides the link that really is slow.) Returns at most 16 links:
// those of SlowLinks first, then the slowest of the others.
std::vector<uint32_t> Suspects(const Plan& plan, const std::vector<LinkFigures>& links, double slow_factor);

class RingCheck : private FrameSink {
 public:
  // Listens on the ring's port. `tls` null: without TLS. `plan`, `tls` and `clock` must outlive the check. The error
  // says why it can't listen on the port.
  static absl::StatusOr<std::unique_ptr<RingCheck>> Create(const Plan& plan, const RingTls* tls,
                                                           const RingOptions& options, const Clock& clock);

  // Runs the check. Call it once.
  RingResult Run();

 private:
  // The numbers that the ring adds up.
  struct Summing {
    std::vector<float> data;
    std::vector<float> incoming;
    ExpectedSum partial;  // the expected values of the part that arrives next, during reduce-scatter
    ExpectedSum total;    // the expected values of the whole sum
    uint32_t size = 0;

    size_t Begin(uint32_t chunk) const { return data.size() * chunk / size; }
    size_t Count(uint32_t chunk) const { return Begin(chunk + 1) - Begin(chunk); }
  };

  RingCheck(const Plan& plan, const Meeting& meeting, const RingOptions& options, const Clock& clock,
            std::unique_ptr<NeighbourAcceptor> acceptor);

  // The phases. Each returns false when a fault is known.
  bool Meet();
  bool MeasureLatency();
  bool MeasureBandwidth();
  bool Gather(const Record& own);
  bool Judge();
  bool AddUp();
  bool Barrier();

  bool SendStream();
  bool TakeStream();
  bool Ping();
  // Waits, and serves the links meanwhile. False: a fault is known.
  bool Pause(absl::Duration duration);
  bool MeasureAgain(const std::vector<uint32_t>& suspects);
  void TakeFigures();
  bool SumStep(uint32_t step);
  bool Leave();

  uint64_t MovedBetweenNeighbours() const;
  // Serves the links until done() returns true. `is_for_next`: it waits for the next rank, or else for the previous
  // one. If no byte moves on either link for step_timeout, it reports that this rank has stalled. False: a fault is
  // known.
  bool Wait(bool is_for_next, const std::function<bool()>& done);
  void PollOnce(MonotonicTime deadline);
  void PumpLinks();
  void Found(Fault fault);
  // Reports the faults of this rank's own links. Call it once any fault of the ring is known.
  void ReportOwnLinks();
  void OnClosed(std::unique_ptr<Link>& link, bool is_next);
  // After a fault: receives the faults that other ranks found, and passes them on, until all ranks are heard or a time
  // limit is over.
  void Settle();
  // True if this rank knows of each neighbour that it is connected, or why it is not.
  bool IsResolved() const;
  void NoteSettled(uint32_t rank);
  // True if every rank that is not cut off has sent all faults that it knows.
  bool HasHeardAll() const;
  void Spread(const Fault& fault);
  void SendAllKnown(Link& link);
  void SendNext(FrameType type, const std::string& payload = "");
  MonotonicTime Now() const { return clock_.Read().monotonic; }
  uint64_t Progress() const { return (static_cast<uint64_t>(phase_) << 32) + steps_; }

  // FrameSink. is_pumping_next_ says which link is being pumped.
  void OnControl(FrameType type, const std::string& payload) override;
  void OnStream(size_t bytes) override;
  Room RoomForChunk(size_t length, char** target) override;
  void OnChunk(size_t length) override;
  void OnRecord(const std::string& payload);
  void OnFault(const std::string& payload);
  void BadFrame(const char* what);

  const Plan& plan_;
  const RingOptions options_;
  const Clock& clock_;
  const MonotonicTime started_;
  const MonotonicTime meeting_deadline_;
  MonotonicTime deadline_;  // for everything that follows the meeting
  Dialer dialer_;
  std::unique_ptr<NeighbourAcceptor> acceptor_;
  std::unique_ptr<Link> next_;
  std::unique_ptr<Link> previous_;
  bool is_pumping_next_ = false;
  bool is_leaving_ = false;

  FaultList faults_;
  std::vector<bool> settled_;
  bool has_met_next_ = false;
  bool has_met_previous_ = false;
  // The current wait.
  uint32_t phase_ = 0;
  uint32_t steps_ = 0;
  bool is_waiting_ = false;
  bool waits_for_next_ = false;

  uint32_t tokens_ = 0;
  uint32_t tokens_wanted_ = 0;
  uint32_t pongs_ = 0;
  // The current bandwidth pass of the incoming link.
  uint32_t streams_ended_ = 0;
  uint32_t streams_wanted_ = 0;
  uint64_t stream_bytes_ = 0;
  MonotonicTime stream_begun_;
  MonotonicTime stream_last_;
  Record own_;
  uint32_t stage_ = 0;
  std::vector<std::optional<Record>> records_;
  std::vector<Record> early_records_;  // records of the next stage, if the previous rank has reached it already
  std::vector<LinkFigures> links_;
  uint64_t sum_ns_ = 0;
  std::unique_ptr<Summing> summing_;  // kept until the end, because links may still use its memory
  char* chunk_target_ = nullptr;      // where the next piece of the sum goes
  size_t chunk_left_ = 0;             // how many bytes may still come; more are not accepted
  bool has_summed_ = false;
};

}  // namespace muster::ring
