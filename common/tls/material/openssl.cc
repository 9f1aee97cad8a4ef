#include "common/tls/material/openssl.h"

#include <openssl/err.h>

namespace muster {

std::vector<unsigned long> TakeOpenSslErrors() {
  std::vector<unsigned long> errors;
  while (const unsigned long error = ERR_get_error()) errors.push_back(error);
  return errors;
}

bool HasReason(const std::vector<unsigned long>& errors, int library, int reason) {
  for (const unsigned long error : errors) {
    if (ERR_GET_LIB(error) == library && ERR_GET_REASON(error) == reason) return true;
  }
  return false;
}

std::string OpenSslReason(const std::vector<unsigned long>& errors) {
  for (const unsigned long error : errors) {
    if (const char* reason = ERR_reason_error_string(error); reason != nullptr) return reason;
  }
  return "no reason given";
}

}  // namespace muster
