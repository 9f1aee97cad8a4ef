// Each change is sent to the store once, and the store reports its result (AgentStore::patient). If the report
// leaves open whether the change was made, the change is sent again. Each StoredValue has the unique number of its
// write. By this number a repeated write recognizes its own value, if the first try took effect after all. (An addition
// can still count twice, if another node has added to the number in between.)
#include "worker_agent/gateway/jax/key_values.h"

#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/limits.h"
#include "common/base/sha256.h"
#include "worker_agent/gateway/chassis/store_answers.h"
#include "worker_agent/gateway/chassis/store_text.h"

namespace muster::jax {
namespace {

using agent::ComesAgain;
using agent::Posted;
using agent::ReadText;
using agent::StoreValue;
using agent::WriteText;

constexpr char kKeys[] = "jax/k/";     // whole keys
constexpr char kDigests[] = "jax/h/";  // digests of longer keys
constexpr char kTexts[] = "jax/t/";
constexpr size_t kInlineBytes = kMaxStoreValueBytes - 2 * kMaxStoreKeyBytes;  // leaves room for other fields
constexpr size_t kAtOnce = 8;         // changes under way at once: together they must fit into the agent's backlog
constexpr size_t kMaxWaiting = 4096;  // changes that wait
constexpr absl::Duration kTextPatience = absl::Seconds(5);  // then reads the key again: its text may have changed

absl::Status AlreadyThere(const std::string& key) {
  return absl::AlreadyExistsError(absl::StrCat("key ", key, " already exists."));
}

absl::Status NotThere(const std::string& key) {
  return absl::NotFoundError(absl::StrCat("Config key ", key, " not found."));
}

absl::StatusOr<StoredValue> Parsed(const std::string& bytes) {
  StoredValue stored;
  if (stored.ParseFromString(bytes)) return stored;
  return absl::InternalError("the value in the job's store was not written by an agent");
}

}  // namespace

std::string NormalKey(const std::string& key) {
  return absl::StrJoin(absl::StrSplit(key, '/', absl::SkipEmpty()), "/");
}

std::string KeyValues::StoreKey(const std::string& key) {
  if (key.size() + sizeof(kKeys) <= kMaxStoreKeyBytes) return absl::StrCat(kKeys, key);
  return absl::StrCat(kDigests, absl::BytesToHexString(Sha256(key)));
}

StoredValue KeyValues::Written(const std::string& key) {
  StoredValue stored;
  if (!absl::StartsWith(StoreKey(key), kKeys)) stored.set_key(key);
  stored.set_writer(absl::StrCat(writer_, ".", ++last_));
  return stored;
}

// ---------------------------------------------------------------------------------------------------------- changing

void KeyValues::Insert(const std::string& key, const std::string& value, bool may_overwrite, Done done) {
  if (value.size() > kMaxValueBytes || key.size() > kInlineBytes / 2) {
    return done(absl::InvalidArgumentError(
        absl::StrCat("a key has ", kInlineBytes / 2, " bytes at most, and a value ", kMaxValueBytes)));
  }
  if (waiting_.size() >= kMaxWaiting || waiting_bytes_ + value.size() > kMaxStoreBytes) {
    return done(absl::ResourceExhaustedError(
        absl::StrCat(waiting_.size(), " values of ", waiting_bytes_, " bytes wait for the scheduler already")));
  }
  waiting_bytes_ += value.size();
  waiting_.push_back({key, value, may_overwrite, std::move(done)});
  BeginNext();
}

void KeyValues::BeginNext() {
  while (under_way_ < kAtOnce && !waiting_.empty()) {
    Change change = std::move(waiting_.front());
    waiting_.pop_front();
    waiting_bytes_ -= change.value.size();
    ++under_way_;
    change.done = [this, done = std::move(change.done)](absl::Status status) {
      --under_way_;
      done(std::move(status));
      BeginNext();
    };
    Begin(std::move(change));
  }
}

void KeyValues::Begin(Change change) {
  if (!change.may_overwrite) return WriteAnew(std::move(change));
  Find(change.key, [this, change](const absl::StatusOr<StoredValue>& before) {
    if (!before.ok() || before->text().empty()) return WriteAnew(change);
    Change then = change;
    then.done = [this, before = *before, done = change.done](absl::Status status) {
      if (status.ok()) DropText(before);
      done(std::move(status));
    };
    WriteAnew(std::move(then));
  });
}

void KeyValues::WriteAnew(Change change) {
  StoredValue stored = Written(change.key);
  if (change.value.size() + stored.key().size() <= kInlineBytes) {
    stored.set_value(change.value);
    return Write(change, stored);
  }
  stored.set_text(absl::StrCat(kTexts, stored.writer()));
  stored.set_bytes(change.value.size());
  const std::string value = std::exchange(change.value, "");
  WriteText(store_, stored.text(), value, Posted(post_, std::function([this, change, stored](absl::Status status) {
                                                   if (!status.ok()) return change.done(std::move(status));
                                                   Write(change, stored);
                                                 })));
}

void KeyValues::Write(const Change& change, const StoredValue& stored) {
  if (change.may_overwrite) {
    return store_.Set(StoreKey(change.key), stored.SerializeAsString(), Lifetime::kRound,
                      Posted(post_, std::function([this, change, stored](absl::Status status) {
                               if (ComesAgain(status)) return Write(change, stored);
                               change.done(std::move(status));
                             })));
  }
  Swap(change.key, std::nullopt, stored, [this, change, stored](const StoreValue& held) {
    if (!held.ok()) return change.done(held.status());
    if (*held == stored.SerializeAsString()) return change.done(absl::OkStatus());
    DropText(stored);
    change.done(AlreadyThere(change.key));
  });
}

void KeyValues::Increment(const std::string& key, int64_t by, ValueDone done) {
  TryGet(key, [this, key, by, done](const absl::StatusOr<std::string>& value) {
    if (absl::IsNotFound(value.status())) return SwapNumber(key, by, std::nullopt, done);
    if (!value.ok()) return done(value.status());
    // The expected value "" never matches. So the swap fails and returns the stored bytes exactly, with the number of
    // their write.
    SwapNumber(key, by, std::string(), done);
  });
}

// Repeats the swap until no other node has changed the value in between.
void KeyValues::SwapNumber(const std::string& key, int64_t by, std::optional<std::string> expected, ValueDone done) {
  int64_t before = 0;
  if (expected && !expected->empty()) {
    const absl::StatusOr<StoredValue> stored = Parsed(*expected);
    if (!stored.ok()) return done(stored.status());
    if (!absl::SimpleAtoi(stored->value(), &before)) {
      return done(absl::FailedPreconditionError(
          absl::StrCat("Failed to parse value \"", stored->value().substr(0, 64), "\" as an integer.")));
    }
  }
  int64_t sum = 0;
  if (__builtin_add_overflow(before, by, &sum)) {
    return done(absl::FailedPreconditionError(absl::StrCat(before, " + ", by, " goes beyond 64 bits")));
  }
  StoredValue stored = Written(key);
  stored.set_value(absl::StrCat(sum));
  Swap(key, expected, stored, [this, key, by, stored, done](const StoreValue& held) {
    if (!held.ok()) return done(held.status());
    if (*held == stored.SerializeAsString()) return done(stored.value());
    SwapNumber(key, by, *held, done);
  });
}

// Passes the key's value after the swap to `done`: it is `stored` if the swap took effect.
void KeyValues::Swap(const std::string& key, const std::optional<std::string>& expected, const StoredValue& stored,
                     JobStore::ValueDone done) {
  store_.CompareAndSet(StoreKey(key), expected, stored.SerializeAsString(), Lifetime::kRound,
                       Posted(post_, std::function([this, key, expected, stored, done](StoreValue held) {
                                if (ComesAgain(held.status())) return Swap(key, expected, stored, done);
                                done(std::move(held));
                              })));
}

void KeyValues::Delete(const std::string& key, Done done) {
  if (key.empty()) return done(absl::OkStatus());
  ListStored(key, [this, key, done](const absl::StatusOr<StoredPairs>& below) {
    if (!below.ok()) return done(below.status());
    Find(key, [this, key, below, done](const absl::StatusOr<StoredValue>& own) {
      if (own.ok()) DropText(*own);
      for (const auto& [name, stored] : *below) {
        DropText(stored);
        store_.Delete(StoreKey(name), [](const absl::Status&) {});
      }
      // The store makes changes in the order of the calls, so after this last one all are made.
      store_.Delete(StoreKey(key), Posted(post_, done));
    });
  });
}

void KeyValues::DropText(const StoredValue& stored) {
  if (!stored.text().empty()) agent::DeleteText(store_, stored.text(), agent::PiecesOf(stored.bytes()));
}

// ----------------------------------------------------------------------------------------------------------- reading

// If the text is gone, because the key was overwritten or deleted in the meantime, reads the key again.
void KeyValues::Fetch(const std::string& key, const StoredValue& stored, ValueDone done) {
  if (stored.text().empty()) return done(stored.value());
  ReadText(store_, clock_, {stored.text(), kMaxValueBytes, clock_.Read().monotonic + kTextPatience, stored.bytes()},
           Posted(post_, std::function([this, key, done](absl::StatusOr<std::string> text) {
                    if (!ComesAgain(text.status())) return done(std::move(text));
                    Find(key, [this, key, done](const absl::StatusOr<StoredValue>& now) {
                      if (!now.ok()) return done(now.status());
                      Fetch(key, *now, done);
                    });
                  })));
}

void KeyValues::Get(const std::string& key, std::function<bool()> is_wanted, ValueDone done) {
  if (!is_wanted()) return done(absl::CancelledError("the caller no longer waits"));
  store_.Wait(StoreKey(key), std::chrono::milliseconds(kMaxStoreWaitMs),
              Posted(post_, std::function([this, key, is_wanted, done](StoreValue value) {
                       if (ComesAgain(value.status()) || (value.ok() && !value->has_value())) {
                         return Get(key, is_wanted, done);
                       }
                       if (!value.ok()) return done(value.status());
                       const absl::StatusOr<StoredValue> stored = Parsed(**value);
                       if (!stored.ok()) return done(stored.status());
                       Fetch(key, *stored, [this, key, is_wanted, done](absl::StatusOr<std::string> text) {
                         if (absl::IsNotFound(text.status())) return Get(key, is_wanted, done);
                         done(std::move(text));
                       });
                     })));
}

void KeyValues::TryGet(const std::string& key, ValueDone done) {
  Find(key, [this, key, done](const absl::StatusOr<StoredValue>& stored) {
    if (!stored.ok()) return done(stored.status());
    Fetch(key, *stored, done);
  });
}

void KeyValues::Find(const std::string& key, StoredDone done) {
  const std::string store_key = StoreKey(key);
  using Page = absl::StatusOr<JobStore::Listing>;
  store_.List(store_key, "", 1, Posted(post_, std::function([this, key, store_key, done](Page page) {
                                         if (ComesAgain(page.status())) return Find(key, done);
                                         const StoreValue held = agent::HeldIn(page, store_key);
                                         if (!held.ok()) return done(held.status());
                                         if (!held->has_value()) return done(NotThere(key));
                                         done(Parsed(**held));
                                       })));
}

void KeyValues::ListPage(const std::string& prefix, const std::string& after, std::shared_ptr<JobStore::Listing> all,
                         Done done) {
  using Page = absl::StatusOr<JobStore::Listing>;
  store_.List(prefix, after, 0, Posted(post_, std::function([this, prefix, after, all, done](Page page) {
                                         if (ComesAgain(page.status())) return ListPage(prefix, after, all, done);
                                         if (!page.ok()) return done(page.status());
                                         for (auto& entry : page->entries) all->entries.push_back(std::move(entry));
                                         if (!page->has_more || page->entries.empty()) return done(absl::OkStatus());
                                         ListPage(prefix, std::string(all->entries.back().first), all, done);
                                       })));
}

void KeyValues::ListStored(const std::string& directory, StoredPairsDone done) {
  if (directory.empty()) return done(StoredPairs());
  const std::string below = absl::StrCat(directory, "/");
  const auto all = std::make_shared<JobStore::Listing>();
  const auto take = [below, all, done](const absl::Status& status) {
    if (!status.ok()) return done(status);
    StoredPairs found;
    for (const auto& [store_key, bytes] : all->entries) {
      absl::StatusOr<StoredValue> stored = Parsed(bytes);
      if (!stored.ok()) return done(stored.status());
      const std::string key = stored->key().empty() ? std::string(absl::StripPrefix(store_key, kKeys)) : stored->key();
      if (absl::StartsWith(key, below)) found.emplace_back(key, *std::move(stored));
    }
    done(std::move(found));
  };
  const auto then_digests = [this, all, take](const absl::Status& status) {
    if (!status.ok()) return take(status);
    ListPage(kDigests, "", all, take);
  };
  if (below.size() + sizeof(kKeys) > kMaxStoreKeyBytes) return then_digests(absl::OkStatus());
  ListPage(absl::StrCat(kKeys, below), "", all, then_digests);
}

void KeyValues::List(const std::string& directory, PairsDone done) {
  ListStored(directory, [this, done](absl::StatusOr<StoredPairs> found) {
    if (!found.ok()) return done(found.status());
    FetchAll(std::make_shared<StoredPairs>(*std::move(found)), std::make_shared<Pairs>(), done);
  });
}

void KeyValues::FetchAll(std::shared_ptr<StoredPairs> left, std::shared_ptr<Pairs> pairs, PairsDone done) {
  while (!left->empty() && left->front().second.text().empty()) {
    pairs->emplace_back(left->front().first, left->front().second.value());
    left->pop_front();
  }
  if (left->empty()) return done(std::move(*pairs));
  const auto [key, stored] = left->front();
  left->pop_front();
  Fetch(key, stored, [this, left, pairs, done, key = key](absl::StatusOr<std::string> value) {
    if (!value.ok() && !absl::IsNotFound(value.status())) return done(value.status());
    if (value.ok()) pairs->emplace_back(key, *std::move(value));  // otherwise it was deleted just now
    FetchAll(left, pairs, done);
  });
}

}  // namespace muster::jax
