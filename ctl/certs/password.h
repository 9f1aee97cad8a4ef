// Passwords of PKCS#12 files. They come from a file or a variable, never from the command line, which other users can
// see.
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

// Returns the passwords. If `password_file` (--password_file) is not empty, the password in it is used for both, and
// the variables are ignored. Otherwise the variables count, by the rules of the programs that read the files later: see
// PasswordFrom and ReadPassword in common/tls/tls_settings.h.
absl::StatusOr<Passwords> ReadPasswords(const std::string& password_file,
                                        const std::map<std::string, std::string>& environment);

}  // namespace muster::certs
