// Answers besides the store's own (job_store.h). Only "barrier" has such answers:
//
//   all participants have come                        OK, without members
//   some have not come within limit_ms                DEADLINE_EXCEEDED, with the missing ranks
//   a caller of another node, or a rank out of range  INVALID_ARGUMENT
//   the ranks disagree on the participants            INVALID_ARGUMENT, to all of them
//   the agent doesn't know the other ranks            UNIMPLEMENTED
#include "worker_agent/gateway/script_store/operations.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "worker_agent/gateway/chassis/store_answers.h"

namespace muster::script_store {
namespace {

constexpr char kKeys[] = "app/k/";
constexpr char kBarriers[] = "app/b/";

std::string Stored(const std::string& key) { return absl::StrCat(kKeys, key); }

template <typename Answer, typename ToLine>
auto Answering(Operations::Done done, ToLine to_line) {
  return [done = std::move(done), to_line](const Answer& answer) {
    const absl::Status& status = agent::StatusOf(answer);
    done(status.ok() ? to_line(answer) : ErrorLine(status));
  };
}

auto AnsweringValue(Operations::Done done) {
  return Answering<agent::StoreValue>(std::move(done),
                                      [](const agent::StoreValue& value) { return ValueLine(*value); });
}

auto AnsweringStatus(Operations::Done done) {
  return Answering<absl::Status>(std::move(done), [](const absl::Status&) { return Nothing(); });
}

JobStore::ListDone AnsweringEntries(Operations::Done done) {
  using Page = absl::StatusOr<JobStore::Listing>;
  return Answering<Page>(std::move(done), [](const Page& page) {
    JobStore::Listing listing = *page;
    for (auto& [key, value] : listing.entries) key.erase(0, sizeof(kKeys) - 1);
    return EntriesLine(listing);
  });
}

}  // namespace

Operations::Operations(JobStore& store, const Clock& clock, agent::Post post,
                       const absl::StatusOr<agent::TaskLayout>& layout)
    : store_(store),
      why_no_barriers_(layout.status()),
      layout_(layout.value_or(agent::TaskLayout())),
      barriers_(layout.ok()
                    ? std::make_unique<agent::Barriers>(store, clock, std::move(post), layout_,
                                                        agent::Barriers::Options{.prefix = kBarriers, .task = "rank"})
                    : nullptr) {}

void Operations::Tick() {
  if (barriers_ != nullptr) barriers_->Tick();
}

void Operations::Handle(const Request& request, Done done) {
  const std::string key = Stored(request.key);
  switch (request.operation) {
    case Operation::kGet:
      return store_.List(
          key, "", 1, [key, answer = AnsweringValue(std::move(done))](auto page) { answer(agent::HeldIn(page, key)); });
    case Operation::kPeek:
      return store_.Get(key, AnsweringValue(std::move(done)));
    case Operation::kWait:
      return store_.Wait(key, std::chrono::milliseconds(request.limit_ms), AnsweringValue(std::move(done)));
    case Operation::kSet:
      return store_.Set(key, request.value, request.lifetime, AnsweringStatus(std::move(done)));
    case Operation::kDelete:
      return store_.Delete(key, AnsweringStatus(std::move(done)));
    case Operation::kAdd:
      return store_.Add(
          key, request.delta, request.lifetime,
          Answering<absl::StatusOr<int64_t>>(std::move(done), [](const auto& number) { return NumberLine(*number); }));
    case Operation::kCompareAndSet:
      return store_.CompareAndSet(key, request.expected, request.value, request.lifetime,
                                  AnsweringValue(std::move(done)));
    case Operation::kList:
      return store_.List(key, request.after.empty() ? "" : Stored(request.after), 0, AnsweringEntries(std::move(done)));
    case Operation::kBarrier:
      return Arrive(request, std::move(done));
  }
}

void Operations::Arrive(const Request& request, Done done) {
  if (barriers_ == nullptr) {
    return done(ErrorLine(
        absl::UnimplementedError(absl::StrCat("barriers are not served here: ", why_no_barriers_.message()))));
  }
  if (!layout_.IsOwn(request.rank)) {
    return done(ErrorLine(absl::InvalidArgumentError(absl::StrCat("rank ", request.rank,
                                                                  " does not run on this node, which has the ranks ",
                                                                  absl::StrJoin(layout_.agents[layout_.own], ", ")))));
  }
  agent::Arrival arrival;
  arrival.name = request.key;
  arrival.counter = barriers_->CounterOf(request.key);
  arrival.tasks = request.ranks;
  arrival.limit = absl::Milliseconds(request.limit_ms);
  arrival.task = request.rank;
  barriers_->Arrive(std::move(arrival), [answer = AnsweringStatus(std::move(done))](
                                            const absl::Status& status, std::optional<int64_t>) { answer(status); });
}

}  // namespace muster::script_store
