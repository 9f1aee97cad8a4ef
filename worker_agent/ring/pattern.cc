#include "worker_agent/ring/pattern.h"

namespace muster::ring {
namespace {

int64_t Quarters(uint32_t rank, size_t index) {
  return static_cast<int64_t>((index % kPeriod * 31 + static_cast<size_t>(rank) * 17) % kPeriod) - 125;
}

}  // namespace

float PatternValue(uint32_t rank, size_t index) { return static_cast<float>(Quarters(rank, index)) * 0.25F; }

void ExpectedSum::Add(uint32_t rank) {
  for (size_t i = 0; i < kPeriod; ++i) quarters_[i] += Quarters(rank, i);
}

std::optional<size_t> ExpectedSum::FirstWrong(const float* values, size_t first_index, size_t count) const {
  std::array<float, kPeriod> expected{};
  for (size_t i = 0; i < kPeriod; ++i) expected[i] = At(i);
  size_t at = first_index % kPeriod;
  for (size_t i = 0; i < count; ++i) {
    if (!(values[i] == expected[at])) return i;  // so that a NaN is wrong as well
    if (++at == kPeriod) at = 0;
  }
  return std::nullopt;
}

}  // namespace muster::ring
