// The loader of revocation lists. The authority's certificate is here; the corpus has lists that it signed.
#include "common/tls/material/revocation_list.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/check.h"
#include "tests/fuzz/authority.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto* const authorities =
      new std::vector<muster::Certificate>(*muster::ParseCertificates(muster::kFuzzAuthority));
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto lists = muster::ParseRevocationLists(bytes, *authorities, absl::FromUnixSeconds(1'800'000'000));
  if (!lists.ok()) {
    MUSTER_CHECK(!lists.status().message().empty(), "an error says something");
    return 0;
  }
  MUSTER_CHECK(!lists->empty(), "a list");
  for (const muster::RevocationList& list : *lists) {
    list.IsAbout(authorities->front());
    list.HasRevoked(authorities->front());
    list.NextUpdate();
    list.size();
  }
  return 0;
}
