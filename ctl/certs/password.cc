#include "ctl/certs/password.h"

#include "common/tls/tls_settings.h"

namespace muster::certs {
namespace {

// Returns the password of the source; none if the source has neither a password nor a file.
absl::StatusOr<std::optional<std::string>> From(const PasswordSource& source) {
  if (source.text.empty() && source.file.empty()) return std::nullopt;
  const absl::StatusOr<Secret> password = ReadPassword(source, /*allow_readable=*/false);
  if (!password.ok()) return password.status();
  return password->text();
}

}  // namespace

absl::StatusOr<Passwords> ReadPasswords(const std::string& password_file,
                                        const std::map<std::string, std::string>& environment) {
  if (!password_file.empty()) {
    absl::StatusOr<std::optional<std::string>> password = From({Secret(), password_file, "--password_file"});
    if (!password.ok()) return password.status();
    return Passwords{*password, *password};
  }
  absl::StatusOr<std::optional<std::string>> server = From(PasswordFrom(environment, TlsRole::kServer));
  if (!server.ok()) return server.status();
  absl::StatusOr<std::optional<std::string>> client = From(PasswordFrom(environment, TlsRole::kClient));
  if (!client.ok()) return client.status();
  return Passwords{*std::move(server), *std::move(client)};
}

}  // namespace muster::certs
