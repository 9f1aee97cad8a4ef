#include "scheduler/journal/sqlite_journal.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/settings/settings.h"
#include "common/sys/log.h"
#include "common/sys/threads.h"
#include "scheduler/journal/sqlite_file.h"

namespace muster::scheduler {
namespace {

constexpr absl::Duration kFullDiskRetry = absl::Milliseconds(250);
// While nothing is appended: how often to check that the files are at their paths.
constexpr absl::Duration kLookInterval = absl::Seconds(1);
// A batch of several records indicates a burst of joins. Records that come within this time after such a batch share
// the next fsync. With 1,000 joins that saves a tenth of the processor time. After a single record nothing waits.
constexpr absl::Duration kGather = absl::Milliseconds(1);
constexpr uint64_t kLeastBytesForSnapshot = 4 << 20;
constexpr uint64_t kSnapshotsWorth = 4;

// Logs the error and ends the process. (For FAILED_PRECONDITION, which means that another process has the journal, or
// that another file is in its place, the message already says what to do.)
[[noreturn]] void Die(const absl::Status& why) {
  Log(Severity::kError,
      absl::StrCat(std::string(why.message()),
                   absl::IsFailedPrecondition(why)
                       ? ". ms-scheduler ends now and answers no request"
                       : ". It is unknown what is on the disk now, so ms-scheduler ends and answers no "
                         "request. Start it again once the disk works: it goes on where it was"));
  FlushLog(absl::Seconds(2));
  std::_Exit(EXIT_FAILURE);
}

}  // namespace

class SqliteJournal::Impl {
 public:
  explicit Impl(SqliteFile file)
      : file_(std::move(file)),
        last_sequence_(file_.last_sequence()),
        bytes_since_snapshot_(file_.record_bytes()),
        snapshot_bytes_(file_.snapshot_bytes()) {}

  ~Impl() {
    {
      MutexLock lock(mutex_);
      is_stopping_ = true;
      changed_.NotifyAll();
      stopping_.NotifyAll();
    }
    if (writer_.joinable()) writer_.join();
  }

  absl::Status Replay(const std::function<void(const v1::Record&)>& take) const {
    MUSTER_CHECK(!writer_.joinable(), "Replay comes before the first Append");
    return file_.ReadAll([&](const JournalEntry& entry) {
      v1::Record record;
      MUSTER_CHECK(record.ParseFromString(entry.body), "Open has looked at every record");
      take(record);
      return absl::OkStatus();
    });
  }

  uint64_t Append(const std::vector<v1::Record>& records) {
    MUSTER_CHECK(!records.empty(), "Append wants at least one record");
    std::deque<Queued> entries;
    for (const v1::Record& record : records) {
      entries.push_back({{++last_sequence_, false, record.SerializeAsString()}, nullptr});
      bytes_since_snapshot_ += entries.back().entry.body.size();
    }
    Queue(std::move(entries));
    return last_sequence_;
  }

  bool WantsSnapshot() const {
    return bytes_since_snapshot_ > std::max(kLeastBytesForSnapshot, kSnapshotsWorth * snapshot_bytes_);
  }

  void AppendSnapshot(JournalSnapshot snapshot) {
    MUSTER_CHECK(last_sequence_ > 0, "a record was appended before the snapshot");
    snapshot_bytes_ = snapshot.bytes;
    bytes_since_snapshot_ = 0;
    std::deque<Queued> entries;
    entries.push_back({{last_sequence_, true, ""}, std::move(snapshot.make)});
    Queue(std::move(entries));
  }

  void SetOnDurable(std::function<void(uint64_t)> on_durable) {
    MutexLock lock(callback_mutex_);
    on_durable_ = std::move(on_durable);
  }

  bool IsStalled() const { return is_stalled_; }
  uint64_t Bytes() const { return snapshot_bytes_ + bytes_since_snapshot_; }
  const std::string& path() const { return file_.path(); }

 private:
  struct Queued {
    JournalEntry entry;
    std::function<v1::Record()> make;  // makes a snapshot's body
  };

  void Queue(std::deque<Queued> entries) {
    if (!writer_.joinable()) writer_ = StartWriter();
    MutexLock lock(mutex_);
    for (Queued& entry : entries) queued_.push_back(std::move(entry));
    changed_.NotifyOne();
  }

  // Called with the first record. (The start of the scheduler has checked that it can create threads.)
  std::thread StartWriter() {
    absl::StatusOr<std::thread> writer = TryThread([this] { WriteOn(); });
    if (writer.ok()) return *std::move(writer);
    Log(Severity::kError,
        absl::StrCat("the journal can't be written: ", std::string(writer.status().message()),
                     ". Without it ms-scheduler can't decide anything, so it ends now and answers no request"));
    FlushLog(absl::Seconds(2));
    std::_Exit(EXIT_FAILURE);
  }

  static std::deque<JournalEntry> MakeBodies(std::deque<Queued> taken) {
    std::deque<JournalEntry> batch;
    for (Queued& queued : taken) {
      if (queued.make) queued.entry.body = queued.make().SerializeAsString();
      batch.push_back(std::move(queued.entry));
    }
    return batch;
  }

  void WriteOn() {
    pthread_setname_np(pthread_self(), "ms-journal");
    MonotonicTime due;
    while (true) {
      std::deque<Queued> taken;
      bool is_last = false;
      {
        MutexLock lock(mutex_);
        if (queued_.empty() && !is_stopping_) changed_.WaitFor(mutex_, kLookInterval);
        if (!queued_.empty()) GatherUntil(due);
        taken.swap(queued_);
        is_last = taken.empty() && is_stopping_;
      }
      const std::deque<JournalEntry> batch = MakeBodies(std::move(taken));
      if (!batch.empty() && !Persist(batch.size(), [&] { return file_.Append(batch); })) return;
      if (!Persist(batch.size(), [&] { return file_.Confirm(); }) || is_last) return;
      if (!batch.empty()) ReportDurable(batch.back().sequence);
      if (batch.size() > 1) due = Clock::System().Read().monotonic + kGather;
    }
  }

  void GatherUntil(MonotonicTime due) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    while (!is_stopping_) {
      const absl::Duration left = due - Clock::System().Read().monotonic;
      if (left <= absl::ZeroDuration()) return;
      stopping_.WaitFor(mutex_, left);
    }
  }

  void ReportDurable(uint64_t sequence) {
    MutexLock lock(callback_mutex_);
    if (on_durable_) on_durable_(sequence);
  }

  // Calls `write` until it succeeds. False: the journal closes while the disk is full.
  bool Persist(size_t records, const std::function<absl::Status()>& write) {
    absl::Status status = write();
    if (status.ok()) return true;
    if (!absl::IsResourceExhausted(status)) Die(status);
    const MonotonicTime since = Clock::System().Read().monotonic;
    Log(Severity::kError,
        absl::StrCat(std::string(status.message()),
                     ". Until there is room, joins are refused and nothing new is decided; processes keep running"));
    is_stalled_ = true;
    while (!status.ok()) {
      if (!WaitForRoom(records)) return false;
      status = write();
      if (!status.ok() && !absl::IsResourceExhausted(status)) Die(status);
    }
    is_stalled_ = false;
    Log(Severity::kInfo,
        absl::StrCat("the disk under the journal ", path(), " has room again, after ",
                     ShowDuration(absl::Trunc(Clock::System().Read().monotonic - since, absl::Milliseconds(100))), "; ",
                     records, " records that waited are written"));
    return true;
  }

  // Waits before the next attempt to write. False: the journal closes.
  bool WaitForRoom(size_t waiting) {
    MutexLock lock(mutex_);
    if (!is_stopping_) changed_.WaitFor(mutex_, kFullDiskRetry);
    if (!is_stopping_) return true;
    Log(Severity::kError,
        absl::StrCat("ms-scheduler ends with a full disk under the journal ", path(), ": ", waiting + queued_.size(),
                     " records are lost, but none of them was acknowledged"));
    return false;
  }

  SqliteFile file_;  // used by the thread that opened it until the writer thread starts, then by the writer only
  std::atomic<bool> is_stalled_ = false;

  // Owned by the thread that appends.
  uint64_t last_sequence_;
  uint64_t bytes_since_snapshot_;
  uint64_t snapshot_bytes_;
  std::thread writer_;

  Mutex mutex_;
  CondVar changed_;
  CondVar stopping_;
  std::deque<Queued> queued_ ABSL_GUARDED_BY(mutex_);
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;

  Mutex callback_mutex_;
  std::function<void(uint64_t)> on_durable_ ABSL_GUARDED_BY(callback_mutex_);
};

absl::StatusOr<std::unique_ptr<SqliteJournal>> SqliteJournal::Open(const std::string& path) {
  absl::StatusOr<SqliteFile> file = SqliteFile::Open(path, CheckJournalEntry);
  if (!file.ok()) return file.status();
  return std::unique_ptr<SqliteJournal>(new SqliteJournal(std::make_unique<Impl>(*std::move(file))));
}

SqliteJournal::SqliteJournal(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SqliteJournal::~SqliteJournal() = default;

absl::Status SqliteJournal::Replay(const std::function<void(const v1::Record&)>& take) { return impl_->Replay(take); }
uint64_t SqliteJournal::Append(std::vector<v1::Record> records) { return impl_->Append(records); }
bool SqliteJournal::WantsSnapshot() const { return impl_->WantsSnapshot(); }
void SqliteJournal::AppendSnapshot(JournalSnapshot snapshot) { impl_->AppendSnapshot(std::move(snapshot)); }
void SqliteJournal::SetOnDurable(std::function<void(uint64_t)> on_durable) {
  impl_->SetOnDurable(std::move(on_durable));
}
bool SqliteJournal::IsStalled() const { return impl_->IsStalled(); }
uint64_t SqliteJournal::Bytes() const { return impl_->Bytes(); }
std::string SqliteJournal::Describe() const { return impl_->path(); }

}  // namespace muster::scheduler
