// The phases of RingCheck that follow once a rank is connected to its neighbours.
#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_format.h"
#include "ring/ring_check.h"

namespace muster::ring {
namespace {

constexpr uint32_t kPings = 20;
constexpr uint32_t kPasses = 3;
constexpr uint32_t kPassesAgain = 6;
constexpr absl::Duration kBetweenPasses = absl::Milliseconds(20);
constexpr size_t kMaxSuspects = 16;
constexpr uint64_t kPassBytes = 1 << 20;
constexpr absl::Duration kPassTime = absl::Milliseconds(150);
// A link is not slow if its latency, or the time that a pass takes, is less than a millisecond above the median: a
// process may have to wait so long for a processor.
constexpr double kLeastSlowNs = 1e6;

// Returns the median; of an even number of values, the greater one of the middle two. So the slower of two links is
// compared with the faster.
uint64_t UpperMedian(std::vector<uint64_t> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

bool RingCheck::Barrier() {
  // The first lap of the token shows that every rank has arrived. After the second, all ranks go on.
  for (int lap = 0; lap < 2; ++lap) {
    if (plan_.rank == 0) SendNext(FrameType::kToken);
    ++tokens_wanted_;
    if (!Wait(false, [&] { return tokens_ >= tokens_wanted_; })) return false;
    if (plan_.rank != 0) SendNext(FrameType::kToken);
  }
  return true;
}

bool RingCheck::Ping() {
  std::vector<uint64_t> halves;
  for (uint32_t i = 0; i < kPings; ++i) {
    const uint32_t before = pongs_;
    const MonotonicTime sent = Now();
    SendNext(FrameType::kPing, std::string(8, '\0'));
    if (!Wait(true, [&] { return pongs_ > before; })) return false;
    halves.push_back(static_cast<uint64_t>(absl::ToInt64Nanoseconds(Now() - sent) / 2));
  }
  std::sort(halves.begin(), halves.end());
  own_.latency_ns = halves.front();
  own_.latency_median_ns = halves[halves.size() / 2];
  return true;
}

bool RingCheck::MeasureLatency() {
  ++phase_;
  if (!Ping()) return false;
  ++phase_;
  return Barrier();
}

bool RingCheck::SendStream() {
  static const std::vector<char> bytes(kStreamFrameBytes, 'm');
  const MonotonicTime end = Now() + kPassTime;
  for (uint64_t sent = 0; sent < kPassBytes && Now() < end; sent += bytes.size()) {
    if (next_ == nullptr) return false;
    next_->SendBulk(FrameType::kStream, bytes.data(), bytes.size());
    // Wait until the frame is sent, so that no queue grows in front of a slow link. PollOnce serves the other link
    // meanwhile.
    const auto is_out = [&] { return next_ == nullptr || next_->IsIdle() || Now() >= end; };
    while (!is_out() && faults_.empty()) PollOnce(end);
    if (!faults_.empty()) return false;
  }
  SendNext(FrameType::kStreamEnd);
  return true;
}

bool RingCheck::TakeStream() {
  ++streams_wanted_;
  return Wait(false, [&] { return streams_ended_ >= streams_wanted_; });
}

bool RingCheck::MeasureBandwidth() {
  for (uint32_t pass = 0; pass < kPasses; ++pass) {
    ++phase_;
    if (!SendStream() || !TakeStream()) return false;
    ++phase_;
    if (!Barrier()) return false;
  }
  return true;
}

bool RingCheck::Gather(const Record& own) {
  ++phase_;
  Record mine = own;
  mine.rank = plan_.rank;
  mine.stage = ++stage_;
  records_.assign(plan_.size(), std::nullopt);
  records_[plan_.rank] = mine;
  SendNext(FrameType::kRecord, Encode(mine));
  is_pumping_next_ = false;
  for (const Record& record : std::exchange(early_records_, {})) OnRecord(Encode(record));
  return Wait(false, [&] {
    return std::all_of(records_.begin(), records_.end(), [](const auto& record) { return record.has_value(); });
  });
}

std::vector<Fault> SlowLinks(const Plan& plan, const std::vector<LinkFigures>& links, double slow_factor) {
  std::vector<Fault> slow;
  if (slow_factor <= 0) return slow;
  for (const bool is_inside : {true, false}) {
    std::vector<uint32_t> members;
    std::vector<uint64_t> rates;
    std::vector<uint64_t> latencies;
    for (uint32_t from = 0; from < links.size(); ++from) {
      if (plan.IsInsideMachine(from) != is_inside) continue;
      members.push_back(from);
      rates.push_back(links[from].bytes_per_second);
      latencies.push_back(links[from].latency_ns);
    }
    if (members.size() < 2) continue;
    const auto median_rate = static_cast<double>(UpperMedian(rates));
    const auto median_latency =
        static_cast<double>(members.size() == 2 ? std::min(latencies[0], latencies[1]) : UpperMedian(latencies));
    for (const uint32_t from : members) {
      const auto rate = static_cast<double>(std::max<uint64_t>(links[from].bytes_per_second, 1));
      const auto latency = static_cast<double>(links[from].latency_ns);
      const char* where = is_inside ? "inside machines" : "between machines";
      std::string detail;
      const double pass_ns = 1e9 * static_cast<double>(kPassBytes) / rate;
      const double median_pass_ns = 1e9 * static_cast<double>(kPassBytes) / median_rate;
      if (rate * slow_factor < median_rate && pass_ns > median_pass_ns + kLeastSlowNs) {
        detail = absl::StrFormat("%.1f MB/s, %.1f times less than the median of the links %s, %.1f MB/s", rate / 1e6,
                                 median_rate / rate, where, median_rate / 1e6);
      } else if (latency > median_latency * slow_factor && latency > median_latency + kLeastSlowNs) {
        detail = absl::StrFormat("a latency of %.2f ms, %.1f times the median of the links %s, %.2f ms", latency / 1e6,
                                 latency / median_latency, where, median_latency / 1e6);
      }
      const uint32_t to = (from + 1) % plan.size();
      if (!detail.empty()) slow.push_back({from, to, FaultKind::kSlow, to, 0, detail});
    }
  }
  std::sort(slow.begin(), slow.end(), [](const Fault& a, const Fault& b) { return a.from < b.from; });
  return slow;
}

std::vector<uint32_t> Suspects(const Plan& plan, const std::vector<LinkFigures>& links, double slow_factor) {
  std::vector<uint32_t> suspects;
  if (slow_factor <= 0) return suspects;
  for (const Fault& fault : SlowLinks(plan, links, slow_factor)) suspects.push_back(fault.from);
  std::array<uint64_t, 2> fastest{};  // [0]: of the links between machines, [1]: of the links inside machines
  for (uint32_t from = 0; from < links.size(); ++from) {
    uint64_t& rate = fastest[plan.IsInsideMachine(from) ? 1 : 0];
    rate = std::max(rate, links[from].bytes_per_second);
  }
  std::vector<uint32_t> doubtful;
  for (uint32_t from = 0; from < links.size(); ++from) {
    const auto rate = static_cast<double>(links[from].bytes_per_second);
    const auto best = static_cast<double>(fastest[plan.IsInsideMachine(from) ? 1 : 0]);
    const bool is_known = std::find(suspects.begin(), suspects.end(), from) != suspects.end();
    if (rate * slow_factor < best && !is_known) doubtful.push_back(from);
  }
  std::stable_sort(doubtful.begin(), doubtful.end(),
                   [&](uint32_t a, uint32_t b) { return links[a].bytes_per_second < links[b].bytes_per_second; });
  suspects.insert(suspects.end(), doubtful.begin(), doubtful.end());
  if (suspects.size() > kMaxSuspects) suspects.resize(kMaxSuspects);
  return suspects;
}

void RingCheck::TakeFigures() {
  links_.assign(plan_.size(), {});
  for (uint32_t rank = 0; rank < plan_.size(); ++rank) {
    const uint32_t before = (rank + plan_.size() - 1) % plan_.size();
    links_[before].bytes_per_second = records_[rank]->bytes_per_second;
    links_[rank].latency_ns = records_[rank]->latency_ns;
    links_[rank].latency_median_ns = records_[rank]->latency_median_ns;
  }
}

bool RingCheck::Pause(absl::Duration duration) {
  const MonotonicTime end = Now() + duration;
  while (Now() < end && faults_.empty()) PollOnce(end);
  return faults_.empty();
}

bool RingCheck::MeasureAgain(const std::vector<uint32_t>& suspects) {
  for (const uint32_t from : suspects) {
    ++phase_;
    const bool is_from = plan_.rank == from;
    const bool is_to = plan_.previous_rank() == from;
    if (is_from && !Ping()) return false;
    if (is_to) own_.bytes_per_second = 0;
    // Measure in several passes with pauses: on a busy machine a process may have to wait for a processor longer than a
    // pass takes.
    for (uint32_t pass = 0; pass < kPassesAgain; ++pass) {
      if (is_from && pass > 0 && !Pause(kBetweenPasses)) return false;
      if (is_from && !SendStream()) return false;
      if (is_to && !TakeStream()) return false;
    }
    ++phase_;
    if (!Barrier()) return false;
  }
  return Gather(own_);
}

bool RingCheck::Judge() {
  TakeFigures();
  // (Every rank has the same figures, so every rank computes the same suspects.)
  const std::vector<uint32_t> suspects = Suspects(plan_, links_, options_.slow_factor);
  if (suspects.empty()) return true;
  if (!MeasureAgain(suspects)) return false;
  TakeFigures();
  // Report only links that were measured again. The second measurement changes the median, so other links may now look
  // slow without being so.
  for (const Fault& fault : SlowLinks(plan_, links_, options_.slow_factor)) {
    if (std::find(suspects.begin(), suspects.end(), fault.from) != suspects.end()) faults_.Add(fault);
  }
  return faults_.empty();
}

bool RingCheck::SumStep(uint32_t step) {
  Summing& summing = *summing_;
  const uint32_t size = plan_.size();
  const bool is_adding = step < size - 1;
  const uint32_t turn = is_adding ? step : step - (size - 1);
  const uint32_t out = (plan_.rank + (is_adding ? 0 : 1) + size - turn) % size;
  const uint32_t in = (out + size - 1) % size;
  float* own = summing.data.data() + summing.Begin(in);
  float* target = is_adding ? summing.incoming.data() : own;
  const size_t count = summing.Count(in);
  chunk_target_ = reinterpret_cast<char*>(target);
  chunk_left_ = count * sizeof(float);
  const char* unsent = reinterpret_cast<const char*>(summing.data.data() + summing.Begin(out));
  size_t left = summing.Count(out) * sizeof(float);
  const bool is_done = Wait(false, [&] {
    waits_for_next_ = chunk_left_ == 0;
    if (next_ == nullptr || !next_->IsIdle()) return false;
    // Send the part in pieces, so that a fault need not wait until the whole part is sent.
    const size_t piece = std::min(left, kMaxChunkBytes);
    if (piece > 0) next_->SendBulk(FrameType::kChunk, unsent, piece);
    unsent += piece;
    left -= piece;
    return piece == 0 && chunk_left_ == 0;
  });
  if (!is_done) return false;
  // During reduce-scatter the incoming part holds the sum over the ranks that it has passed: those from rank `in` on.
  if (is_adding) summing.partial.Add(in);
  const ExpectedSum& expected = is_adding ? summing.partial : summing.total;
  if (const auto wrong = expected.FirstWrong(target, summing.Begin(in), count)) {
    Found({plan_.previous_rank(), plan_.rank, FaultKind::kWrongData, plan_.rank, 0,
           absl::StrFormat("element %d of the sum is %g, expected is %g", summing.Begin(in) + *wrong, target[*wrong],
                           expected.At(summing.Begin(in) + *wrong))});
    return false;
  }
  for (size_t i = 0; is_adding && i < count; ++i) own[i] += target[i];
  return true;
}

bool RingCheck::AddUp() {
  summing_ = std::make_unique<Summing>();
  Summing& summing = *summing_;
  summing.size = plan_.size();
  ExpectedSum own;
  own.Add(plan_.rank);
  summing.data.resize(options_.bytes / sizeof(float));
  for (size_t i = 0; i < summing.data.size(); ++i) summing.data[i] = own.At(i);
  summing.incoming.resize(summing.data.size() / summing.size + 1);
  for (uint32_t rank = 0; rank < plan_.size(); ++rank) summing.total.Add(rank);
  ++phase_;
  if (!Barrier()) return false;
  ++phase_;
  const MonotonicTime begun = Now();
  for (uint32_t step = 0; step < 2 * (plan_.size() - 1); ++step) {
    if (!SumStep(step)) return false;
  }
  own_.sum_ns = static_cast<uint64_t>(absl::ToInt64Nanoseconds(Now() - begun));
  has_summed_ = true;
  if (!Gather(own_)) return false;
  for (const auto& record : records_) sum_ns_ = std::max(sum_ns_, record->sum_ns);
  return true;
}

bool RingCheck::Leave() {
  ++phase_;
  is_leaving_ = true;  // a neighbour that has had its last token may close its links; that is no fault
  return Barrier() && Wait(true, [&] { return next_ == nullptr || next_->IsIdle(); });
}

}  // namespace muster::ring
