#include "tests/golden/player.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/golden/events.h"
#include "tests/golden/printer.h"

namespace muster::golden {
namespace {

constexpr char kClusterId[] = "cluster-1";
constexpr int64_t kUnixMs = 1'700'000'000'000;
constexpr int kMaxTicks = 1000;  // keeps a deadline that is never moved from hanging the test

}  // namespace

// Monotonic time does not begin with 0, as on a machine that has been up for some time.
Now Player::NowAt() const {
  return Now{MonotonicTime::FromNanoseconds(5'000'000'000) + now_, WallTime{kUnixMs + absl::ToInt64Milliseconds(now_)}};
}

std::vector<std::string> Player::Do(Command command) {
  std::vector<std::string> lines;
  if (command.verb() == "options") {
    lines = Begin(command);
  } else if (core_ == nullptr) {
    problems_.push_back("a script begins with options");
    return lines;
  } else if (command.verb() == "at") {
    lines = MoveTo(ParseSeconds(command.Word(0)));
  } else if (command.verb() == "restart") {
    lines = Restart();
  } else {
    if (command.verb() == "late") now_ += ParseSeconds(command.Word(0));  // without a tick in that time
    const auto event = ParseEvent(command, kClusterId, query_);
    if (!event) {
      problems_.push_back(absl::StrCat("no such command: ", command.verb()));
    } else {
      if (const auto* join = std::get_if<scheduler::JoinRequested>(&*event)) open_.insert(join->stream);
      if (const auto* close = std::get_if<scheduler::StreamClosed>(&*event)) open_.erase(close->stream);
      lines = Apply(*event);
    }
  }
  if (const std::string unread = command.Unread(); !unread.empty()) {
    problems_.push_back(absl::StrCat(command.verb(), " does not know:", unread));
  }
  return lines;
}

std::vector<std::string> Player::Begin(Command& command) {
  options_ = ParseOptions(command);
  core_ = std::make_unique<scheduler::Core>(options_, kClusterId);
  const scheduler::Effects effects = core_->Start(NowAt());
  Check(effects);
  return Print(effects);
}

// The scheduler dies and comes back with what it had persisted. All streams are gone.
std::vector<std::string> Player::Restart() {
  open_.clear();
  core_ = std::make_unique<scheduler::Core>(options_, "cluster-2");
  for (const v1::Record& record : records_) core_->Recover(record);
  const scheduler::Effects effects = core_->Start(NowAt());
  Check(effects);
  return Print(effects);
}

std::vector<std::string> Player::MoveTo(absl::Duration when) {
  if (when < now_) problems_.push_back("time moves backwards");
  std::vector<std::string> lines;
  const MonotonicTime target = NowAt().monotonic + (when - now_);
  int ticks = 0;
  while (core_->NextDeadline() <= target) {
    if (++ticks > kMaxTicks) {
      problems_.push_back("deadlines never end");
      break;
    }
    now_ += std::max(core_->NextDeadline() - NowAt().monotonic, absl::ZeroDuration());
    std::vector<std::string> reaction = Apply(scheduler::Tick{});
    if (reaction.empty()) continue;
    lines.push_back(absl::StrFormat("%.3f:", absl::ToDoubleSeconds(now_)));
    for (std::string& line : reaction) lines.push_back(std::move(line));
  }
  now_ = std::max(now_, when);
  return lines;
}

std::vector<std::string> Player::Apply(const scheduler::Event& event) {
  const scheduler::Effects effects = core_->Apply(event, NowAt());
  Check(effects);
  return Print(effects);
}

void Player::Check(const scheduler::Effects& effects) {
  for (const scheduler::Effect& effect : effects) {
    if (const auto* persist = std::get_if<scheduler::Persist>(&effect)) records_.push_back(persist->record);
    if (const auto* send = std::get_if<scheduler::Send>(&effect)) {
      if (!open_.contains(send->stream)) problems_.push_back(absl::StrCat("a message on closed stream ", send->stream));
      if (send->message->term() < term_) problems_.push_back("the term fell");
      term_ = send->message->term();
    }
    if (const auto* close = std::get_if<scheduler::CloseStream>(&effect)) {
      if (open_.erase(close->stream) == 0) problems_.push_back(absl::StrCat("stream ", close->stream, " closed twice"));
    }
  }
  core_->CheckInvariants();
  scheduler::Core second(options_, "cluster-3");
  for (const v1::Record& record : records_) second.Recover(record);
  if (second.DebugState() != core_->DebugState()) {
    problems_.push_back(absl::StrCat("recovered state:\n", second.DebugState(), "live state:\n", core_->DebugState()));
  }
  scheduler::Core third(options_, "cluster-4");
  third.Recover(core_->TakeSnapshot());
  // The text leaves out fields that are for display only; the bytes include them.
  if (third.TakeSnapshot().snapshot().SerializeAsString() != core_->TakeSnapshot().snapshot().SerializeAsString() ||
      second.TakeSnapshot().snapshot().SerializeAsString() != core_->TakeSnapshot().snapshot().SerializeAsString()) {
    problems_.push_back(absl::StrCat("the snapshot's state:\n", third.DebugState(), "live:\n", core_->DebugState()));
  }
}

}  // namespace muster::golden
