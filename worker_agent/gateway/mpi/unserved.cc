#include "worker_agent/gateway/mpi/unserved.h"

#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/base/text.h"
#include "common/sys/file_io.h"
#include "common/sys/log.h"
#include "common/sys/threads.h"
#include "worker_agent/launch/command/mpi_program.h"

namespace muster::agent {
namespace {

constexpr int kLooks = 7;
constexpr int kMostChildren = 16;
constexpr size_t kMostMapsText = 32 << 20;

std::string LibraryIn(const std::string& maps_file) {
  for (absl::string_view map : absl::StrSplit(ReadSmallFile(maps_file, kMostMapsText).value_or(""), '\n')) {
    const std::string name(map.substr(map.rfind('/') + 1));
    if (FamilyOfLibrary(name) != MpiFamily::kNone) return name;
  }
  return "";
}

}  // namespace

std::string LoadedMpiLibrary(pid_t pid) {
  std::string library = LibraryIn(absl::StrCat("/proc/", pid, "/maps"));
  std::istringstream children(
      ReadSmallFile(absl::StrCat("/proc/", pid, "/task/", pid, "/children"), 1 << 20).value_or(""));
  pid_t child = 0;
  for (int i = 0; i < kMostChildren && library.empty() && children >> child; ++i) {
    library = LibraryIn(absl::StrCat("/proc/", child, "/maps"));
  }
  return library;
}

void UnservedMpi::Started(const ProcessKey& /*key*/, int64_t pid) {
  if (std::exchange(has_begun_, true)) return;
  absl::StatusOr<std::thread> thread = TryThread([this, pid] { Run(static_cast<pid_t>(pid)); });
  if (thread.ok()) thread_ = *std::move(thread);
}

UnservedMpi::~UnservedMpi() {
  {
    const MutexLock lock(mutex_);
    is_stopping_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void UnservedMpi::Run(pid_t pid) {
  absl::Duration pause = absl::Seconds(1);
  for (int i = 0; i < kLooks; ++i) {
    {
      const MutexLock lock(mutex_);
      if (!is_stopping_) changed_.WaitFor(mutex_, pause);
      if (is_stopping_) return;
    }
    if (i > 0) pause *= 2;
    const std::string library = LoadedMpiLibrary(pid);
    if (library.empty()) continue;
    const char* family = FamilyOfLibrary(library) == MpiFamily::kPmix ? "pmix" : "pmi1";
    return Log(Severity::kWarning,
               absl::StrCat("process ", pid, " has loaded MPI (", Quoted(library, 64),
                            "), and the command did not show that it needs it: if it calls MPI_Init, each process runs "
                            "alone, as rank 0 of 1; start with --mpi ",
                            family, " on every node, or with --mpi none if it uses no MPI"));
  }
}

}  // namespace muster::agent
