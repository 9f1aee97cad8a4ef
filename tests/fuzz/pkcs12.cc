// The loader of .p12 and PEM files, with the password of the corpus.
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/check.h"
#include "common/tls/material/key_material.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string password = "zQ7-kV4-wX9";  // occurs in no message, so that it is found without quotes, too
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto material = muster::LooksLikePem(bytes) ? muster::ParsePem(bytes, bytes, muster::Secret(password))
                                                    : muster::ParsePkcs12(bytes, muster::Secret(password));
  if (!material.ok()) {
    const std::string message(material.status().message());
    MUSTER_CHECK(!message.empty(), "an error says something");
    const bool is_in_input = bytes.find(password) != std::string::npos;  // then a message may quote it
    MUSTER_CHECK(is_in_input || message.find(password) == std::string::npos, "not the password");
    return 0;
  }
  MUSTER_CHECK(!material->chain.empty() && !material->key_pem.empty(), "key and certificate");
  MUSTER_CHECK(!material->ChainPem().empty(), "PEM");
  return 0;
}
