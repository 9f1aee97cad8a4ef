#include "scheduler/journal/checksum.h"

#include "absl/strings/str_cat.h"
#include "common/base/sha256.h"

namespace muster::scheduler {

int64_t Checksum(uint64_t sequence, const std::string& body) {
  std::string number;
  for (int shift = 56; shift >= 0; shift -= 8) number += static_cast<char>(sequence >> shift);
  const std::string digest = Sha256(absl::StrCat(number, body));
  uint64_t first = 0;
  for (int i = 0; i < 8; ++i) first = first << 8 | static_cast<unsigned char>(digest[i]);
  return static_cast<int64_t>(first);
}

}  // namespace muster::scheduler
