#include "worker_agent/node/own_page.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace muster::agent {
namespace {

constexpr size_t kTokenBytes = 16;

// Returns a file in memory that only this user can open.
absl::StatusOr<UniqueFd> InMemory(const std::string& text) {
  UniqueFd fd(::memfd_create("muster-token", MFD_CLOEXEC));
  if (!fd.is_open() || ::fchmod(fd.get(), 0600) != 0 ||
      ::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory for its token: ", std::strerror(errno)));
  }
  return fd;
}

}  // namespace

absl::StatusOr<OwnPage> OwnPage::Make(const std::string& lock_base) {
  PortOptions options;
  options.lock_base = lock_base;
  absl::StatusOr<ReservedPort> port = ReservedPort::Reserve(options);
  if (!port.ok()) return port.status();
  std::string bytes(kTokenBytes, '\0');
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return absl::UnavailableError("the kernel gives no random bytes for its token");
  }
  std::string token = absl::BytesToHexString(bytes);
  absl::StatusOr<UniqueFd> file = InMemory(token);
  if (!file.ok()) return file.status();
  return OwnPage(*std::move(port), std::move(token), *std::move(file));
}

std::vector<std::string> OwnPage::Flags() const {
  return {absl::StrCat("--http_address=127.0.0.1:", number_),
          absl::StrCat("--http_token_file=/proc/self/fd/", token_fd())};
}

std::string OwnPage::InWords(bool has_tls, bool is_terminal) const {
  const std::string address = absl::StrCat(has_tls ? "https" : "http", "://127.0.0.1:", number_, "/");
  if (is_terminal) return absl::StrCat(address, "#token=", token_);
  const bool is_for_root = ::prctl(PR_GET_DUMPABLE) != 1;  // with TLS: the kernel hides the files of such a process
  return absl::StrCat(address, "; its token", is_for_root ? " (as root)" : "", ": `cat /proc/", ::getpid(), "/fd/",
                      token_fd(), "`");
}

bool NamesPage(const std::vector<std::string>& flags) {
  const auto is_of_page = [](const std::string& flag) {
    return absl::StartsWith(flag, "--http_address=") || absl::StartsWith(flag, "--http_token_file=") ||
           absl::StartsWith(flag, "--http_view_token_file=");
  };
  if (std::any_of(flags.begin(), flags.end(), is_of_page)) return true;
  constexpr const char* kVariables[] = {"MS_HTTP_ADDRESS", "MS_HTTP_TOKEN_FILE", "MS_HTTP_VIEW_TOKEN_FILE"};
  return std::any_of(std::begin(kVariables), std::end(kVariables), [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && value[0] != '\0';
  });
}

}  // namespace muster::agent
