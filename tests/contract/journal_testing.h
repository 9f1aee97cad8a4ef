// Helpers for the journal's tests.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "scheduler/journal/journal.h"

namespace muster::scheduler {

inline constexpr auto kPatience = std::chrono::seconds(20);

// Collects the calls of on_durable, from any thread.
class DurableWatch {
 public:
  void Attach(Journal& journal) {
    journal.SetOnDurable([this](uint64_t sequence) {
      std::lock_guard<std::mutex> lock(mutex_);
      reported_.push_back(sequence);
      changed_.notify_all();
    });
  }
  bool WaitFor(uint64_t sequence) {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return !reported_.empty() && reported_.back() >= sequence; });
  }
  // For what the journal does not report: looks again every 10 ms.
  bool WaitUntil(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    std::unique_lock<std::mutex> lock(mutex_);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      changed_.wait_for(lock, std::chrono::milliseconds(10));
    }
    return true;
  }
  std::vector<uint64_t> reported() {
    std::lock_guard<std::mutex> lock(mutex_);
    return reported_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<uint64_t> reported_;
};

inline v1::Record RecordOf(const std::string& name) {
  v1::Record record;
  record.set_unix_ms(1234);
  record.mutable_run_opened()->set_job_id(name);
  return record;
}

inline v1::Record SnapshotOf(const std::string& name) {
  v1::Record record;
  record.mutable_snapshot()->set_cluster_id(name);
  return record;
}

inline std::string NameOf(const v1::Record& record) {
  return record.has_snapshot() ? "snapshot " + record.snapshot().cluster_id() : record.run_opened().job_id();
}

inline std::vector<std::string> ReplayedNames(Journal& journal) {
  std::vector<std::string> names;
  const absl::Status status = journal.Replay([&](const v1::Record& record) { names.push_back(NameOf(record)); });
  EXPECT_TRUE(status.ok()) << status;
  return names;
}

// A folder that is removed at the end. In memory where possible: these tests sync often.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern = access("/dev/shm", W_OK) == 0 ? "/dev/shm/muster-journal-XXXXXX"
                                                        : ::testing::TempDir() + "muster-journal-XXXXXX";
    path_ = mkdtemp(pattern.data()) == nullptr ? "" : pattern;
    EXPECT_FALSE(path_.empty()) << "no temporary folder " << pattern;
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace muster::scheduler
