#include "common/tls/plaintext.h"

#include "absl/strings/str_cat.h"

namespace muster {

absl::Status CheckPlaintext(const std::string& host, const std::vector<IpAddress>& addresses) {
  for (const IpAddress& address : addresses) {
    if (address.is_loopback()) continue;
    return absl::PermissionDeniedError(
        absl::StrCat("--require_tls is set and there is no TLS configuration: without --tls_config only a scheduler on "
                     "a loopback address may be used, and ",
                     host, " is ", address.ToString()));
  }
  return absl::OkStatus();
}

}  // namespace muster
