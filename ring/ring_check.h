// The check of a ring: every rank runs one, each with its neighbours, all at the same time.
//
// 1. The next rank is dialed, the one before let in. 2. Latency: pings over each link. 3. Bandwidth: all links at once,
// three passes, the best counts; the links don't wait for each other. 4. Everybody learns everybody's figures. Links
// that look slow are measured once more, each while all others are idle: a slow link holds up the acknowledgements of
// its neighbour, which then looks slow as well. All come to the same verdict. 5. A ring allreduce of float32 numbers
// (reduce-scatter, then allgather), each part of which is compared with what must come out on the hop it arrives by.
//
// Whoever finds a fault tells it over the links that work, in both directions; everybody then ends with the same list.
// One thread; ends within connect_timeout + timeout + 4 s whatever the peers do.
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

// Of the link from a rank to the next.
struct LinkFigures {
  uint64_t bytes_per_second = 0;
  uint64_t latency_ns = 0;
  uint64_t latency_median_ns = 0;
};

struct RingResult {
  std::vector<Fault> faults;       // the verdict; empty: all is well
  std::vector<LinkFigures> links;  // by the rank that the link begins at; empty: it did not come to that
  uint64_t sum_ns = 0;             // the longest of all ranks; 0: it did not come to that
  absl::Duration took;
  bool IsGood() const { return faults.empty(); }
};

// The links that are slower than the rest: compared are those inside machines with each other, and those between
// machines, each with the median of its kind (of two, with the faster).
std::vector<Fault> SlowLinks(const Plan& plan, const std::vector<LinkFigures>& links, double slow_factor);

// Those that are worth another measurement, one at a time, before anybody is judged: the slow ones, and whoever lies as
// far below the fastest of its kind. Where hosts are short of processors most links look slow in a first measurement,
// and their median hides the one that really is. At most 16: the slow ones first, then the slowest.
std::vector<uint32_t> Suspects(const Plan& plan, const std::vector<LinkFigures>& links, double slow_factor);

class RingCheck : private FrameSink {
 public:
  // `tls` null: plain. Neither is owned. The error says why the ring's port can't be listened on.
  static absl::StatusOr<std::unique_ptr<RingCheck>> Create(const Plan& plan, const RingTls* tls,
                                                           const RingOptions& options, const Clock& clock);

  // Once.
  RingResult Run();

 private:
  // The numbers that are added up.
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
            std::unique_ptr<Doorkeeper> doorkeeper);

  // The phases; each returns false when a fault is known.
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
  // The links are served meanwhile. False when one of them failed.
  bool Pause(absl::Duration duration);
  bool MeasureAgain(const std::vector<uint32_t>& suspects);
  void TakeFigures();
  bool SumStep(uint32_t step);
  bool Leave();

  uint64_t MovedBetweenNeighbours() const;
  // Waits until done(); `is_for_next`: it is the next rank that is waited for, else the one before. Whoever is waited
  // for has stalled when nothing moved on either link for step_timeout.
  bool Wait(bool is_for_next, const std::function<bool()>& done);
  void PollOnce(MonotonicTime deadline);
  void PumpLinks();
  void Found(Fault fault);
  // What this rank knows of its own links, once there is a fault anywhere.
  void TellOwnPart();
  void OnClosed(std::unique_ptr<Link>& link, bool is_next);
  // After a fault: hears what the others found and passes it on.
  void Settle();
  // Both neighbours are there, or it is known why not.
  bool IsResolved() const;
  void NoteSettled(uint32_t rank);
  // Every rank has told all that it knows, but for those that no link leads to.
  bool HasHeardAll() const;
  void Spread(const Fault& fault);
  void TellAll(Link& link);
  void SendNext(FrameType type, const std::string& payload = "");
  MonotonicTime Now() const { return clock_.Read().monotonic; }
  uint64_t Progress() const { return (static_cast<uint64_t>(phase_) << 32) + steps_; }

  // FrameSink; which link is being pumped is in is_pumping_next_.
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
  std::unique_ptr<Doorkeeper> doorkeeper_;
  std::unique_ptr<Link> next_;
  std::unique_ptr<Link> previous_;
  bool is_pumping_next_ = false;
  bool is_leaving_ = false;

  FaultList faults_;
  std::vector<bool> settled_;
  bool has_met_next_ = false;
  bool has_met_previous_ = false;
  // The wait that is going on.
  uint32_t phase_ = 0;
  uint32_t steps_ = 0;
  bool is_waiting_ = false;
  bool waits_for_next_ = false;

  uint32_t tokens_ = 0;
  uint32_t tokens_wanted_ = 0;
  uint32_t pongs_ = 0;
  // The pass of the stream that comes in.
  uint32_t streams_ended_ = 0;
  uint32_t streams_wanted_ = 0;
  uint64_t stream_bytes_ = 0;
  MonotonicTime stream_begun_;
  MonotonicTime stream_last_;
  Record own_;
  uint32_t stage_ = 0;
  std::vector<std::optional<Record>> records_;
  std::vector<Record> early_records_;  // of the next stage: the rank before may be there already
  std::vector<LinkFigures> links_;
  uint64_t sum_ns_ = 0;
  std::unique_ptr<Summing> summing_;  // kept to the end: links may still read from and write to it
  // Where the next piece of the sum goes.
  char* chunk_target_ = nullptr;
  size_t chunk_left_ = 0;  // bytes that are still to come; more are not taken
  bool has_summed_ = false;
};

}  // namespace muster::ring
