// The threads of gRPC 1.51, by the names that Linux shows:
//
//   with the first use         default-executor, resolver-executor, grpc_global_timer
//   with the first channel     timer_manager, event_engine (one for each processor, 2 to 32)
//   with a server              grpcpp_sync_server, nexting_thread (one for two processors, 2 to 16)
//   later, when needed         another grpc_global_timer with the first timer, grpcpp_sync_server with the first call,
//                              more of event_engine; more of the executors: up to two for each processor
#include "common/net/grpc_start.h"

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/sys/room.h"
#include "common/sys/wait.h"

namespace muster {
namespace {

constexpr size_t kAlways = 4;
constexpr size_t kSoon = 2;
constexpr absl::Duration kLookPause = absl::Milliseconds(5);
constexpr int kMaxLooks = 200;
constexpr size_t kDescriptors = 12;  // for epoll, eventfds and the first connections

// Returns the number of processors in the way that gRPC counts them.
size_t Processors() { return static_cast<size_t>(std::max(1L, sysconf(_SC_NPROCESSORS_CONF))); }

size_t Initial() { return kAlways + std::clamp<size_t>(Processors(), 2, 32); }

// The table above describes this version's source. For other versions, StartGrpc and CheckServerThreads don't check
// whether gRPC has made all its threads.
bool IsKnownVersion() { return absl::StartsWith(grpc::Version(), "1.51."); }

absl::Status CheckMade(size_t made, size_t wanted) {
  if (!IsKnownVersion() || made >= wanted) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("gRPC could make only ", made, " of the ", wanted, " threads that it needs", TaskLimitInWords()));
}

}  // namespace

absl::Status StartGrpc(size_t others) {
  if (CountThreads() == 0) {
    return absl::FailedPreconditionError(
        "/proc can't be read, so no thread or process can be seen: mount it (mount -t proc proc /proc)");
  }
  const absl::Status room = CheckRoom({.tasks = Initial() + kSoon + others, .descriptors = kDescriptors});
  if (!room.ok()) return room;
  static const auto* kept = new std::shared_ptr<grpc::Channel>(  // never destroyed
      grpc::CreateChannel("unix:/nobody/listens", grpc::InsecureChannelCredentials()));
  static_cast<void>(kept);
  return CheckMade(CountThreads() - 1, Initial());
}

size_t GrpcServerThreads() { return 1 + std::clamp<size_t>(Processors() / 2, 2, 16); }

absl::Status CheckServerThreads() {
  const size_t wanted = GrpcServerThreads();
  size_t made = 0;
  for (int i = 0; i < kMaxLooks; ++i) {
    made = std::min<size_t>(CountThreadsNamed("grpcpp_sync_ser"), 1) + CountThreadsNamed("nexting_thread");
    if (made >= wanted) break;
    Pause(kLookPause);
  }
  return CheckMade(made, wanted);
}

}  // namespace muster
