// The loader of .p12 and PEM files; the password is "password".
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/check.h"
#include "common/tls/key_material.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto material = muster::LooksLikePem(bytes) ? muster::ParsePem(bytes, bytes, muster::Secret("password"))
                                                    : muster::ParsePkcs12(bytes, muster::Secret("password"));
  if (!material.ok()) {
    MUSTER_CHECK(!material.status().message().empty(), "an error says something");
    MUSTER_CHECK(material.status().message().find("\"password\"") == absl::string_view::npos, "not the password");
    return 0;
  }
  MUSTER_CHECK(!material->chain.empty() && !material->key_pem.empty(), "key and certificate");
  MUSTER_CHECK(!material->ChainPem().empty(), "PEM");
  return 0;
}
