// Reads the identity in a certificate: from a DER certificate if the input is one, else from the input as a URI name.
#include <openssl/err.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/check.h"
#include "common/tls/peer/peer_name.h"

namespace {

void CheckName(const muster::PeerNameResult& result) {
  if (!result.refusal.ok()) {
    MUSTER_CHECK(!result.refusal.text.empty(), "a refusal says something");
    return;
  }
  const std::string uri = result.name.ToUri();
  const muster::PeerNameResult again = muster::ParsePeerName(uri);
  MUSTER_CHECK(again.refusal.ok() && again.name == result.name, "a name is written as it is read");
  MUSTER_CHECK(uri.find('\0') == std::string::npos, "no NUL");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  CheckName(muster::ParsePeerName(std::string(reinterpret_cast<const char*>(data), size)));
  const unsigned char* at = data;
  muster::X509Ptr x509(d2i_X509(nullptr, &at, static_cast<long>(size)));  // NOLINT(google-runtime-int)
  ERR_clear_error();
  if (x509 == nullptr) return 0;
  const muster::Certificate certificate(std::move(x509));
  CheckName(muster::NameOf(certificate));
  certificate.IsForHost("localhost");
  certificate.IsForHost("127.0.0.1");
  certificate.Subject();
  certificate.Serial();
  certificate.NotAfter();
  certificate.Fingerprint();
  return 0;
}
