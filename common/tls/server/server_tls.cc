#include "common/tls/server/server_tls.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace muster {

absl::StatusOr<std::shared_ptr<const TlsServerContext>> ServerTls::Make() {
  return TlsServerContext::Create(store_, {.takes_nameless = options_.takes_nameless,
                                           .only_nodes = options_.only_nodes,
                                           .protocol = options_.protocol,
                                           .intermediates = &intermediates_});
}

absl::StatusOr<std::unique_ptr<ServerTls>> ServerTls::Create(const TlsStore& store, Options options,
                                                             CountedLog& counted) {
  std::unique_ptr<ServerTls> made(new ServerTls(store, std::move(options), counted));
  absl::StatusOr<std::shared_ptr<const TlsServerContext>> first = made->Make();
  if (!first.ok()) return first.status();
  MutexLock lock(made->mutex_);
  made->context_ = *std::move(first);
  return made;
}

std::shared_ptr<const TlsServerContext> ServerTls::Context() {
  MutexLock lock(mutex_);
  if (context_->IsOf(*store_.Current())) return context_;
  absl::StatusOr<std::shared_ptr<const TlsServerContext>> made = Make();
  if (made.ok()) {
    context_ = *std::move(made);
  } else {
    counted_.Note(Severity::kError, kNotServed,
                  absl::StrCat("the changed files can't be used yet, so the old certificate stays in use: ",
                               std::string(made.status().message()), "; the next connection tries again"));
  }
  return context_;
}

}  // namespace muster
