#include "common/tls/material/age_warnings.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace muster {
namespace {

constexpr absl::Duration kDay = absl::Hours(24);
constexpr absl::Duration kListWarning = absl::Hours(24 * 7);

std::string TimeLeft(absl::Duration left) {
  if (left >= 2 * kDay) return absl::StrCat(left / kDay, " days");
  if (left >= absl::Hours(2)) return absl::StrCat(left / absl::Hours(1), " hours");
  return absl::StrCat(left / absl::Minutes(1), " minutes");
}

bool IsNear(absl::Time begin, absl::Time end, absl::Duration most, absl::Time now) {
  return end - now <= std::min(most, (end - begin) / 3);
}

AgeWarning OfCertificate(const Certificate& certificate, absl::Time now) {
  const absl::Duration left = certificate.NotAfter() - now;
  const bool has_ended = left <= absl::ZeroDuration();
  const std::string state = has_ended ? "has expired" : absl::StrCat("ends in ", TimeLeft(left));
  return {absl::StrCat(certificate.Fingerprint(), has_ended ? " expired" : ""),
          absl::StrCat("the certificate ", certificate.Subject(), " ", state, ", at ", ShowTime(certificate.NotAfter()),
                       ": renew it (cert_expire_warning_time_in_day)")};
}

AgeWarning OfList(const RevocationList& list, bool serves_expired, absl::Time now) {
  const absl::Duration left = list.NextUpdate() - now;
  const bool has_ended = left <= absl::ZeroDuration();
  const std::string about = absl::StrCat("list of ", list.Issuer(), " until ", absl::ToUnixSeconds(list.NextUpdate()));
  const std::string end = absl::StrCat(", at ", ShowTime(list.NextUpdate()));
  const std::string begin = absl::StrCat("the revocation list of ", list.Issuer());
  if (has_ended) {
    return {
        about + " expired",
        absl::StrCat(begin, " has expired", end,
                     serves_expired ? "; peers are still accepted (--crl_expired=serve)"
                                    : "; peers with certificates of that issuer are refused (--crl_expired=refuse)")};
  }
  return {about,
          absl::StrCat(begin, " ends in ", TimeLeft(left), end, ": put the next one into crl_path before then; ",
                       serves_expired
                           ? "peers are still accepted after that (--crl_expired=serve)"
                           : "peers with certificates of that issuer are refused after that (--crl_expired=refuse)")};
}

}  // namespace

std::vector<AgeWarning> AgeWarnings(const std::vector<Certificate>& own, const TrustBase& trust, const AgeRules& rules,
                                    absl::Time now) {
  std::vector<AgeWarning> warnings;
  std::vector<Certificate> certificates = own;
  certificates.insert(certificates.end(), trust.authorities.begin(), trust.authorities.end());
  for (const Certificate& certificate : certificates) {
    if (IsNear(certificate.NotBefore(), certificate.NotAfter(), rules.warning_days * kDay, now)) {
      warnings.push_back(OfCertificate(certificate, now));
    }
  }
  for (const RevocationList& list : trust.lists) {
    if (list.NextUpdate() != absl::InfiniteFuture() &&
        IsNear(list.ThisUpdate(), list.NextUpdate(), kListWarning, now)) {
      warnings.push_back(OfList(list, rules.serves_expired_lists, now));
    }
  }
  return warnings;
}

}  // namespace muster
