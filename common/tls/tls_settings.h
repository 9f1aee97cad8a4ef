// The settings of TLS that ms-scheduler, ms-worker and ms-ctl share, and the passwords.
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

// Begins a group "Security".
void AddTls(SettingsTable& table, TlsSettings* settings);

enum class TlsRole { kServer, kClient };

inline constexpr size_t kMaxPasswordBytes = 1024;

// Where the password of a role's key comes from; read again at each reload.
struct PasswordSource {
  Secret text;           // MS_TLS_SERVER_PASSWORD or MS_TLS_CLIENT_PASSWORD
  std::string file;      // the same with _FILE; its first line counts
  std::string variable;  // which of them is set, for messages; else the first's name
};

// One rule for all programs: the variable counts, and the one with _FILE only where that is not set, or empty.
PasswordSource PasswordFrom(const std::map<std::string, std::string>& environment, TlsRole role);

// The password; empty when none is given. An error names the source: the file can't be read, others may read or change
// it, its first line is empty, or the password is longer than kMaxPasswordBytes or has control characters that no line
// of a file could hold.
absl::StatusOr<Secret> ReadPassword(
    const PasswordSource& source, bool allow_readable,
    const std::function<absl::StatusOr<TlsFile>(const std::string& path, FileSecrecy secrecy)>& read = ReadTlsFile);

// Whether one of these variables is set.
bool IsPasswordInEnvironment();

// Takes the password variables, and those that name password files, out of this process's environment and overwrites
// them where the kernel shows them (/proc/<pid>/environ), and in `environment`: what this process becomes or starts
// does not get them. While there is one thread.
void WipePasswordVariables(std::map<std::string, std::string>& environment);

// Keeps what those variables say out of this process's memory for a while, in a file in memory behind a descriptor:
// what is forked meanwhile and closes it has no copy. While there is one thread.
class WithheldPasswords {
 public:
  // Wipes the variables as WipePasswordVariables does.
  static absl::StatusOr<WithheldPasswords> Take(std::map<std::string, std::string>& environment);
  // Sets them again, here and in `environment`.
  absl::Status Return(std::map<std::string, std::string>& environment);

 private:
  UniqueFd held_;
};

// No core dump of this process and no debugger of other users from now on; not inherited by what it executes.
void ForbidCoreDumps();

}  // namespace muster
