#include "scheduler/journal/sqlite_file.h"

#include <sqlite3.h>
#include <sys/random.h>

#include <filesystem>
#include <memory>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "muster/v1/journal.pb.h"
#include "scheduler/core/core.h"
#include "scheduler/journal/checksum.h"
#include "scheduler/journal/journal_folder.h"
#include "scheduler/journal/journal_format.h"
#include "scheduler/journal/sqlite_words.h"

namespace muster::scheduler {
namespace {

constexpr int kBusyMs = 1'000;  // how long to wait for the lock: a scheduler that was just killed may still be exiting
constexpr int kLogFrames = 1'000;  // when the write-ahead log has so many frames (4 KiB each), it starts over

constexpr const char* kTables[] = {
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE records(sequence INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, body BLOB NOT NULL)",
    "CREATE TABLE snapshots(through INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, body BLOB NOT NULL)",
};

struct Finalizer {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalizer>;

Statement Compile(sqlite3* db, const char* sql) {
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(db, sql, -1, &statement, nullptr);
  return Statement(statement);
}

// The first three columns of records and snapshots.
struct Row {
  uint64_t sequence = 0;
  int64_t checksum = 0;
  std::string body;
};

Row ReadRow(sqlite3_stmt* statement) {
  Row row;
  row.sequence = static_cast<uint64_t>(sqlite3_column_int64(statement, 0));
  row.checksum = sqlite3_column_int64(statement, 1);
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement, 2));
  if (bytes != nullptr) row.body.assign(bytes, static_cast<size_t>(sqlite3_column_bytes(statement, 2)));
  return row;
}

int CountFrames(void* frames, sqlite3*, const char*, int count) {
  *static_cast<int*>(frames) = count;
  return SQLITE_OK;
}

std::string NewId() {
  std::string bytes(8, '\0');
  const ssize_t got = getrandom(bytes.data(), bytes.size(), 0);
  MUSTER_CHECK(got == static_cast<ssize_t>(bytes.size()), "the kernel gives random bytes");
  return absl::BytesToHexString(bytes);
}

absl::Status NoLongerThere(const std::string& path) {
  return absl::FailedPreconditionError(
      absl::StrCat("the journal ", path,
                   " was removed or replaced while ms-scheduler opened it: see what is "
                   "there, and start ms-scheduler again"));
}

// Replaces the links on the way to the journal's folder. SQLITE_OPEN_NOFOLLOW refuses a link anywhere in the path. But
// links to the folder are allowed: the operator made them, or (as root) PrepareJournalFile has checked them.
std::string WithoutLinks(const std::string& path) {
  const std::filesystem::path whole = std::filesystem::absolute(path);
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::canonical(whole.parent_path(), error);
  return error ? path : (folder / whole.filename()).string();
}

}  // namespace

// A record of a newer version says so in least_reader. A record without that, but of an unknown kind, must be damaged.
absl::Status CheckJournalEntry(const std::string& path, const JournalEntry& entry) {
  const std::string name = absl::StrCat(entry.is_snapshot ? "the snapshot through " : "record ", entry.sequence);
  v1::Record record;
  const bool is_whole = record.ParseFromString(entry.body);
  if (is_whole && record.least_reader() > kJournalReader) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the journal ", path, " was written by a newer ms-scheduler: ", name, " needs reader version ",
        record.least_reader(), ", and this one has version ", kJournalReader,
        ": use the newer ms-scheduler, or put an older copy in its place, or name another file with --journal_path"));
  }
  if (is_whole && record.has_snapshot() == entry.is_snapshot && record.kind_case() != v1::Record::KIND_NOT_SET) {
    return absl::OkStatus();
  }
  return DamagedJournal(path, absl::StrCat(name, " has a kind that ms-scheduler does not know"));
}

void SqliteFile::Closer::operator()(sqlite3* db) const { sqlite3_close_v2(db); }

absl::StatusOr<SqliteFile> SqliteFile::Open(const std::string& path, const EntryCheck& check) {
  if (absl::Status status = PrepareJournalFile(path); !status.ok()) return status;
  SqliteFile file(path);
  if (absl::Status status = file.Connect(); !status.ok()) return status;
  const absl::StatusOr<std::string> tables = file.ReadText("SELECT count(*) FROM sqlite_schema");
  if (!tables.ok()) return tables.status();
  if (*tables == "0") {
    if (absl::Status status = file.Create(); !status.ok()) return status;
  }
  if (absl::Status status = file.CheckSchema(); !status.ok()) return status;
  if (absl::Status status = file.CheckContent(check); !status.ok()) return status;
  if (absl::Status status = file.CheckNothingIsMissing(); !status.ok()) return status;
  if (absl::Status status = file.Settle(); !status.ok()) return status;
  const absl::StatusOr<JournalPlace> place = JournalPlace::Of(path);
  if (!place.ok()) return absl::IsNotFound(place.status()) ? NoLongerThere(path) : place.status();
  file.place_ = *place;
  return file;
}

// Opens the database and locks it for as long as it is open. Sets locking_mode=EXCLUSIVE before the first access, so
// that SQLite needs no shared memory (the -shm file). Fails if the file was removed while this process waited for the
// lock.
absl::Status SqliteFile::Connect() {
  sqlite3* db = nullptr;
  const int opened = sqlite3_open_v2(WithoutLinks(path_).c_str(), &db,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW, nullptr);
  db_.reset(db);
  if (opened != SQLITE_OK) return SqliteError(db, path_, "opened");
  sqlite3_extended_result_codes(db_.get(), 1);
  sqlite3_busy_timeout(db_.get(), kBusyMs);
  sqlite3_wal_autocheckpoint(db_.get(), 0);  // KeepLogShort does it, and checks the result
  for (const char* sql : {"PRAGMA locking_mode=EXCLUSIVE", "PRAGMA trusted_schema=OFF", "PRAGMA cell_size_check=ON",
                          "PRAGMA secure_delete=OFF", "PRAGMA synchronous=FULL"}) {
    if (absl::Status status = Execute(sql); !status.ok()) return status;
  }
  sqlite3_wal_hook(db_.get(), CountFrames, log_frames_.get());
  // (The first read takes the lock.)
  if (const auto tables = ReadText("SELECT count(*) FROM sqlite_schema"); !tables.ok()) return tables.status();
  int has_moved = 0;
  sqlite3_file_control(db_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &has_moved);
  return has_moved == 0 ? absl::OkStatus() : NoLongerThere(path_);
}

absl::Status SqliteFile::Create() {
  const auto words = ReadOwnerNote(path_);
  if (!words.ok()) return words.status();
  if (*words && (*words)->acknowledged > 0) {
    return DamagedJournal(path_, absl::StrCat("it is empty, but record ", (*words)->acknowledged,
                                              " was acknowledged (according to ", OwnerNotePath(path_), ")"));
  }
  const absl::StatusOr<std::string> mode = ReadText("PRAGMA journal_mode=WAL");
  if (!mode.ok()) return mode.status();
  MUSTER_CHECK(*mode == "wal", "a local file can have a write-ahead log");
  if (absl::Status status = Execute("BEGIN EXCLUSIVE"); !status.ok()) return status;
  for (const char* sql : kTables) {
    if (absl::Status status = Execute(sql); !status.ok()) return status;
  }
  const std::string fill =
      absl::StrCat("INSERT INTO meta VALUES('format', '", kJournalFormat, "'), ('id', '", NewId(), "')");
  if (absl::Status status = Execute(fill.c_str()); !status.ok()) return status;
  return Execute("COMMIT");
}

absl::Status SqliteFile::CheckSchema() {
  const absl::StatusOr<std::string> sound = ReadText("PRAGMA quick_check(1)");
  if (!sound.ok()) return sound.status();
  if (*sound != "ok") return DamagedJournal(path_, *sound);
  const absl::StatusOr<std::string> format = ReadText("SELECT value FROM meta WHERE key='format'");
  // (kInternal may mean that the table is missing. The comparison of the tables below reports that.)
  if (!format.ok() && format.status().code() != absl::StatusCode::kInternal) return format.status();
  int number = 0;
  const bool is_number = format.ok() && absl::SimpleAtoi(*format, &number) && number > 0;
  if (is_number) {
    if (absl::Status status = CheckJournalFormat(path_, number); !status.ok()) {
      sqlite3_db_config(db_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);  // leave file and log unchanged
      return status;
    }
  }
  std::string expected;
  for (const char* sql : kTables) absl::StrAppend(&expected, sql, "\n");
  const absl::StatusOr<std::string> found =
      ReadText("SELECT group_concat(sql || char(10), '') FROM (SELECT sql FROM sqlite_schema ORDER BY name)");
  if (!found.ok()) return found.status();
  if (!is_number || *found != expected) {
    return DamagedJournal(path_, "its tables are not those of a journal of ms-scheduler");
  }
  const absl::StatusOr<std::string> id = ReadText("SELECT value FROM meta WHERE key='id'");
  if (!id.ok()) return id.status();
  id_ = *id;
  const absl::StatusOr<std::string> mode = ReadText("PRAGMA journal_mode");
  if (!mode.ok()) return mode.status();
  if (*mode != "wal") return DamagedJournal(path_, "it has no write-ahead log");
  // (Fails if the file can't be written.)
  if (absl::Status status = Execute("BEGIN IMMEDIATE"); !status.ok()) return status;
  return Execute("COMMIT");
}

absl::Status SqliteFile::CheckContent(const EntryCheck& check) {
  return ReadAll([&](const JournalEntry& entry) {
    if (absl::Status status = check(path_, entry); !status.ok()) return status;
    last_sequence_ = entry.sequence;
    (entry.is_snapshot ? snapshot_bytes_ : record_bytes_) += entry.body.size();
    return absl::OkStatus();
  });
}

absl::Status SqliteFile::CheckNothingIsMissing() const {
  const auto found = ReadOwnerNote(path_);
  if (!found.ok()) return found.status();
  const std::optional<OwnerWords>& words = *found;
  if (!words || words->journal_id != id_ || words->acknowledged <= last_sequence_) return absl::OkStatus();
  const std::string note = OwnerNotePath(path_);
  return absl::DataLossError(absl::StrCat("the journal ", path_, " ends with record ", last_sequence_, ", but record ",
                                          words->acknowledged, " was acknowledged (according to ", note,
                                          "). Put the right copy in its place; or, to go on with this one, delete ",
                                          note, ": then the last ", words->acknowledged - last_sequence_,
                                          " records are lost, and agents that know of them may be refused"));
}

// Makes everything that was read durable, and writes the owner note. The records in the write-ahead log may not be on
// the disk yet: the last process may have ended before it synced them, or because a sync failed. So this writes them
// into the database, and syncs that.
absl::Status SqliteFile::Settle() {
  const int result = sqlite3_wal_checkpoint_v2(db_.get(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
  uint64_t acknowledged = last_sequence_;
  if (result != SQLITE_OK) {
    const absl::Status status = SqliteError(db_.get(), path_, "written");
    if (!absl::IsResourceExhausted(status)) return status;
    // The disk is full, so the records in the log may still not be durable. Leave the note's sequence as it was.
    const auto words = ReadOwnerNote(path_);
    acknowledged = words.ok() && *words && (*words)->journal_id == id_ ? (*words)->acknowledged : 0;
  }
  absl::StatusOr<OwnerNote> note = OwnerNote::Write(path_, id_, acknowledged);
  if (!note.ok()) return note.status();
  note_.emplace(*std::move(note));
  return absl::OkStatus();
}

absl::Status SqliteFile::ReadAll(const std::function<absl::Status(const JournalEntry&)>& take) const {
  uint64_t last = 0;
  const auto read = [&](const char* sql, bool is_snapshot) -> absl::Status {
    const Statement select = Compile(db_.get(), sql);
    if (select == nullptr) return SqliteError(db_.get(), path_, "read");
    int result = SQLITE_ROW;
    while ((result = sqlite3_step(select.get())) == SQLITE_ROW) {
      Row row = ReadRow(select.get());
      const std::string name = absl::StrCat(is_snapshot ? "the snapshot through " : "record ", row.sequence);
      if (is_snapshot && last != 0) return DamagedJournal(path_, "it has two snapshots");
      if (!is_snapshot && row.sequence != last + 1) {
        return DamagedJournal(path_, absl::StrCat("record ", last + 1, " is missing: ", name, " comes next"));
      }
      if (Checksum(row.sequence, row.body) != row.checksum) {
        return DamagedJournal(path_, absl::StrCat("the checksum of ", name, " is wrong"));
      }
      last = row.sequence;
      if (absl::Status status = take({row.sequence, is_snapshot, std::move(row.body)}); !status.ok()) return status;
    }
    return result == SQLITE_DONE ? absl::OkStatus() : SqliteError(db_.get(), path_, "read");
  };
  if (absl::Status status = read("SELECT through, checksum, body FROM snapshots ORDER BY through", true);
      !status.ok()) {
    return status;
  }
  return read("SELECT sequence, checksum, body FROM records ORDER BY sequence", false);
}

absl::Status SqliteFile::Append(const std::deque<JournalEntry>& entries) {
  absl::Status status = Execute("BEGIN IMMEDIATE");
  if (status.ok()) status = Write(entries);
  if (status.ok()) status = Execute("COMMIT");
  if (!status.ok()) {
    // After some errors, such as a full disk, SQLite has rolled back by itself.
    if (sqlite3_get_autocommit(db_.get()) == 0) sqlite3_exec(db_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
    return status;
  }
  last_sequence_ = entries.back().sequence;
  return KeepLogShort();
}

absl::Status SqliteFile::Confirm() {
  if (absl::Status status = StayInPlace(); !status.ok()) return status;
  note_->Acknowledge(last_sequence_);
  return absl::OkStatus();
}

absl::Status SqliteFile::Write(const std::deque<JournalEntry>& entries) {
  const Statement record = Compile(db_.get(), "INSERT INTO records VALUES(?, ?, ?)");
  const Statement snapshot = Compile(db_.get(), "INSERT OR REPLACE INTO snapshots VALUES(?, ?, ?)");
  const Statement drop_records = Compile(db_.get(), "DELETE FROM records WHERE sequence <= ?");
  const Statement drop_snapshots = Compile(db_.get(), "DELETE FROM snapshots WHERE through < ?");
  if (!record || !snapshot || !drop_records || !drop_snapshots) return SqliteError(db_.get(), path_, "written");
  const auto run = [&](const Statement& statement, const JournalEntry& entry, bool has_body) {
    sqlite3_reset(statement.get());
    sqlite3_bind_int64(statement.get(), 1, static_cast<sqlite3_int64>(entry.sequence));
    if (has_body) {
      sqlite3_bind_int64(statement.get(), 2, Checksum(entry.sequence, entry.body));
      sqlite3_bind_blob64(statement.get(), 3, entry.body.data(), entry.body.size(), SQLITE_STATIC);
    }
    return sqlite3_step(statement.get()) == SQLITE_DONE ? absl::OkStatus() : SqliteError(db_.get(), path_, "written");
  };
  for (const JournalEntry& entry : entries) {
    if (absl::Status status = run(entry.is_snapshot ? snapshot : record, entry, true); !status.ok()) return status;
    if (!entry.is_snapshot) continue;
    for (const Statement* drop : {&drop_records, &drop_snapshots}) {
      if (absl::Status status = run(*drop, entry, false); !status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

// Moves the write-ahead log into the database once it has kLogFrames frames. A full disk is no error here: the log only
// stays longer, and the records in it are durable.
absl::Status SqliteFile::KeepLogShort() {
  if (*log_frames_ < kLogFrames) return absl::OkStatus();
  const int result = sqlite3_wal_checkpoint_v2(db_.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  if (result == SQLITE_OK) return absl::OkStatus();
  const absl::Status status = SqliteError(db_.get(), path_, "written");
  return absl::IsResourceExhausted(status) ? absl::OkStatus() : status;
}

absl::StatusOr<std::string> SqliteFile::ReadText(const char* sql) const {
  const Statement statement = Compile(db_.get(), sql);
  if (statement == nullptr) return SqliteError(db_.get(), path_, "read");
  const int result = sqlite3_step(statement.get());
  if (result != SQLITE_ROW && result != SQLITE_DONE) return SqliteError(db_.get(), path_, "read");
  const auto* text = result == SQLITE_ROW ? sqlite3_column_text(statement.get(), 0) : nullptr;
  return text == nullptr ? "" : std::string(reinterpret_cast<const char*>(text));
}

absl::Status SqliteFile::Execute(const char* sql) {
  if (sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK) return absl::OkStatus();
  return SqliteError(db_.get(), path_, "written");
}

}  // namespace muster::scheduler
