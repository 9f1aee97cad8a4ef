// Passwords of PKCS#12 files: from a file or a variable, never from the command line.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace muster::certs {

struct Passwords {
  std::optional<std::string> server;  // MS_TLS_SERVER_PASSWORD, MS_TLS_SERVER_PASSWORD_FILE
  std::optional<std::string> client;  // MS_TLS_CLIENT_PASSWORD, MS_TLS_CLIENT_PASSWORD_FILE
};

// `password_file` (--password_file; empty: none) holds both and wins over the variables. Otherwise the rules are those
// of the programs that read the key later: see PasswordFrom and ReadPassword in common/tls/tls_settings.h.
absl::StatusOr<Passwords> ReadPasswords(const std::string& password_file,
                                        const std::map<std::string, std::string>& environment);

}  // namespace muster::certs
