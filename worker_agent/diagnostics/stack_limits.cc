#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "worker_agent/diagnostics/stack_gatherer.h"
#include "worker_agent/keeper/text.h"

namespace muster::agent {
namespace {

constexpr size_t kSmallest = 256;  // of a text that is cut
constexpr size_t kMarkBytes = 64;

std::string CutMiddle(const std::string& text, size_t limit) {
  if (text.size() <= limit) return text;
  const size_t half = (limit - kMarkBytes) / 2;
  return absl::StrCat(text.substr(0, half), "\n[… ", text.size() - 2 * half, " bytes left out …]\n",
                      text.substr(text.size() - half));
}

}  // namespace

void KeepToLimits(std::vector<v1::SlotStack>& stacks) {
  static_assert(kMaxStackRanks * kSmallest <= kMaxStacksBytes);
  static_assert(kMaxStacksBytes + kMaxStackRanks * (kMaxStackNoteBytes + 64) <= kMaxSessionMessageBytes);
  size_t limit = kMaxStackBytes;
  const auto total = [&] {
    size_t sum = 0;
    for (const v1::SlotStack& stack : stacks) sum += std::min(stack.text().size(), limit);
    return sum;
  };
  while (total() > kMaxStacksBytes) limit = std::max(kSmallest, limit * 7 / 8);
  for (v1::SlotStack& stack : stacks) {
    stack.set_text(CleanText(CutMiddle(stack.text(), limit), limit, true));
    stack.set_note(CleanText(stack.note(), kMaxStackNoteBytes));
  }
}

}  // namespace muster::agent
