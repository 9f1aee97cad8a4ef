// The files of the TLS configuration, loaded, and loaded again when they change.
//
// Three parts are watched for themselves: the own key with its certificate, the authorities, the revocation lists. A
// part that can't be taken (half-written, key and certificate of different pairs, a list that nobody signed) is never
// served: its last good state stays, with one line in the log and the counter "tls: reload refused", until it is
// mended. So it is while the file system does not answer: the log has an error, the counter "tls: files do not answer"
// rises, and nothing waits for it but the files' own thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/sys/log.h"
#include "common/tls/material/key_material.h"
#include "common/tls/material/tls_file.h"
#include "common/tls/peer/peer_check.h"
#include "common/tls/tls_config.h"
#include "common/tls/tls_settings.h"

namespace muster {

inline constexpr char kReloadRefused[] = "tls: reload refused";
inline constexpr char kFilesHang[] = "tls: files do not answer";

// What is served at one moment. Never changed.
struct TlsState {
  uint64_t identity_generation = 0;  // rises with each change of the key or its certificate …
  uint64_t trust_generation = 0;     // … and of whom we trust
  std::shared_ptr<const KeyMaterial> identity;
  std::vector<Certificate> own_chain;  // of the identity as it was verified, up to the authority
  std::optional<PeerName> own_name;    // none only with --tls_identity=ca-only
  std::shared_ptr<const TrustBase> trust;

  std::string AuthoritiesPem() const;
  // When the first of the own chain ends: then no peer takes the certificate any more.
  absl::Time OwnEnd() const;
  // When the first of the revocation lists ends; InfiniteFuture: there is none, or none that ends.
  absl::Time FirstListEnd() const;
};

class TlsStore {
 public:
  struct Options {
    TlsRole role = TlsRole::kServer;
    TlsSettings settings;
    PasswordSource password;
    FileCalls files = {};
  };

  // Reads and checks everything; the error names the field, what was found and what to do. Warns (log) of what is
  // doubtful. Neither clock nor log is owned.
  static absl::StatusOr<std::unique_ptr<TlsStore>> Open(Options options, const Clock& clock, CountedLog& counted);
  // Serves `state` for ever and knows no files.
  static std::unique_ptr<TlsStore> Fixed(const TlsSettings& settings, const std::string& ciphers, TlsState state,
                                         const Clock& clock, CountedLog& counted);
  ~TlsStore() { Stop(); }

  std::shared_ptr<const TlsState> Current() const;
  const TlsSettings& settings() const { return options_.settings; }
  const std::string& ciphers() const { return ciphers_; }  // for TLS 1.2; empty: the defaults
  const std::string& crl_path() const { return config_.crl_path; }
  absl::Time Now() const;

  // One look at the files; true if something else is served from now on. One thread at a time.
  bool Poll();

  // A thread that polls twice a second; `on_change` is called by it after a change. Stop does not wait for files that
  // hang. RESOURCE_EXHAUSTED: there is no thread to be had.
  absl::Status Start(std::function<void()> on_change);
  void Stop();
  // Any thread: look now (SIGHUP), also at files that seem not to have changed.
  void Nudge();

 private:
  // A file and what is known of it. Each has a thread of its own to look at it: one that hangs holds up no other.
  struct Watched {
    explicit Watched(FileCalls calls) : files(std::move(calls)) {}

    PatientFiles files;
    FileStamp stamp;
    std::string digest;        // SHA-256 of the bytes that were taken last
    std::string problem;       // why they can't be taken; empty: nothing is wrong
    MonotonicTime changed_at;  // when the stamp was first seen
  };

  TlsStore(Options options, TlsConfig config, const Clock& clock, CountedLog& counted)
      : options_(std::move(options)),
        config_(std::move(config)),
        clock_(clock),
        counted_(counted),
        identity_(options_.files),
        authorities_(options_.files),
        lists_(options_.files) {}

  absl::Status LoadAll();
  absl::StatusOr<KeyMaterial> LoadIdentity(std::string& digest);
  absl::StatusOr<std::vector<Certificate>> LoadAuthorities(std::string& digest);
  absl::StatusOr<std::vector<RevocationList>> LoadLists(const std::vector<Certificate>& authorities,
                                                        std::string& digest);
  TlsRefusal ChainOfOwn(const KeyMaterial& identity, const TrustBase& trust, std::vector<Certificate>* chain);
  // With `state.trust`; fills in the own chain and name.
  absl::Status CheckOwn(const KeyMaterial& identity, TlsState& state);
  bool PollIdentity(bool is_forced, bool has_trust_changed);
  bool PollTrust(bool is_forced);
  bool IsDue(Watched& watched, const std::vector<std::string>& paths, bool is_forced);
  void TakeOrComplain(Watched& watched, const absl::Status& status, const std::string& what);
  void Publish(TlsState state);
  void WarnOfAges();
  void Run();

  std::string CertField() const { return options_.role == TlsRole::kServer ? "server_cert_path" : "client_cert_path"; }
  const std::string& CertPath() const {
    return options_.role == TlsRole::kServer ? config_.server_cert_path : config_.client_cert_path;
  }
  const std::string& KeyPath() const {
    return options_.role == TlsRole::kServer ? config_.server_key_path : config_.client_key_path;
  }

  const Options options_;
  const TlsConfig config_;
  const Clock& clock_;
  CountedLog& counted_;
  std::string ciphers_;

  // Of the polling thread.
  Watched identity_, authorities_, lists_;
  std::map<std::string, MonotonicTime> warned_;
  std::function<void()> on_change_;

  mutable Mutex mutex_;
  CondVar wake_;
  std::shared_ptr<const TlsState> state_ ABSL_GUARDED_BY(mutex_);
  bool is_nudged_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// How a peer is judged by whoever serves `state`.
PeerRules RulesOf(const TlsStore& store, const TlsState& state, PeerSide peer_is);

}  // namespace muster
