// Answers:
//
//   PUT      the value is stored                             200
//            too many scopes or keys, or the store is full   507
//            the store doesn't answer                        503
//   GET      the key exists                                  200 and its value
//            the key does not come within kHold              404
//            the value is incomplete                         500
//            the round is over, or the store has failed      503
//   DELETE                                                   200
#include "worker_agent/gateway/horovod/rendezvous.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "worker_agent/gateway/chassis/store_text.h"

namespace muster::horovod {
namespace {

constexpr absl::Duration kHold = absl::Milliseconds(500);

int StatusOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return 200;
    case absl::StatusCode::kDeadlineExceeded:
      return 404;
    case absl::StatusCode::kInvalidArgument:
      return 500;
    case absl::StatusCode::kResourceExhausted:
      return 507;
    default:
      return 503;
  }
}

}  // namespace

std::string Rendezvous::NameOf(const Request& request, uint64_t generation) {
  return absl::StrCat("horovod/", generation, "/", request.scope, "/", request.key);
}

void Rendezvous::Handle(uint32_t slot, const Request& request, Done done) {
  const auto key = std::make_pair(slot, request.scope);
  const auto found = scopes_.find(key);
  if (request.method == Request::Method::kGet) {
    return Get(NameOf(request, found == scopes_.end() ? 0 : found->second.generation), std::move(done));
  }
  if (found == scopes_.end() && scopes_of_[slot] >= kMaxScopes) return done({507, ""});
  if (found == scopes_.end()) ++scopes_of_[slot];
  Scope& scope = scopes_[key];
  if (request.method == Request::Method::kPut) return Put(scope, request, std::move(done));
  Finish(scope, request);
  done({200, ""});
}

void Rendezvous::Get(const std::string& name, Done done) const {
  agent::ReadText(store_, clock_, {name, kMaxBodyBytes, clock_.Read().monotonic + kHold},
                  [done = std::move(done)](absl::StatusOr<std::string> text) {
                    if (text.ok()) return done({200, *std::move(text)});
                    done({StatusOf(text.status()), ""});
                  });
}

void Rendezvous::Put(Scope& scope, const Request& request, Done done) {
  if (!scope.written.contains(request.key) && scope.written.size() >= kMaxKeys) return done({507, ""});
  size_t& pieces = scope.written[request.key];
  pieces = std::max(pieces, agent::PiecesOf(request.body.size()));
  agent::WriteText(store_, NameOf(request, scope.generation), request.body,
                   [done = std::move(done)](const absl::Status& status) {
                     done({StatusOf(status), ""});
                   });
}

void Rendezvous::Finish(Scope& scope, const Request& request) const {
  Request old = {Request::Method::kDelete, request.scope, "", ""};
  for (const auto& [key, pieces] : scope.before) {
    old.key = key;
    agent::DeleteText(store_, NameOf(old, scope.generation - 1), pieces);
  }
  scope.before = std::exchange(scope.written, {});
  ++scope.generation;
}

}  // namespace muster::horovod
