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

// The source of the password of a role's key. It is read again at each reload.
struct PasswordSource {
  Secret text;           // MS_TLS_SERVER_PASSWORD or MS_TLS_CLIENT_PASSWORD
  std::string file;      // the same with _FILE; the password is its first line
  std::string variable;  // for messages: the name of the variable that is set; if none is, of the first one
};

// Finds the password's source by one rule for all programs: the variable that ends with _FILE counts only if the one
// with the password itself is empty or not set.
PasswordSource PasswordFrom(const std::map<std::string, std::string>& environment, TlsRole role);

// Returns the password; empty if there is none. The error names the source. It is an error if the file can't be read,
// if other users may read or change it, or if its first line is empty. It is also an error if the password is longer
// than kMaxPasswordBytes or has control characters that a line of a file can't have.
absl::StatusOr<Secret> ReadPassword(
    const PasswordSource& source, bool allow_readable,
    const std::function<absl::StatusOr<TlsFile>(const std::string& path, FileSecrecy secrecy)>& read = ReadTlsFile);

// True if one of the password variables is set.
bool IsPasswordInEnvironment();

// Removes the password variables, and those that name password files, from this process's environment and from
// `environment`. Overwrites them where the kernel shows them (/proc/<pid>/environ). So neither this process after an
// exec nor its children have them. Call it while there is one thread.
void WipePasswordVariables(std::map<std::string, std::string>& environment);

// Keeps the values of the password variables out of this process's memory for a while: they are in a memory file behind
// a descriptor. A process that is forked meanwhile and closes the descriptor has no copy. Call it while there is one
// thread.
class WithheldPasswords {
 public:
  // Takes the values and wipes the variables as WipePasswordVariables does.
  static absl::StatusOr<WithheldPasswords> Take(std::map<std::string, std::string>& environment);
  // Sets the variables again, in this process and in `environment`.
  absl::Status Return(std::map<std::string, std::string>& environment);

 private:
  UniqueFd held_;
};

// From now on this process writes no core dump, and other users can't debug it. Programs that it executes don't inherit
// this.
void ForbidCoreDumps();

}  // namespace muster
