#include "common/tls/tls_store.h"

#include <pthread.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/sha256.h"
#include "common/sys/threads.h"
#include "common/tls/material/age_warnings.h"
#include "common/tls/tls_config.h"

namespace muster {
namespace {

constexpr absl::Duration kPollInterval = absl::Milliseconds(500);
// A file system's clock ticks coarsely, so two writes within a tick leave the same stamp. So a file is read again at
// each poll until its stamp is this old.
constexpr absl::Duration kYoung = absl::Seconds(2);
constexpr absl::Duration kWarnAgain = absl::Hours(24);

// Refuses lists that are older than those in force: otherwise a certificate that was revoked since would be good again.
// A file may have several lists of one authority; the newest counts. Authorities that are no longer trusted are
// ignored.
absl::Status CheckNotOlder(const std::vector<RevocationList>& lists, const std::vector<RevocationList>& in_force,
                           const std::vector<Certificate>& authorities) {
  for (const RevocationList& other : in_force) {
    if (!other.IsByOneOf(authorities)) continue;
    const RevocationList* newest = nullptr;
    for (const RevocationList& list : lists) {
      if (list.IsOfSameAuthority(other) && (newest == nullptr || newest->IsOlderThan(list))) newest = &list;
    }
    if (newest == nullptr) {
      return absl::FailedPreconditionError(
          absl::StrCat("crl_path: the list of ", other.Issuer(),
                       " is no longer in it, but its authority is still in ca_cert_path: put the list back, or restart "
                       "this program to go on without it"));
    }
    if (newest->IsOlderThan(other)) {
      return absl::FailedPreconditionError(absl::StrCat(
          "crl_path: the list of ", newest->Issuer(), " (", newest->ShowAge(), ") is older than the one in force (",
          other.ShowAge(), "): put the newest one there, or restart this program to go back on purpose"));
    }
  }
  return absl::OkStatus();
}

// Warns early if there is no list from the issuer of an intermediate authority. Peers below that authority are refused,
// which would otherwise be noticed only at their next connection.
void WarnOfMissingLists(const TrustBase& trust) {
  if (!trust.has_lists) return;
  for (const Certificate& authority : trust.authorities) {
    const bool is_root = authority.Subject() == authority.Issuer();
    const bool has_list = std::any_of(trust.lists.begin(), trust.lists.end(),
                                      [&](const RevocationList& list) { return list.IsAbout(authority); });
    if (is_root || has_list) continue;
    Log(Severity::kWarning,
        absl::StrCat("crl_path holds no revocation list of ", authority.Issuer(), ", which issued ",
                     authority.Subject(), ": peers with certificates below that authority are refused"));
  }
}

absl::Status Prefixed(const std::string& prefix, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(prefix, status.message()));
}

}  // namespace

std::string TlsState::AuthoritiesPem() const {
  std::string pem;
  for (const Certificate& authority : trust->authorities) pem += authority.ToPem();
  return pem;
}

PeerRules RulesOf(const TlsStore& store, const TlsState& state, PeerSide peer_is) {
  PeerRules rules;
  rules.peer_is = peer_is;
  rules.needs_name = store.settings().needs_name();
  if (state.own_name.has_value()) rules.trust_domain = state.own_name->trust_domain;
  rules.serves_expired_lists = store.settings().crl_expired == "serve";
  return rules;
}

absl::Time TlsState::OwnEnd() const {
  absl::Time end = identity->leaf().NotAfter();
  for (const Certificate& certificate : own_chain) end = std::min(end, certificate.NotAfter());
  return end;
}

absl::Time TlsState::FirstListEnd() const {
  absl::Time end = absl::InfiniteFuture();
  for (const RevocationList& list : trust->lists) end = std::min(end, list.NextUpdate());
  return end;
}

absl::StatusOr<std::unique_ptr<TlsStore>> TlsStore::Open(Options options, const Clock& clock, CountedLog& counted) {
  absl::StatusOr<TlsConfig> config = ReadTlsConfig(options.settings.config);
  if (!config.ok()) return config.status();
  for (const std::string& warning : config->warnings) Log(Severity::kWarning, warning);
  std::unique_ptr<TlsStore> store(new TlsStore(std::move(options), *std::move(config), clock, counted));
  if (absl::Status status = store->LoadAll(); !status.ok()) {
    return Prefixed(absl::StrCat("tls_config ", store->config_.path, ": "), status);
  }
  return store;
}

std::unique_ptr<TlsStore> TlsStore::Fixed(const TlsSettings& settings, const std::string& ciphers, TlsState state,
                                          const Clock& clock, CountedLog& counted) {
  std::unique_ptr<TlsStore> store(new TlsStore({TlsRole::kClient, settings, {}}, TlsConfig(), clock, counted));
  store->ciphers_ = ciphers;
  store->Publish(std::move(state));
  return store;
}

absl::Time TlsStore::Now() const { return ToAbslTime(clock_.Read().wall); }

std::shared_ptr<const TlsState> TlsStore::Current() const {
  MutexLock lock(mutex_);
  return state_;
}

void TlsStore::Publish(TlsState state) {
  auto shared = std::make_shared<const TlsState>(std::move(state));
  MutexLock lock(mutex_);
  state_ = std::move(shared);
}

absl::Status TlsStore::LoadAll() {
  if (!config_.cipher_list.empty()) {
    const absl::StatusOr<CipherList> ciphers = ChooseCiphers(config_.cipher_list);
    if (!ciphers.ok()) return Prefixed("cipher_list ", ciphers.status());
    ciphers_ = ciphers->usable;
    if (!ciphers->warning.empty()) Log(Severity::kWarning, absl::StrCat("cipher_list: ", ciphers->warning));
  }
  // IsDue takes a file's stamp. Call it before the read, so that the next poll notices a write in between.
  IsDue(authorities_, {config_.ca_cert_path}, true);
  auto authorities = LoadAuthorities(authorities_.digest);
  if (!authorities.ok()) return authorities.status();
  IsDue(lists_, {config_.crl_path}, true);
  auto lists = LoadLists(*authorities, lists_.digest);
  if (!lists.ok()) return lists.status();
  TlsState state;
  state.identity_generation = state.trust_generation = 1;
  state.trust = BuildTrust(*std::move(authorities), !config_.crl_path.empty(), *std::move(lists));
  IsDue(identity_, {CertPath(), KeyPath()}, true);
  absl::StatusOr<KeyMaterial> identity = LoadIdentity(identity_.digest);
  if (!identity.ok()) return identity.status();
  if (absl::Status status = CheckOwn(*identity, state); !status.ok()) return status;
  state.identity = std::make_shared<const KeyMaterial>(*std::move(identity));
  WarnOfMissingLists(*state.trust);
  Publish(std::move(state));
  WarnOfAges();
  return absl::OkStatus();
}

absl::StatusOr<KeyMaterial> TlsStore::LoadIdentity(std::string& digest) {
  if (CertPath().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(CertField(), " is missing; expected the .p12 or PEM file with this side's certificate and key"));
  }
  const bool allows = options_.settings.allow_readable_keys;
  const auto secrecy = allows ? FileSecrecy::kPrivateReadable : FileSecrecy::kPrivate;
  // If the key has no file of its own, it is in the certificate's file, which must then be secret.
  absl::StatusOr<TlsFile> chain = identity_.files.Read(CertPath(), KeyPath().empty() ? secrecy : FileSecrecy::kPublic);
  if (!chain.ok()) return Prefixed(absl::StrCat(CertField(), ": "), chain.status());
  const absl::StatusOr<Secret> password =
      ReadPassword(options_.password, allows,
                   [this](const std::string& path, FileSecrecy wanted) { return identity_.files.Read(path, wanted); });
  if (!password.ok()) return password.status();
  const std::string where = absl::StrCat(CertField(), " ", CertPath(), ": ");
  absl::StatusOr<KeyMaterial> material = absl::InternalError("");
  if (!KeyPath().empty()) {
    absl::StatusOr<TlsFile> key = identity_.files.Read(KeyPath(), secrecy);
    if (!key.ok()) return Prefixed(absl::StrCat(CertField(), "'s key: "), key.status());
    digest = Sha256(absl::StrCat(Sha256(chain->bytes), Sha256(key->bytes)));
    material = ParsePem(chain->bytes, key->bytes, *password);
    Wipe(key->bytes);
  } else {
    digest = Sha256(chain->bytes);
    material = LooksLikePem(chain->bytes) ? ParsePem(chain->bytes, chain->bytes, *password)
                                          : ParsePkcs12(chain->bytes, *password);
  }
  Wipe(chain->bytes);
  if (material.ok()) return material;
  if (absl::IsPermissionDenied(material.status())) {
    return Prefixed(where,
                    absl::PermissionDeniedError(absl::StrCat(
                        material.status().message(), "; it comes from ", options_.password.variable,
                        options_.password.text.empty() && options_.password.file.empty() ? ", which is not set" : "")));
  }
  return Prefixed(where, material.status());
}

absl::StatusOr<std::vector<Certificate>> TlsStore::LoadAuthorities(std::string& digest) {
  const absl::StatusOr<TlsFile> file = authorities_.files.Read(config_.ca_cert_path, FileSecrecy::kPublic);
  if (!file.ok()) return Prefixed("ca_cert_path: ", file.status());
  digest = Sha256(file->bytes);
  absl::StatusOr<std::vector<Certificate>> authorities = ParseCertificates(file->bytes);
  if (!authorities.ok())
    return Prefixed(absl::StrCat("ca_cert_path ", config_.ca_cert_path, ": "), authorities.status());
  return authorities;
}

absl::StatusOr<std::vector<RevocationList>> TlsStore::LoadLists(const std::vector<Certificate>& authorities,
                                                                std::string& digest) {
  if (config_.crl_path.empty()) return std::vector<RevocationList>();
  const absl::StatusOr<TlsFile> file = lists_.files.Read(config_.crl_path, FileSecrecy::kPublic);
  if (!file.ok()) return Prefixed("crl_path: ", file.status());
  digest = Sha256(file->bytes);
  absl::StatusOr<std::vector<RevocationList>> lists = ParseRevocationLists(file->bytes, authorities, Now());
  if (!lists.ok()) return Prefixed(absl::StrCat("crl_path ", config_.crl_path, ": "), lists.status());
  return lists;
}

TlsRefusal TlsStore::ChainOfOwn(const KeyMaterial& identity, const TrustBase& trust, std::vector<Certificate>* chain) {
  const PeerSide side = options_.role == TlsRole::kServer ? PeerSide::kServer : PeerSide::kClient;
  const std::vector<Certificate> others(identity.chain.begin() + 1, identity.chain.end());
  return CheckChain(trust, side, identity.leaf(), others, Now(), chain);
}

// Refuses a certificate here that the peers would refuse, so that the user sees the reason.
absl::Status TlsStore::CheckOwn(const KeyMaterial& identity, TlsState& state) {
  const std::string where = absl::StrCat(CertField(), " ", CertPath(), ": ");
  state.own_chain.clear();
  TlsRefusal refusal = ChainOfOwn(identity, *state.trust, &state.own_chain);
  if (refusal.ok()) refusal = CheckStillGood(*state.trust, state.own_chain);
  PeerNameResult own = NameOf(identity.leaf());
  state.own_name.reset();
  if (own.refusal.ok()) state.own_name = own.name;
  if (refusal.ok() && options_.settings.needs_name()) refusal = own.refusal;
  if (refusal.ok()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(where, refusal.text));
}

bool TlsStore::IsDue(Watched& watched, const std::vector<std::string>& paths, bool is_forced) {
  FileStamp all;
  for (const std::string& path : paths) {
    if (path.empty()) continue;
    const FileStamp stamp = watched.files.Stamp(path);
    all.device = all.device * 31 + stamp.device;
    all.inode = all.inode * 31 + stamp.inode;
    all.size = all.size * 31 + stamp.size;
    all.modified_ns ^= stamp.modified_ns + 1;  // + 1, so that a missing file counts, too
    all.changed_ns = std::max(all.changed_ns, stamp.changed_ns);
  }
  // Use our own clock. The file system's clock may be another machine's and may be ahead.
  const MonotonicTime now = clock_.Read().monotonic;
  if (all != watched.stamp) watched.changed_at = now;
  const bool is_young = now - watched.changed_at < kYoung;
  const bool is_due = is_forced || is_young || !watched.problem.empty();
  watched.stamp = all;
  return is_due;
}

void TlsStore::TakeOrComplain(Watched& watched, const absl::Status& status, const std::string& what) {
  if (absl::IsCancelled(status)) return;  // Stop has ended the read: the file is not at fault
  const std::string problem = status.ok() ? "" : std::string(status.message());
  if (problem == watched.problem) return;
  if (absl::IsDeadlineExceeded(status)) {
    counted_.Note(Severity::kError, kFilesHang,
                  absl::StrCat("the ", what, " can't be checked, so the last good one stays in use: ", problem));
  } else if (!problem.empty()) {
    counted_.Note(Severity::kError, kReloadRefused,
                  absl::StrCat("the new ", what, " can't be used, so the last good one stays in use: ", problem));
  } else {
    Log(Severity::kInfo, absl::StrCat("the ", what, " is good again"));
  }
  watched.problem = problem;
}

bool TlsStore::PollTrust(bool is_forced) {
  const std::shared_ptr<const TlsState> old = Current();
  std::vector<Certificate> authorities = old->trust->authorities;
  bool has_changed = false;
  if (IsDue(authorities_, {config_.ca_cert_path}, is_forced)) {
    std::string digest;
    auto loaded = LoadAuthorities(digest);
    TakeOrComplain(authorities_, loaded.status(), "ca_cert_path");
    if (loaded.ok() && digest != authorities_.digest) {
      authorities_.digest = digest;
      authorities = *std::move(loaded);
      has_changed = true;
    }
  }
  std::vector<RevocationList> lists = old->trust->lists;
  bool have_lists_changed = false;
  if (IsDue(lists_, {config_.crl_path}, is_forced || has_changed)) {
    std::string digest;
    auto loaded = LoadLists(authorities, digest);
    const bool is_new = loaded.ok() && digest != lists_.digest;
    const absl::Status status = is_new ? CheckNotOlder(*loaded, old->trust->lists, authorities) : loaded.status();
    TakeOrComplain(lists_, status, "crl_path");
    if (status.ok() && is_new) {
      lists_.digest = digest;
      lists = *std::move(loaded);
      have_lists_changed = true;
    }
  }
  if (!has_changed && !have_lists_changed) return false;
  TlsState state = *old;
  state.trust_generation += 1;
  if (have_lists_changed) {
    size_t revoked = 0;
    for (const RevocationList& list : lists) revoked += list.size();
    Log(Severity::kInfo, absl::StrCat("crl_path: a new revocation list is in force (", revoked, " certificates)"));
  }
  if (has_changed) {
    Log(Severity::kInfo, absl::StrCat("ca_cert_path: ", authorities.size(), " authorities are trusted from now on"));
  }
  state.trust = BuildTrust(std::move(authorities), !config_.crl_path.empty(), std::move(lists));
  if (std::vector<Certificate> chain; ChainOfOwn(*state.identity, *state.trust, &chain).ok()) {
    state.own_chain = std::move(chain);  // the chain may now lead to renewed authorities
  }
  Publish(std::move(state));
  return true;
}

bool TlsStore::PollIdentity(bool is_forced, bool has_trust_changed) {
  // A certificate that was not issued by the old authorities may be issued by the new ones.
  if (!IsDue(identity_, {CertPath(), KeyPath()}, is_forced || (has_trust_changed && !identity_.problem.empty()))) {
    return false;
  }
  TlsState state = *Current();
  std::string digest;
  absl::StatusOr<KeyMaterial> loaded = LoadIdentity(digest);
  absl::Status status = loaded.status();
  const bool is_new = loaded.ok() && digest != identity_.digest;
  if (is_new) {
    status = CheckOwn(*loaded, state);
    // The name must not change: peers know us by it, and our rights depend on it.
    if (status.ok() && options_.settings.needs_name() && state.own_name != Current()->own_name) {
      status = absl::FailedPreconditionError(
          absl::StrCat(CertField(), " ", CertPath(),
                       ": its URI name differs from the one before: restart this program to change the name"));
    }
  }
  TakeOrComplain(identity_, status, CertField());
  if (!status.ok() || !is_new) return false;
  identity_.digest = digest;
  state.identity_generation += 1;
  state.identity = std::make_shared<const KeyMaterial>(*std::move(loaded));
  Log(Severity::kInfo,
      absl::StrCat(CertField(), ": a new certificate is served, valid until ", ShowTime(state.OwnEnd())));
  Publish(std::move(state));
  return true;
}

bool TlsStore::Poll() {
  bool is_forced = false;
  {
    MutexLock lock(mutex_);
    is_forced = std::exchange(is_nudged_, false);
  }
  const bool has_trust_changed = PollTrust(is_forced);
  const bool has_identity_changed = PollIdentity(is_forced, has_trust_changed);
  WarnOfAges();
  return has_trust_changed || has_identity_changed;
}

void TlsStore::WarnOfAges() {
  const std::shared_ptr<const TlsState> state = Current();
  const MonotonicTime now = clock_.Read().monotonic;
  for (auto it = warned_.begin(); it != warned_.end();) {
    it = now - it->second < kWarnAgain ? std::next(it) : warned_.erase(it);
  }
  const AgeRules rules{config_.warning_days, options_.settings.crl_expired == "serve"};
  for (const AgeWarning& warning : AgeWarnings(state->own_chain, *state->trust, rules, Now())) {
    if (warned_.emplace(warning.about, now).second) Log(Severity::kWarning, warning.text);
  }
}

absl::Status TlsStore::Start(std::function<void()> on_change) {
  on_change_ = std::move(on_change);
  for (Watched* watched : {&identity_, &authorities_, &lists_}) {
    if (absl::Status status = watched->files.BeginPatience(); !status.ok()) return status;
  }
  absl::StatusOr<std::thread> thread = TryThread([this] { Run(); });
  if (!thread.ok()) return thread.status();
  thread_ = *std::move(thread);
  return absl::OkStatus();
}

void TlsStore::Run() {
  pthread_setname_np(pthread_self(), "ms-tls");
  while (true) {
    {
      MutexLock lock(mutex_);
      if (!is_stopping_ && !is_nudged_) wake_.WaitFor(mutex_, kPollInterval);
      if (is_stopping_) return;
    }
    if (Poll()) on_change_();
  }
}

void TlsStore::Stop() {
  {
    MutexLock lock(mutex_);
    is_stopping_ = true;
    wake_.NotifyAll();
  }
  for (Watched* watched : {&identity_, &authorities_, &lists_}) watched->files.GiveUp();
  if (thread_.joinable()) thread_.join();
}

void TlsStore::Nudge() {
  MutexLock lock(mutex_);
  is_nudged_ = true;
  wake_.NotifyAll();
}

}  // namespace muster
