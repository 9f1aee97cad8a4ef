// A thread for calls that may never return, such as reading from a file system that has gone away. It can be left
// behind, so that whoever waits for it, and the end of the process, need not hang with it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace muster {

class SideThread {
 public:
  // `name` as the system shows it, at most 15 bytes. RESOURCE_EXHAUSTED: there is no thread to be had.
  static absl::StatusOr<std::shared_ptr<SideThread>> Make(const std::string& name);
  // Waits for nothing.
  ~SideThread();

  // Has `work` run there and waits for its end. False after `limit`; at once while an earlier one still runs, and after
  // GiveUp. One caller at a time. What `work` touches it must own: it may run on when its caller is gone.
  bool Run(std::function<void()> work, absl::Duration limit);

  // Any thread: from now on nobody waits.
  void GiveUp();

 private:
  struct Shared;
  explicit SideThread(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  static void Serve(const std::shared_ptr<Shared>& shared);

  const std::shared_ptr<Shared> shared_;
};

}  // namespace muster
