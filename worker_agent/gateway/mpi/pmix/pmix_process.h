// The program ms-pmix of one round: its start, its folders and its end.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"
#include "worker_agent/gateway/chassis/round_layout.h"

namespace muster::agent {

struct PmixOptions {
  std::string program;  // ms-pmix
  std::string folder;   // for this round, absolute; Start makes it, the destructor removes it
  // Start makes a folder here for the memory that ranks share; the destructor removes it. Agents of one machine need
  // different folders, because Open MPI names its files by host and local rank, which these agents have in common.
  std::string memory = "/dev/shm";
};

class PmixProcess {
 public:
  // Starts ms-pmix and waits until it is ready, at most 5 s, because it provides the ranks' environments. The error has
  // ms-pmix's own message.
  static absl::StatusOr<std::unique_ptr<PmixProcess>> Start(PmixOptions options, const RoundLayout& layout);
  // Ends ms-pmix, and removes its folders.
  ~PmixProcess();

  // The socket to ms-pmix, for frames in both directions. Open until End.
  int socket() const { return socket_.get(); }
  // Returns the input that came after ms-pmix's report that it is ready. To be called once.
  std::string TakeInput() { return std::exchange(input_, {}); }
  // Returns the variables for the slot's process: PMIX_… and the folder of the shared memory.
  const std::map<std::string, std::string>& VariablesOf(size_t slot) const { return variables_[slot]; }

 private:
  explicit PmixProcess(PmixOptions options) : options_(std::move(options)) {}
  absl::Status Begin(const RoundLayout& layout);
  void MakeMemoryFolder();
  absl::Status Spawn();
  absl::Status Send(std::string frame);
  absl::Status WaitUntilReady(size_t slots);
  absl::Status TakeVariables(const std::string& bytes, size_t slots);
  std::string End();

  const PmixOptions options_;
  std::string memory_folder_;  // empty: there is none
  UniqueFd memory_lock_;       // of memory_folder_; ms-pmix holds it too
  UniqueFd socket_;
  pid_t pid_ = -1;
  std::string input_;
  std::vector<std::map<std::string, std::string>> variables_;  // by slot
};

}  // namespace muster::agent
