// The JSON of --tls_config, and the cipher list in it.
#include "common/tls/tls_config.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto config = muster::ParseTlsConfig("/etc/tls.json", text, [](const std::string&) { return false; });
  if (!config.ok()) {
    MUSTER_CHECK(!config.status().message().empty(), "an error says something");
    return 0;
  }
  MUSTER_CHECK(!config->ca_cert_path.empty(), "authorities");
  MUSTER_CHECK(config->warning_days >= 7 && config->warning_days <= 180, "days within their range");
  const auto ciphers = muster::ChooseCiphers(config->cipher_list);
  MUSTER_CHECK(!ciphers.ok() || !ciphers->usable.empty(), "a suite");
  return 0;
}
