// The numbers that the ring adds up, and what must come out. Pure.
//
// Each is a small multiple of 0.25, so that sums over up to 1,024 ranks are exact in float32 whatever the order, and a
// wrong bit anywhere is seen. They repeat every kPeriod elements, so that the expected sums are a small table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace muster::ring {

inline constexpr size_t kPeriod = 251;

// Element `index` of what `rank` contributes.
float PatternValue(uint32_t rank, size_t index);

// The expected sum over the ranks that were added so far.
class ExpectedSum {
 public:
  void Add(uint32_t rank);
  float At(size_t index) const { return static_cast<float>(quarters_[index % kPeriod]) * 0.25F; }

  // The first element of `count` ones, which begin at `first_index` of the whole, that is not as expected.
  std::optional<size_t> FirstWrong(const float* values, size_t first_index, size_t count) const;

 private:
  std::array<int64_t, kPeriod> quarters_{};
};

}  // namespace muster::ring
