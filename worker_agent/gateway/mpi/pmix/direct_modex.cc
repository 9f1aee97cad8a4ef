#include "worker_agent/gateway/mpi/pmix/direct_modex.h"

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
    if (!whose || !length || *length > rest.size()) return absl::InvalidArgumentError("what ranks have put is damaged");
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

// Where it can't be written, who asks is told in time.
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

}  // namespace muster::agent
