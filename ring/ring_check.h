// The check of a ring: every rank runs one with its neighbours, all at the same time.
//
// 1. Dial the next rank and accept the one before. 2. Latency: pings over each link. 3. Bandwidth: all links at once,
// three passes, of which the best counts; the links don't wait for each other. 4. Every rank gets all ranks' figures.
// Links that look slow are measured again, each while the others are idle: a slow link delays the acknowledgements of
// its neighbour, which then looks slow as well. All ranks reach the same result. 5. A ring allreduce of float32 numbers
// (reduce-scatter, then allgather). Each part is compared with the expected values on the hop by which it arrives.
//
// A rank that finds a fault sends it over the links that work, in both directions, so that all ranks have the same
// list. One thread. Ends within connect_timeout + timeout + 4 s, no matter what the peers do.
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
  uint64_t bytes = 4 << 20;  // of the sum, a multiple of 4
  absl::Duration connect_timeout = absl::Seconds(30);
  absl::Duration step_timeout = absl::Seconds(10);  // each wait for a neighbour …
  absl::Duration timeout = absl::Seconds(60);       // … and all of them, once the neighbours have met
  uint32_t slow_factor = 5;                         // a link this many times slower than the median is a fault; 0: none
};

// Measurements of the link from a rank to the next.
struct LinkFigures {
  uint64_t bytes_per_second = 0;
  uint64_t latency_ns = 0;
  uint64_t latency_median_ns = 0;
};

struct RingResult {
  std::vector<Fault> faults;       // what was found; empty: all is well
  std::vector<LinkFigures> links;  // by the rank that the link begins at; empty: the check did not get that far
  uint64_t sum_ns = 0;             // the longest of all ranks; 0: the check did not get that far
  absl::Duration took;
  bool IsGood() const { return faults.empty(); }
};

// Returns the links that are slower than the rest. Links inside machines and links between machines are compared
// separately, each with the median of its kind (of two, with the faster).
std::vector<Fault> SlowLinks(const Plan& plan, const std::vector<LinkFigures>& links, double slow_factor);

// Returns the links to measure again, one at a time, before any is judged: the slow ones, and those as far below the
// fastest of their kind. On hosts short of processors most links look slow in the first measurement, and their median
// hides the one that really is slow. At most 16: the slow ones first, then the slowest.
std::vector<uint32_t> Suspects(const Plan& plan, const std::vector<LinkFigures>& links, double slow_factor);

class RingCheck : private FrameSink {
 public:
  // `tls` null: plain. Neither is owned. The error says why the ring's port can't be listened on.
  static absl::StatusOr<std::unique_ptr<RingCheck>> Create(const Plan& plan, const RingTls* tls,
                                                           const RingOptions& options, const Clock& clock);

  // Runs the check. Call it once.
  RingResult Run();

 private:
  // The numbers that the ring adds up.
  struct Summing {
    std::vector<float> data;
    std::vector<float> incoming;
    ExpectedSum partial;  // of what arrives while adding up
    ExpectedSum total;
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
  // Serves the links meanwhile. False if one of them failed.
  bool Pause(absl::Duration duration);
  bool MeasureAgain(const std::vector<uint32_t>& suspects);
  void TakeFigures();
  bool SumStep(uint32_t step);
  bool Leave();

  uint64_t MovedBetweenNeighbours() const;
  // Waits until done(), for the next rank if `is_for_next`, else for the one before. That rank has stalled if nothing
  // moved on either link for step_timeout.
  bool Wait(bool is_for_next, const std::function<bool()>& done);
  void PollOnce(MonotonicTime deadline);
  void PumpLinks();
  void Found(Fault fault);
  // Sends what this rank knows of its own links, once any fault is known.
  void ReportOwnLinks();
  void OnClosed(std::unique_ptr<Link>& link, bool is_next);
  // After a fault: receives what the others found and passes it on.
  void Settle();
  // True if both neighbours are connected, or it is known why not.
  bool IsResolved() const;
  void NoteSettled(uint32_t rank);
  // True if every rank that a link reaches has sent all it knows.
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
  MonotonicTime deadline_;  // of everything that follows the meeting
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
  // The incoming stream's pass.
  uint32_t streams_ended_ = 0;
  uint32_t streams_wanted_ = 0;
  uint64_t stream_bytes_ = 0;
  MonotonicTime stream_begun_;
  MonotonicTime stream_last_;
  Record own_;
  uint32_t stage_ = 0;
  std::vector<std::optional<Record>> records_;
  std::vector<Record> early_records_;  // of the next stage, which the rank before may have reached already
  std::vector<LinkFigures> links_;
  uint64_t sum_ns_ = 0;
  std::unique_ptr<Summing> summing_;  // kept to the end: links may still read from and write to it
  // The place for the next piece of the sum.
  char* chunk_target_ = nullptr;
  size_t chunk_left_ = 0;  // bytes still to come; more are not accepted
  bool has_summed_ = false;
};

}  // namespace muster::ring
