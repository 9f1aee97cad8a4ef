#include "common/tls/grpc/client_tls.h"

#include <utility>

#include "common/base/clock.h"
#include "common/net/net.h"
#include "common/tls/grpc/credentials.h"
#include "common/tls/plaintext.h"

namespace muster {

absl::StatusOr<std::shared_ptr<TlsStore>> OpenClientTls(const TlsSettings& settings, const PasswordSource& password,
                                                        const std::string& host, CountedLog& counted) {
  if (!settings.is_on()) {
    if (!settings.require_tls) return std::shared_ptr<TlsStore>();
    const auto addresses = ResolveHost(host);
    if (!addresses.ok()) return std::shared_ptr<TlsStore>();
    if (absl::Status status = CheckPlaintext(host, *addresses); !status.ok()) return status;
    return std::shared_ptr<TlsStore>();
  }
  ForbidCoreDumps();
  absl::StatusOr<std::unique_ptr<TlsStore>> store =
      TlsStore::Open({TlsRole::kClient, settings, password}, Clock::System(), counted);
  if (!store.ok()) return store.status();
  SetGrpcCiphers((*store)->ciphers());
  if (!settings.needs_name()) {
    Log(Severity::kWarning,
        "--tls_identity=ca-only: any certificate of the authority is accepted as the scheduler's, with any name");
  }
  return std::shared_ptr<TlsStore>(*std::move(store));
}

}  // namespace muster
