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
  std::string folder;   // the round's, absolute; is made and removed
  // The place where a folder is made, and removed, for the memory that ranks share. Open MPI names its files by host
  // and local rank, which agents of one machine have in common.
  std::string memory = "/dev/shm";
};

class PmixProcess {
 public:
  // Waits until ms-pmix is ready, 5 s at most, because it gives the ranks' environments. The
  // error has its message.
  static absl::StatusOr<std::unique_ptr<PmixProcess>> Start(PmixOptions options, const RoundLayout& layout);
  // Ends ms-pmix, and removes its folders.
  ~PmixProcess();

  // Frames go both ways. Open until End.
  int socket() const { return socket_.get(); }
  // Returns the input that came after ms-pmix's report that it is ready. To be called once.
  std::string TakeInput() { return std::exchange(input_, {}); }
  // Returns PMIX_… of the slot's process, and the place of its shared memory.
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
  UniqueFd memory_lock_;       // of that folder; ms-pmix holds it too
  UniqueFd socket_;
  pid_t pid_ = -1;
  std::string input_;
  std::vector<std::map<std::string, std::string>> variables_;  // by slot
};

}  // namespace muster::agent
