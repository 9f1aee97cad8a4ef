// A site with a core that answers on the test's command.
#pragma once

#include <utility>
#include <vector>

#include "scheduler/http/site.h"
#include "tests/unit/common/manual_clock.h"

namespace muster::http {

class TestSite {
 public:
  explicit TestSite(Tokens tokens = {})
      : site({services, [] { return scheduler::LoopMeasures(); }, [] { return size_t{0}; }, [] { return false; }},
             HostRule({"node1"}), std::move(tokens), questions, 256) {
    clock.now.monotonic = MonotonicTime::FromNanoseconds(0);
  }

  // Gives the core's answer to the oldest open question. It also serves the site's other questions of that kind.
  void Answer(scheduler::Answer answer) {
    const auto done = std::move(asked.front().second);
    asked.erase(asked.begin());
    done(std::move(answer));
  }

  ManualClock clock;
  CountedLog counted{clock};
  scheduler::PlaintextAuthorizer authorizer;
  scheduler::ConnectionPeers peers;
  scheduler::StreamRegistry streams;
  scheduler::PendingQueries queries{64};
  scheduler::PublishedRounds rounds;
  scheduler::ReplyBudget replies{1 << 20}, store_replies{1 << 20};
  std::vector<scheduler::Event> posted;  // actions
  scheduler::ServiceContext services{.post =
                                         [this](scheduler::Event event, const std::function<void()>&) {
                                           posted.push_back(std::move(event));
                                           return true;
                                         },
                                     .clock = clock,
                                     .counted = counted,
                                     .authorizer = authorizer,
                                     .peers = peers,
                                     .streams = streams,
                                     .queries = queries,
                                     .rounds = rounds,
                                     .replies = replies,
                                     .store_replies = store_replies};
  std::vector<std::pair<scheduler::QueryRequest, std::function<void(scheduler::Answer)>>> asked;
  Questions questions{{.ask =
                           [this](scheduler::QueryRequest request, std::function<void(scheduler::Answer)> done) {
                             asked.emplace_back(std::move(request), std::move(done));
                             return absl::OkStatus();
                           },
                       .post = [](const std::function<void()>& task) { task(); },
                       .why_full = nullptr},
                      clock};
  Site site;
};

}  // namespace muster::http
