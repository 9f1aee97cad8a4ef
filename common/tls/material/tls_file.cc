#include "common/tls/material/tls_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/sys/file_io.h"
#include "common/tls/material/certificate.h"

namespace muster {
namespace {

int64_t Nanoseconds(const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

FileStamp StampFrom(const struct stat& info) {
  return FileStamp{info.st_dev, info.st_ino, static_cast<uint64_t>(info.st_size), Nanoseconds(info.st_mtim),
                   Nanoseconds(info.st_ctim)};
}

absl::Status CheckSecrecy(const std::string& path, const struct stat& info) {
  const mode_t too_open = info.st_uid == 0 ? S_IRWXO | S_IWGRP | S_IXGRP : S_IRWXO | S_IRWXG;
  if ((info.st_mode & too_open) == 0) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat(path, " may be read or changed by others (mode ", absl::StrFormat("%04o", info.st_mode & 07777),
                   "), and it holds a secret: chmod 600 it, or allow it with --tls_allow_readable_keys"));
}

}  // namespace

FileStamp StampOf(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return {};
  return StampFrom(info);
}

absl::StatusOr<TlsFile> ReadTlsFile(const std::string& path, FileSecrecy secrecy) {
  struct stat info {};
  const absl::StatusOr<UniqueFd> file = OpenNamedFile(path, info);
  if (!file.ok()) return file.status();
  if (secrecy == FileSecrecy::kPrivate) {
    if (absl::Status status = CheckSecrecy(path, info); !status.ok()) return status;
  }
  if (static_cast<uint64_t>(info.st_size) > kMaxTlsFileBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has ", info.st_size, " bytes; at most ", kMaxTlsFileBytes, " are read"));
  }
  TlsFile result{std::string(static_cast<size_t>(info.st_size), '\0'), StampFrom(info)};
  size_t done = 0;
  while (done < result.bytes.size()) {
    const ssize_t got = read(file->get(), result.bytes.data() + done, result.bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::NotFoundError(absl::StrCat(path, " can't be read: ", std::strerror(errno)));
    if (got == 0) break;  // the file has become shorter since its size was read
    done += static_cast<size_t>(got);
  }
  result.bytes.resize(done);
  return result;
}

absl::Status PatientFiles::BeginPatience() {
  absl::StatusOr<std::shared_ptr<SideThread>> made = SideThread::Make("ms-tls-files");
  if (!made.ok()) return made.status();
  MutexLock lock(mutex_);
  thread_ = *std::move(made);
  return absl::OkStatus();
}

void PatientFiles::GiveUp() {
  has_given_up_ = true;
  if (const auto side = thread()) side->GiveUp();
}

std::shared_ptr<SideThread> PatientFiles::thread() const {
  MutexLock lock(mutex_);
  return thread_;
}

FileStamp PatientFiles::Stamp(const std::string& path) {
  const std::shared_ptr<SideThread> side = thread();
  if (side == nullptr) return calls_.stamp(path);
  auto stamp = std::make_shared<FileStamp>();
  return side->Run([stamp, path, call = calls_.stamp] { *stamp = call(path); }, kPatience) ? *stamp : FileStamp();
}

absl::StatusOr<TlsFile> PatientFiles::Read(const std::string& path, FileSecrecy secrecy) {
  const std::shared_ptr<SideThread> side = thread();
  if (side == nullptr) return calls_.read(path, secrecy);
  auto file = std::make_shared<absl::StatusOr<TlsFile>>(TlsFile());
  if (side->Run([file, path, secrecy, call = calls_.read] { *file = call(path, secrecy); }, kPatience)) {
    return std::move(*file);
  }
  if (has_given_up_) return absl::CancelledError("the read was given up");
  return absl::DeadlineExceededError(absl::StrCat(path, " can't be read: its file system does not answer"));
}

}  // namespace muster
