#include "worker_agent/gateway/mpi/pmix/asked_of_agents.h"

#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/bytes.h"
#include "worker_agent/gateway/chassis/store_text.h"

namespace muster::agent {

namespace {

std::string NameOf(uint32_t agent) { return absl::StrCat("mpi/pmix/modex/", agent); }

}  // namespace

absl::StatusOr<std::string> PutBy(uint32_t rank, const std::string& bundle) {
  for (std::string_view rest = bundle; !rest.empty();) {
    const std::optional<size_t> whose = TakeLength(rest);
    const std::optional<size_t> length = TakeLength(rest);
    if (!whose || !length || *length > rest.size())
      return absl::InvalidArgumentError("the data that ranks published with PMIx_Put is damaged");
    if (*whose == rank) return std::string(rest.substr(0, *length));
    rest.remove_prefix(*length);
  }
  return absl::NotFoundError("it has put nothing");
}

DirectModex::DirectModex(const RoundLayout& layout, JobStore& store, const Clock& clock, std::shared_ptr<Poller> poller)
    : store_(store),
      clock_(clock),
      own_(layout.own),
      agent_of_(layout.size()),
      answers_(std::make_shared<Mailbox<Answer>>([poller = std::move(poller)] { poller->Wake(); })) {
  for (uint32_t agent = 0; agent < layout.agents.size(); ++agent) {
    for (const uint32_t rank : layout.agents[agent].ranks) agent_of_[rank] = agent;
  }
}

DirectModex::~DirectModex() { answers_->Close(); }

// If the data can't be written, an agent that asks for it gets an error when its time is up.
void DirectModex::Give(const std::string& bundle) {
  if (bundle.size() <= kMaxBytes) WriteText(store_, NameOf(own_), bundle, [](const absl::Status&) {});
}

void DirectModex::Ask(uint32_t rank) {
  ++asked_;
  if (rank >= agent_of_.size() || asked_ > kMaxAsked) {
    return answers_->Push({rank, absl::ResourceExhaustedError("no such rank, or too many are asked for")});
  }
  const MonotonicTime deadline = clock_.Read().monotonic + kLimit;
  ReadText(store_, clock_, {NameOf(agent_of_[rank]), kMaxBytes, deadline},
           [answers = answers_, rank](absl::StatusOr<std::string> bundle) {
             answers->Push({rank, bundle.ok() ? PutBy(rank, *bundle) : std::move(bundle)});
           });
}

std::vector<DirectModex::Answer> DirectModex::TakeAll() {
  std::vector<Answer> answers = answers_->TakeAll();
  asked_ -= answers.size();
  return answers;
}

// Requests on published names:
//
// request             call of the store                    answer
// publish             CompareAndSet, if the key is absent  OK, also if the key has the same value already
// lookup              List, which never reads a copy,      the value, or NOT_FOUND
//                     since a name may be unpublished
// unpublish           Delete                               OK, also if the key did not exist
// beyond a limit      none                                 an error, at once

PublishedNames::PublishedNames(JobStore& store, std::shared_ptr<Poller> poller)
    : store_(store), answers_(std::make_shared<Mailbox<Answer>>([poller = std::move(poller)] { poller->Wake(); })) {}

PublishedNames::~PublishedNames() { answers_->Close(); }

absl::Status PublishedNames::Check(const Request& request) const {
  if (request.name.empty() || request.name.size() > kMaxNameBytes || request.value.size() > kMaxValueBytes) {
    return absl::InvalidArgumentError("a published name or its value is too long or empty");
  }
  if (asked_ > kMaxAsked) return absl::ResourceExhaustedError("too many names are asked for at once");
  if (request.kind == Kind::kPublish && published_ >= kMaxPublished) {
    return absl::ResourceExhaustedError(absl::StrCat("more than ", kMaxPublished, " names were published here"));
  }
  return absl::OkStatus();
}

void PublishedNames::Ask(Request request) {
  ++asked_;
  if (absl::Status status = Check(request); !status.ok()) return answers_->Push({request.token, status});
  const std::string key = absl::StrCat("mpi/name/", request.name);
  const uint32_t token = request.token;
  const auto answer = [answers = answers_, token](absl::StatusOr<std::string> value) {
    answers->Push({token, std::move(value)});
  };
  switch (request.kind) {
    case Kind::kPublish:
      ++published_;
      return store_.CompareAndSet(key, std::nullopt, request.value, Lifetime::kRound,
                                  [answer, value = request.value](absl::StatusOr<std::optional<std::string>> there) {
                                    if (!there.ok()) return answer(there.status());
                                    if (*there != value)
                                      return answer(absl::AlreadyExistsError("the name is published already"));
                                    answer("");
                                  });
    case Kind::kLookup:
      return store_.List(key, "", 1, [answer, key](absl::StatusOr<JobStore::Listing> there) {
        if (!there.ok()) return answer(there.status());
        // The listing has the key itself before longer keys that begin with it.
        if (there->entries.empty() || there->entries[0].first != key) {
          return answer(absl::NotFoundError("no process has published the name"));
        }
        answer(std::move(there->entries[0].second));
      });
    case Kind::kUnpublish:
      return store_.Delete(key, [answer](absl::Status status) {
        if (!status.ok()) return answer(std::move(status));
        answer("");
      });
  }
}

std::vector<PublishedNames::Answer> PublishedNames::TakeAll() {
  std::vector<Answer> answers = answers_->TakeAll();
  asked_ -= answers.size();
  return answers;
}

}  // namespace muster::agent
