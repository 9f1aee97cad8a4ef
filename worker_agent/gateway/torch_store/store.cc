// | query | wakes these clients | errors, after which the connection is closed |
// |---|---|---|
// | SET, APPEND, MULTI_SET | those that wait for the key | the store is full |
// | COMPARE_SET | those that wait for the key, if it stores the value | the store is full |
// | ADD | those that wait for the key | the value is no number |
// | BARRIER | those that wait for the key; those at the barrier, once enough have come | the value is no number |
// | QUEUE_PUSH | the one that has waited longest for the key | the store is full |
// | GET, MULTI_GET | none | the key is missing (PyTorch 1.13; PyTorch 2 gets an empty value) |
// | WAIT | none | clients wait for too many keys |
#include "worker_agent/gateway/torch_store/store.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::torch_store {

namespace {

// Returns the memory that a wait for this name takes: the name twice, and entries of four tables.
size_t BytesOfName(const std::string& name) { return 2 * name.size() + 256; }

}  // namespace

size_t Waits::BytesOf(const std::vector<std::string>& keys) {
  size_t bytes = 0;
  for (const std::string& key : keys) bytes += BytesOfName(key);
  return bytes;
}

size_t Waits::CountOf(uint64_t client) const {
  const auto found = of_client_.find(client);
  return found == of_client_.end() ? 0 : found->second.size();
}

Waits::WaitId Waits::Begin(uint64_t client) {
  waits_[++last_id_].client = client;
  of_client_[client].push_back(last_id_);
  return last_id_;
}

Waits::Waiters& Waits::Refer(WaitId id, const std::string& name) {
  Waiters& waiters = waiters_[name];
  if (waiters.references++ == 0) waiters.name = name;
  waits_[id].names.push_back(&waiters);
  bytes_ += BytesOfName(name);
  return waiters;
}

void Waits::Add(uint64_t client, const std::vector<std::string>& keys) {
  const WaitId id = Begin(client);
  for (const std::string& key : keys) Refer(id, key).for_key.insert(id);
  waits_[id].missing_num = keys.size();
}

void Waits::AddToBarrier(uint64_t client, const std::string& key, int64_t world) {
  const WaitId id = Begin(client);
  Refer(id, key).at_barrier.emplace(world, id);
  waits_[id].missing_num = 1;
  waits_[id].world = world;
}

void Waits::End(WaitId id) {
  const auto found = waits_.find(id);
  const Wait wait = std::move(found->second);
  waits_.erase(found);
  const auto of_client = of_client_.find(wait.client);
  std::erase(of_client->second, id);
  if (of_client->second.empty()) of_client_.erase(of_client);
  for (Waiters* waiters : wait.names) {
    bytes_ -= BytesOfName(waiters->name);
    waiters->for_key.erase(id);
    waiters->at_barrier.erase({wait.world, id});
    if (--waiters->references == 0) waiters_.erase(waiters_.find(waiters->name));
  }
}

void Waits::Advance(WaitId id) {
  Wait& wait = waits_.at(id);
  if (--wait.missing_num > 0) return;
  const uint64_t client = wait.client;
  End(id);
  wake_(client);
}

void Waits::Came(const std::string& key) {
  const auto found = waiters_.find(key);
  if (found == waiters_.end()) return;
  // Moves the set out first: Advance erases the entry that `found` refers to when it ends the last wait for this key.
  for (const WaitId id : std::exchange(found->second.for_key, {})) Advance(id);
}

void Waits::CameForOne(const std::string& key) {
  const auto found = waiters_.find(key);
  if (found == waiters_.end() || found->second.for_key.empty()) return;
  const WaitId id = *found->second.for_key.begin();
  found->second.for_key.erase(id);
  Advance(id);
}

void Waits::BarrierIsAt(const std::string& key, int64_t count) {
  const auto found = waiters_.find(key);
  if (found == waiters_.end()) return;
  std::vector<WaitId> over;
  for (const auto& [world, id] : found->second.at_barrier) {
    if (world > count) break;
    over.push_back(id);
  }
  for (const WaitId id : over) Advance(id);
}

void Waits::Cancel(uint64_t client) {
  const auto found = of_client_.find(client);
  if (found == of_client_.end()) return;
  const std::vector<WaitId> ids = found->second;
  for (const WaitId id : ids) End(id);
}

namespace {

constexpr char kReady = 0;
constexpr char kNotReady = 1;
constexpr char kWaitCanceled = 1;
constexpr size_t kEntryBytes = 128;  // the approximate overhead of an entry of a map or a queue

// Parses like std::stoll: ignores any text after the number.
absl::StatusOr<int64_t> ParseNumber(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const long long number = std::strtoll(text.c_str(), &end, 10);
  if (end == text.c_str() || errno == ERANGE) {
    return absl::InvalidArgumentError("it adds to a value that is not a number");
  }
  return number;
}

// Wraps around at the ends, without undefined behaviour.
int64_t Sum(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }

}  // namespace

Store::Store(const Limits& limits, std::function<void(uint64_t client)> wake)
    : limits_(limits), waits_(std::move(wake)) {}

absl::Status Store::Apply(uint64_t client, Dialect dialect, Request request, Output& output) {
  switch (request.query) {
    case Query::kSet:
      return Set(std::move(request));
    case Query::kCompareSet:
      return CompareSet(std::move(request), output);
    case Query::kGet:
      return Get(request.keys[0], dialect, output);
    case Query::kAdd: {
      const absl::StatusOr<int64_t> sum = Add(request.keys[0], request.number);
      if (sum.ok()) output.AppendNumber(*sum);
      return sum.status();
    }
    case Query::kCheck:
      output.AppendNumber(AreThere(request.keys) ? kReady : kNotReady);
      return absl::OkStatus();
    case Query::kWait:
      return Wait(client, request, output);
    case Query::kGetNumKeys:
      output.AppendNumber(static_cast<int64_t>(values_.size()));
      return absl::OkStatus();
    case Query::kDeleteKey:
      output.AppendNumber(Delete(request.keys[0]));
      return absl::OkStatus();
    case Query::kAppend:
      return Append(std::move(request));
    case Query::kMultiGet:
      return MultiGet(request, dialect, output);
    case Query::kMultiSet:
      return MultiSet(std::move(request));
    case Query::kCancelWait:
      waits_.Cancel(client);
      output.AppendNumber(kWaitCanceled);
      return absl::OkStatus();
    case Query::kValidate:
    case Query::kPing:
      output.AppendNumber(request.nonce);
      return absl::OkStatus();
    case Query::kQueuePush:
      return Push(std::move(request));
    case Query::kQueuePop:
      Pop(request.keys[0], output);
      return absl::OkStatus();
    case Query::kQueueLen: {
      const auto queue = queues_.find(request.keys[0]);
      output.AppendNumber(static_cast<int64_t>(queue == queues_.end() ? 0 : queue->second.size()));
      return absl::OkStatus();
    }
    case Query::kListKeys:
      ListKeys(output);
      return absl::OkStatus();
    case Query::kBarrier:
      return Barrier(client, request, output);
  }
  return absl::OkStatus();
}

bool Store::IsThere(const std::string& key) const { return values_.contains(key) || queues_.contains(key); }

bool Store::AreThere(const std::vector<std::string>& keys) const {
  return std::all_of(keys.begin(), keys.end(), [this](const std::string& key) { return IsThere(key); });
}

absl::Status Store::CheckRoom(size_t more) const {
  if (stored_bytes_ + more <= limits_.stored_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the store is full: it takes ", limits_.stored_bytes >> 20,
                   " MiB; find what sets so many keys or such large values, or start with --torch_store=rank0"));
}

void Store::Put(const std::string& key, std::string text) {
  const size_t size = text.size();
  auto [entry, is_new] = values_.try_emplace(key);
  if (is_new) {
    stored_bytes_ += key.size() + kEntryBytes;
  } else {
    value_bytes_ -= entry->second->text().size();
    stored_bytes_ -= entry->second->text().size();
  }
  entry->second = std::make_shared<Value>(std::move(text), alive_bytes_);
  value_bytes_ += size;
  stored_bytes_ += size;
  waits_.Came(key);
}

absl::Status Store::Set(Request request) {
  const std::string& key = request.keys[0];
  if (absl::Status room = CheckRoom(key.size() + request.values[0].size() + kEntryBytes); !room.ok()) return room;
  Put(key, std::move(request.values[0]));
  return absl::OkStatus();
}

absl::Status Store::Append(Request request) {
  const std::string& key = request.keys[0];
  const std::string& more = request.values[0];
  if (absl::Status room = CheckRoom(key.size() + more.size() + kEntryBytes); !room.ok()) return room;
  const auto found = values_.find(key);
  if (found == values_.end()) {
    Put(key, more);
  } else if (found->second.use_count() > 1) {  // output to a client still refers to the old text
    Put(key, found->second->text() + more);
  } else {
    found->second->Append(more);
    value_bytes_ += more.size();
    stored_bytes_ += more.size();
  }
  return absl::OkStatus();
}

absl::Status Store::CompareSet(Request request, Output& output) {
  const std::string& key = request.keys[0];
  const std::string& expected = request.values[0];
  std::string& desired = request.values[1];
  const auto found = values_.find(key);
  const bool is_missing = found == values_.end();
  if (is_missing ? !expected.empty() : found->second->text() != expected) {
    if (is_missing) {
      // Like PyTorch's server, answers with the expected value although the key is missing.
      output.AppendText(expected);
    } else {
      output.AppendValue(found->second);
    }
    return absl::OkStatus();
  }
  if (absl::Status room = CheckRoom(key.size() + desired.size() + kEntryBytes); !room.ok()) return room;
  Put(key, std::move(desired));
  output.AppendValue(values_.at(key));
  return absl::OkStatus();
}

absl::Status Store::Get(const std::string& key, Dialect dialect, Output& output) const {
  const auto found = values_.find(key);
  if (found != values_.end()) {
    output.AppendValue(found->second);
  } else if (dialect == Dialect::k1) {
    return absl::NotFoundError("it asks for a key that is not there");
  } else {
    output.AppendText("");
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> Store::Add(const std::string& key, int64_t number) {
  const auto found = values_.find(key);
  if (found != values_.end()) {
    const absl::StatusOr<int64_t> present = ParseNumber(found->second->text());
    if (!present.ok()) return present.status();
    number = Sum(number, *present);
  }
  if (absl::Status room = CheckRoom(key.size() + kEntryBytes); !room.ok()) return room;
  Put(key, absl::StrCat(number));
  return number;
}

absl::Status Store::CheckWaits(uint64_t client, const std::vector<std::string>& keys) const {
  if (waits_.CountOf(client) >= kMaxWaitsOfClient) {
    return absl::ResourceExhaustedError(
        absl::StrCat("it waits for ", kMaxWaitsOfClient, " keys or barriers at once; PyTorch's client waits for one"));
  }
  if (waits_.bytes() + Waits::BytesOf(keys) <= limits_.wait_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("the keys that clients wait for take more than ",
                                                   limits_.wait_bytes >> 20, " MiB; start with --torch_store=rank0"));
}

absl::Status Store::Wait(uint64_t client, const Request& request, Output& output) {
  std::vector<std::string> missing;
  for (const std::string& key : request.keys) {
    if (!IsThere(key)) missing.push_back(key);
  }
  // Removes duplicates. A key comes only once: if it were counted twice, the wait would never end.
  std::sort(missing.begin(), missing.end());
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  if (missing.empty()) {
    output.AppendNumber(kStopWaiting);
    return absl::OkStatus();
  }
  if (absl::Status room = CheckWaits(client, missing); !room.ok()) return room;
  waits_.Add(client, missing);
  return absl::OkStatus();
}

absl::Status Store::Barrier(uint64_t client, const Request& request, Output& output) {
  const std::string& key = request.keys[0];
  if (absl::Status room = CheckWaits(client, request.keys); !room.ok()) return room;
  const absl::StatusOr<int64_t> count = Add(key, 1);
  if (!count.ok()) return count.status();
  waits_.BarrierIsAt(key, *count);
  if (*count >= request.number) {
    output.AppendNumber(kStopWaiting);
  } else {
    waits_.AddToBarrier(client, key, request.number);
  }
  return absl::OkStatus();
}

absl::Status Store::MultiGet(const Request& request, Dialect dialect, Output& output) const {
  for (const std::string& key : request.keys) {
    if (absl::Status status = Get(key, dialect, output); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Store::MultiSet(Request request) {
  size_t more = 0;
  for (const std::string& key : request.keys) more += key.size() + kEntryBytes;
  for (const std::string& value : request.values) more += value.size();
  if (absl::Status room = CheckRoom(more); !room.ok()) return room;
  for (size_t i = 0; i < request.keys.size(); ++i) Put(request.keys[i], std::move(request.values[i]));
  return absl::OkStatus();
}

absl::Status Store::Push(Request request) {
  const std::string& key = request.keys[0];
  const size_t size = request.values[0].size();
  if (absl::Status room = CheckRoom(key.size() + size + 2 * kEntryBytes); !room.ok()) return room;
  auto [queue, is_new] = queues_.try_emplace(key);
  if (is_new) stored_bytes_ += key.size() + kEntryBytes;
  queue->second.push_back(std::make_shared<Value>(std::move(request.values[0]), alive_bytes_));
  value_bytes_ += size;
  stored_bytes_ += size + kEntryBytes;
  waits_.CameForOne(key);
  return absl::OkStatus();
}

void Store::Pop(const std::string& key, Output& output) {
  const auto queue = queues_.find(key);
  if (queue == queues_.end()) return output.AppendNumber(int64_t{0});
  output.AppendNumber(static_cast<int64_t>(queue->second.size()));
  const ValuePtr first = queue->second.front();
  queue->second.pop_front();
  output.AppendValue(first);
  value_bytes_ -= first->text().size();
  stored_bytes_ -= first->text().size() + kEntryBytes;
  if (!queue->second.empty()) return;
  stored_bytes_ -= key.size() + kEntryBytes;
  queues_.erase(queue);
}

void Store::ListKeys(Output& output) const {
  output.AppendNumber(static_cast<int64_t>(values_.size()));
  for (const auto& [key, value] : values_) output.AppendText(key);
}

int64_t Store::Delete(const std::string& key) {
  const auto found = values_.find(key);
  if (found == values_.end()) return 0;
  const size_t size = found->second->text().size();
  value_bytes_ -= size;
  stored_bytes_ -= key.size() + size + kEntryBytes;
  values_.erase(found);
  return 1;
}

}  // namespace muster::torch_store
