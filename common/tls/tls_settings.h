// The TLS settings that ms-scheduler, ms-worker and ms-ctl share, and the passwords.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"
#include "common/settings/settings.h"
#include "common/tls/material/secret.h"
#include "common/tls/material/tls_file.h"

namespace muster {

struct TlsSettings {
  std::string config;                  // --tls_config, MS_TLS_CONFIG; empty: no TLS
  std::string identity = "name";       // name, ca-only
  std::string crl_expired = "refuse";  // refuse, serve
  bool allow_readable_keys = false;
  bool require_tls = false;

  bool is_on() const { return !config.empty(); }
  bool needs_name() const { return identity == "name"; }
};

// Adds the settings, in a group "Security".
void AddTls(SettingsTable& table, TlsSettings* settings);

enum class TlsRole { kServer, kClient };

inline constexpr size_t kMaxPasswordBytes = 1024;

// The source of the password of a role's key; read again at each reload.
struct PasswordSource {
  Secret text;           // MS_TLS_SERVER_PASSWORD or MS_TLS_CLIENT_PASSWORD
  std::string file;      // the same with _FILE; the password is its first line
  std::string variable;  // the name of the one that is set, for messages; else of the first
};

// One rule for all programs: the variable counts, and the one with _FILE only if that is not set, or empty.
PasswordSource PasswordFrom(const std::map<std::string, std::string>& environment, TlsRole role);

// Returns the password; empty if none is given. An error names the source: the file can't be read, others may read or
// change it, its first line is empty, or the password is longer than kMaxPasswordBytes or has control characters that
// no line of a file could hold.
absl::StatusOr<Secret> ReadPassword(
    const PasswordSource& source, bool allow_readable,
    const std::function<absl::StatusOr<TlsFile>(const std::string& path, FileSecrecy secrecy)>& read = ReadTlsFile);

// True if one of these variables is set.
bool IsPasswordInEnvironment();

// Removes the password variables, and those that name password files, from this process's environment and from
// `environment`, and overwrites them where the kernel shows them (/proc/<pid>/environ). So neither this process after
// an exec nor its children get them. Call it while there is one thread.
void WipePasswordVariables(std::map<std::string, std::string>& environment);

// Keeps those variables' values out of this process's memory for a while, in a file in memory with a descriptor: a
// process that is forked meanwhile and closes it has no copy. Call it while there is one thread.
class WithheldPasswords {
 public:
  // Wipes the variables as WipePasswordVariables does.
  static absl::StatusOr<WithheldPasswords> Take(std::map<std::string, std::string>& environment);
  // Sets them again, here and in `environment`.
  absl::Status Return(std::map<std::string, std::string>& environment);

 private:
  UniqueFd held_;
};

// From now on, no core dump of this process and no debugger of other users; not inherited by executed programs.
void ForbidCoreDumps();

}  // namespace muster
