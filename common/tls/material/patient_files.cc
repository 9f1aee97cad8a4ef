#include "common/tls/material/patient_files.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace muster {

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
  if (has_given_up_) return absl::CancelledError("nobody waits for it any more");
  return absl::DeadlineExceededError(absl::StrCat(path, " can't be read: its file system does not answer"));
}

}  // namespace muster
