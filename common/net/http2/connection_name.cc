#include "common/net/http2/connection_name.h"

#include <sys/random.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace muster {
namespace {

constexpr char kNamePrefix[] = "ms-";

}  // namespace

uint64_t NewConnection() {
  uint64_t id = 0;
  while (getrandom(&id, sizeof(id), 0) != sizeof(id) || id >> 1 == 0) continue;
  return id >> 1;
}

std::string SocketNameOf(uint64_t connection) {
  return absl::StrCat(kNamePrefix, absl::Hex(connection, absl::kZeroPad16));
}

uint64_t ConnectionOf(const std::string& grpc_peer) {
  absl::string_view text(grpc_peer);
  uint64_t connection = 0;
  if (!absl::ConsumePrefix(&text, "unix-abstract:") || !absl::ConsumePrefix(&text, kNamePrefix)) return 0;
  return text.size() == 16 && absl::SimpleHexAtoi(text, &connection) ? connection : 0;
}

}  // namespace muster
