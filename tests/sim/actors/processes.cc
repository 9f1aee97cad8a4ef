#include "tests/sim/actors/processes.h"

#include <utility>

namespace muster::sim {
namespace {

constexpr double kPeerFails = 0.7;

}  // namespace

void Processes::Begin(const PlaceName& place, uint64_t incarnation, Fail fail) {
  for (const auto& [other, live] : alive_) {
    // A round begins only after all processes of the round before have ended.
    sim_.Expect(other.run != place.run || other.round == place.round,
                absl::StrCat(place.Text(), " starts while ", other.Text(), " lives"));
  }
  for (const auto& [other, owner] : descendants_) {
    sim_.Expect(other.run != place.run || (other.round == place.round && other != place),
                absl::StrCat(place.Text(), " starts while a descendant of ", other.Text(), " lives"));
  }
  const auto [it, is_new] = alive_.try_emplace(place, Live{incarnation, std::move(fail)});
  sim_.Expect(is_new, absl::StrCat("two live processes are ", place.Text(), ", of incarnations ",
                                   it->second.incarnation, " and ", incarnation));
}

void Processes::End(const PlaceName& place, ExitStatus death, bool is_stop) {
  alive_.erase(place);
  deaths_.insert({place, death});
  if (is_stop || death.IsSuccess()) return;
  for (const auto& [other, live] : alive_) {
    if (other.run != place.run || other.round != place.round || !random_.Chance(kPeerFails)) continue;
    const absl::Duration delay = random_.Between(absl::Milliseconds(5), absl::Seconds(random_.Chance(0.5) ? 1 : 6));
    sim_.timeline.After(delay, [fail = live.fail] { fail(1); });
  }
}

void Processes::BeginDescendant(const PlaceName& place, uint64_t incarnation) {
  descendants_.insert({place, incarnation});
}

bool Processes::IsAnyAlive(uint64_t incarnation) const {
  for (const auto& [place, live] : alive_) {
    if (live.incarnation == incarnation) return true;
  }
  for (const auto& [place, owner] : descendants_) {
    if (owner == incarnation) return true;
  }
  return false;
}

bool Processes::HasDied(const PlaceName& place, ExitStatus death) const { return deaths_.contains({place, death}); }

std::string Processes::Text() const {
  std::string text;
  for (const auto& [place, live] : alive_) absl::StrAppend(&text, place.Text(), " ");
  for (const auto& [place, owner] : descendants_) absl::StrAppend(&text, "a descendant of ", place.Text(), " ");
  return text;
}

}  // namespace muster::sim
