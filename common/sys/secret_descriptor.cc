#include "common/sys/secret_descriptor.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U  // Linux 6.3
#endif

namespace muster {
namespace {

absl::Status SecretFailed(const char* what, const char* call) {
  return absl::ResourceExhaustedError(absl::StrCat(what, ": ", call, ": ", std::strerror(errno)));
}

constexpr char kNoFile[] = "no file in memory can be made";
constexpr char kNoPipe[] = "a secret can't be handed over by a pipe";

// Writes all bytes; closes `fd` on an error.
absl::Status WriteSecret(int fd, const std::string& bytes, const char* what) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t written = write(fd, bytes.data() + done, bytes.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const absl::Status status = SecretFailed(what, "write");
      close(fd);
      return status;
    }
    done += static_cast<size_t>(written);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int> MakeMemoryFile(const char* name, const std::string& bytes) {
  constexpr unsigned int kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  // The kernel requires this flag if vm.memfd_noexec is 2. Older kernels don't know it and fail with EINVAL.
  int fd = memfd_create(name, kFlags | MFD_NOEXEC_SEAL);
  if (fd < 0 && errno == EINVAL) fd = memfd_create(name, kFlags);
  if (fd < 0) return SecretFailed(kNoFile, "memfd_create");
  if (absl::Status status = WriteSecret(fd, bytes, kNoFile); !status.ok()) return status;
  return fd;
}

absl::StatusOr<int> MakeSecretDescriptor(const std::string& bytes) {
  if (bytes.size() > kMaxSecretBytes) return MakeSecretPipe(bytes);  // reports that they are too long
  const absl::StatusOr<int> fd = MakeMemoryFile("muster-secret", bytes);
  if (!fd.ok()) {
    absl::StatusOr<int> pipe = MakeSecretPipe(bytes);
    if (pipe.ok()) return pipe;
    return absl::ResourceExhaustedError(absl::StrCat(fd.status().message(), "; ", pipe.status().message()));
  }
  fcntl(*fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
  if (lseek(*fd, 0, SEEK_SET) == 0) return *fd;
  const absl::Status status = SecretFailed(kNoFile, "lseek");
  close(*fd);
  return status;
}

absl::StatusOr<int> MakeSecretPipe(const std::string& bytes) {
  if (bytes.size() > kMaxSecretBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a secret of ", bytes.size(), " bytes; at most ", kMaxSecretBytes, " can be handed over"));
  }
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return SecretFailed(kNoPipe, "pipe");
  // The pipe must have room for all bytes, because no process reads them before the child runs.
  fcntl(ends[1], F_SETPIPE_SZ, static_cast<int>(kMaxSecretBytes));
  if (absl::Status status = WriteSecret(ends[1], bytes, kNoPipe); !status.ok()) {
    close(ends[0]);
    return status;
  }
  close(ends[1]);
  fcntl(ends[0], F_SETFL, 0);
  return ends[0];
}

absl::StatusOr<std::string> TakeSecret(int fd) {
  std::string bytes;
  char buffer[16 * 1024];
  absl::Status status;
  while (status.ok()) {
    const ssize_t got = read(fd, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) status = SecretFailed("a secret that was handed over can't be read", "read");
    if (got <= 0) break;
    bytes.append(buffer, static_cast<size_t>(got));
    if (bytes.size() > kMaxSecretBytes)
      status = absl::InvalidArgumentError("a secret that is too long was handed over");
  }
  explicit_bzero(buffer, sizeof(buffer));
  close(fd);
  if (!status.ok()) return status;
  return bytes;
}

}  // namespace muster
