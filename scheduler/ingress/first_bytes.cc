#include "scheduler/ingress/first_bytes.h"

#include <fcntl.h>

#include <algorithm>

#include "common/base/unique_fd.h"

namespace muster::scheduler {

FirstBytes Classify(const std::string& bytes) {
  constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  const size_t compared = std::min(bytes.size(), kFirstBytesWanted);
  if (bytes.compare(0, compared, kPreface, compared) == 0) return FirstBytes::kHttp2;
  // A TLS record of type handshake, version 3.x (RFC 8446, 5.1).
  const bool is_tls = bytes[0] == 0x16 && (bytes.size() == 1 || bytes[1] == 0x03);
  return is_tls ? FirstBytes::kTls : FirstBytes::kGarbage;
}

bool HasDescriptorBelow(size_t bound) {
  const UniqueFd probe(open("/", O_PATH | O_CLOEXEC));
  return probe.is_open() && static_cast<size_t>(probe.get()) < bound;
}

}  // namespace muster::scheduler
