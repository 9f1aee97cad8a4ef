// asked               store                        answer
// publish             CompareAndSet, if not there  OK; also where the same value is there already
// lookup              List, which is never of a    the value, or NOT_FOUND
//                     copy: it may be taken back
// unpublish           Delete                       OK, whether it was there or not
// beyond a limit      nothing                      at once
#include "worker_agent/gateway/mpi/published_names.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::agent {

PublishedNames::PublishedNames(JobStore& store, std::shared_ptr<Poller> poller)
    : store_(store), answers_(std::make_shared<Mailbox<Answer>>([poller = std::move(poller)] { poller->Wake(); })) {}

PublishedNames::~PublishedNames() { answers_->Close(); }

absl::Status PublishedNames::Check(const Request& request) const {
  if (request.name.empty() || request.name.size() > kMaxNameBytes || request.value.size() > kMaxValueBytes) {
    return absl::InvalidArgumentError("a name, or what is published under it, is too long or empty");
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
        // The key comes before all that begin with it.
        if (there->entries.empty() || there->entries[0].first != key) {
          return answer(absl::NotFoundError("nobody has published the name"));
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
