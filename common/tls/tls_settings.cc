#include "common/tls/tls_settings.h"

#include <openssl/crypto.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/sys/runtime_paths.h"
#include "common/sys/secret_descriptor.h"

namespace muster {
namespace {

constexpr const char* kPasswordVariables[] = {"MS_TLS_SERVER_PASSWORD", "MS_TLS_CLIENT_PASSWORD",
                                              "MS_TLS_SERVER_PASSWORD_FILE", "MS_TLS_CLIENT_PASSWORD_FILE"};

absl::StatusOr<Secret> CheckedPassword(Secret password, const std::string& where) {
  const std::string& text = password.text();
  if (text.size() <= kMaxPasswordBytes && text.find_first_of(std::string("\0\r\n", 3)) == std::string::npos) {
    return password;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the password of ", where, " must be one line of at most ", kMaxPasswordBytes, " bytes"));
}

}  // namespace

void AddTls(SettingsTable& table, TlsSettings* settings) {
  table.BeginGroup("Security");
  table
      .AddString("tls_config", &settings->config,
                 "Turns on mutual TLS. The file is JSON in MindSpore's format (docs/security.md). Passwords come from "
                 "MS_TLS_SERVER_PASSWORD and MS_TLS_CLIENT_PASSWORD, or from the files that "
                 "MS_TLS_SERVER_PASSWORD_FILE and MS_TLS_CLIENT_PASSWORD_FILE name.")
      .Value("FILE")
      .Absolute()
      .Default("no TLS")
      .Env({"MS_TLS_CONFIG"})
      .Common();
  table
      .AddChoice(
          "tls_identity", &settings->identity, {"name", "ca-only"},
          "name: a certificate allows only what its URI name says. ca-only: it allows everything, as in MindSpore.")
      .Env({"MS_TLS_IDENTITY"});
  table
      .AddChoice("crl_expired", &settings->crl_expired, {"refuse", "serve"},
                 "Whether to refuse or to serve peers after the revocation list has expired.")
      .Env({"MS_CRL_EXPIRED"});
  table
      .AddBool("tls_allow_readable_keys", &settings->allow_readable_keys,
               "Accepts keys and passwords from files that other users can read.")
      .Env({"MS_TLS_ALLOW_READABLE_KEYS"});
  table.AddBool("require_tls", &settings->require_tls, "Refuses connections without TLS to other machines.")
      .Env({"MS_REQUIRE_TLS"});
}

PasswordSource PasswordFrom(const std::map<std::string, std::string>& environment, TlsRole role) {
  const std::string variable = kPasswordVariables[role == TlsRole::kServer ? 0 : 1];
  PasswordSource source;
  source.variable = variable;
  if (const auto found = environment.find(variable); found != environment.end() && !found->second.empty()) {
    source.text = Secret(found->second);
    return source;
  }
  const std::string file_variable = variable + "_FILE";
  if (const auto found = environment.find(file_variable); found != environment.end() && !found->second.empty()) {
    source.file = AbsolutePath(found->second, environment).value_or(found->second);
    source.variable = file_variable;
  }
  return source;
}

absl::StatusOr<Secret> ReadPassword(
    const PasswordSource& source, bool allow_readable,
    const std::function<absl::StatusOr<TlsFile>(const std::string& path, FileSecrecy secrecy)>& read) {
  if (source.file.empty()) return CheckedPassword(source.text, source.variable);
  absl::StatusOr<TlsFile> file =
      read(source.file, allow_readable ? FileSecrecy::kPrivateReadable : FileSecrecy::kPrivate);
  if (!file.ok())
    return absl::Status(file.status().code(), absl::StrCat(source.variable, ": ", file.status().message()));
  const size_t end = file->bytes.find_first_of("\r\n");
  Secret password(file->bytes.substr(0, end));
  Wipe(file->bytes);
  const std::string where = absl::StrCat(source.variable, " (", source.file, ")");
  if (password.empty()) return absl::InvalidArgumentError(absl::StrCat("the password of ", where, " is empty"));
  return CheckedPassword(std::move(password), where);
}

bool IsPasswordInEnvironment() {
  return std::any_of(std::begin(kPasswordVariables), std::end(kPasswordVariables),
                     [](const char* variable) { return getenv(variable) != nullptr; });
}

void WipePasswordVariables(std::map<std::string, std::string>& environment) {
  for (const char* variable : kPasswordVariables) {
    if (char* value = getenv(variable); value != nullptr) OPENSSL_cleanse(value, std::strlen(value));
    unsetenv(variable);
    if (const auto found = environment.find(variable); found != environment.end()) {
      Wipe(found->second);
      environment.erase(found);
    }
  }
}

absl::StatusOr<WithheldPasswords> WithheldPasswords::Take(std::map<std::string, std::string>& environment) {
  std::string all;
  all.reserve(kMaxSecretBytes);  // so that the text never moves and leaves a copy behind
  for (const char* variable : kPasswordVariables) {
    const auto found = environment.find(variable);
    if (found == environment.end()) continue;
    absl::StrAppend(&all, variable, "=", found->second);
    all.push_back('\0');
  }
  WithheldPasswords withheld;
  const absl::StatusOr<int> held = MakeSecretDescriptor(all);
  Wipe(all);
  if (!held.ok()) return held.status();
  withheld.held_.reset(*held);
  WipePasswordVariables(environment);
  return withheld;
}

absl::Status WithheldPasswords::Return(std::map<std::string, std::string>& environment) {
  absl::StatusOr<std::string> all = TakeSecret(held_.release());
  if (!all.ok()) return all.status();
  for (size_t at = 0; at < all->size();) {
    const char* entry = all->data() + at;  // "NAME=VALUE", ends with a zero byte
    const char* value = std::strchr(entry, '=') + 1;
    const std::string name(entry, static_cast<size_t>(value - entry - 1));
    setenv(name.c_str(), value, 1);
    environment[name] = value;
    at += std::strlen(entry) + 1;
  }
  Wipe(*all);
  return absl::OkStatus();
}

void ForbidCoreDumps() { prctl(PR_SET_DUMPABLE, 0); }

}  // namespace muster
