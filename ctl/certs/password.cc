#include "ctl/certs/password.h"

#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "common/file_io.h"

namespace muster::certs {
namespace {

constexpr size_t kMaxPasswordBytes = 1024;

// `where` names the setting.
absl::StatusOr<std::string> Checked(std::string password, const std::string& where) {
  if (password.empty()) return absl::InvalidArgumentError(absl::StrCat("the password of ", where, " is empty"));
  const bool is_text = password.size() <= kMaxPasswordBytes && password.find('\0') == std::string::npos &&
                       password.find('\n') == std::string::npos;
  if (is_text) return password;
  return absl::InvalidArgumentError(
      absl::StrCat("the password of ", where, " must be one line of at most ", kMaxPasswordBytes, " bytes"));
}

absl::StatusOr<std::string> FromFile(const std::string& path, const std::string& where) {
  struct stat info {};
  if (stat(path.c_str(), &info) == 0 && (info.st_mode & 077) != 0) {
    return absl::PermissionDeniedError(absl::StrCat(where, ": ", path,
                                                    " may be read by others than its owner: chmod 600 ", path,
                                                    " and think about a new password"));
  }
  absl::StatusOr<std::string> content = ReadSmallFile(path, kMaxPasswordBytes + 2);
  if (!content.ok()) {
    return absl::Status(content.status().code(), absl::StrCat(where, ": ", std::string(content.status().message())));
  }
  if (!content->empty() && content->back() == '\n') content->pop_back();
  if (!content->empty() && content->back() == '\r') content->pop_back();
  return Checked(*std::move(content), absl::StrCat(where, " (", path, ")"));
}

absl::StatusOr<std::optional<std::string>> FromVariables(const std::string& name,
                                                         const std::map<std::string, std::string>& environment) {
  const auto file = environment.find(name + "_FILE");
  const auto plain = environment.find(name);
  absl::StatusOr<std::string> password;
  if (file != environment.end() && !file->second.empty()) {
    password = FromFile(file->second, file->first);
  } else if (plain != environment.end() && !plain->second.empty()) {
    password = Checked(plain->second, name);
  } else {
    return std::nullopt;
  }
  if (!password.ok()) return password.status();
  return std::optional<std::string>(*std::move(password));
}

}  // namespace

absl::StatusOr<Passwords> ReadPasswords(const std::string& password_file,
                                        const std::map<std::string, std::string>& environment) {
  if (!password_file.empty()) {
    const absl::StatusOr<std::string> password = FromFile(password_file, "--password_file");
    if (!password.ok()) return password.status();
    return Passwords{*password, *password};
  }
  auto server = FromVariables("MS_TLS_SERVER_PASSWORD", environment);
  if (!server.ok()) return server.status();
  auto client = FromVariables("MS_TLS_CLIENT_PASSWORD", environment);
  if (!client.ok()) return client.status();
  return Passwords{*std::move(server), *std::move(client)};
}

}  // namespace muster::certs
