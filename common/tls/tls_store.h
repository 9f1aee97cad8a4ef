// Loads the files of the TLS configuration, and loads them again when they change.
//
// Three parts are watched separately: the own key with its certificate, the authorities, the revocation lists. A bad
// part (half-written, key and certificate of different pairs, a list without a valid signature) is never served: its
// last good state stays, with one line in the log and the counter "tls: reload refused", until it is fixed. The same
// holds while the file system does not answer: the log has an error, the counter "tls: files do not answer" rises, and
// only the files' own thread waits for it.
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

// The state that is served at one moment. Never changes.
struct TlsState {
  uint64_t identity_generation = 0;  // rises with each change of the key or its certificate …
  uint64_t trust_generation = 0;     // … and of the trusted authorities or lists
  std::shared_ptr<const KeyMaterial> identity;
  std::vector<Certificate> own_chain;  // the identity's chain as verified, up to the authority
  std::optional<PeerName> own_name;    // none only with --tls_identity=ca-only
  std::shared_ptr<const TrustBase> trust;

  std::string AuthoritiesPem() const;
  // Returns when the first of the own chain ends: then no peer accepts the certificate any more.
  absl::Time OwnEnd() const;
  // Returns when the first of the revocation lists ends; InfiniteFuture if there is none, or none that ends.
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

  // Reads and checks everything; the error names the field, what was found and what to do. Logs a warning for anything
  // doubtful. Owns neither clock nor log.
  static absl::StatusOr<std::unique_ptr<TlsStore>> Open(Options options, const Clock& clock, CountedLog& counted);
  // Returns a store that serves `state` for ever and has no files.
  static std::unique_ptr<TlsStore> Fixed(const TlsSettings& settings, const std::string& ciphers, TlsState state,
                                         const Clock& clock, CountedLog& counted);
  ~TlsStore() { Stop(); }

  std::shared_ptr<const TlsState> Current() const;
  const TlsSettings& settings() const { return options_.settings; }
  const std::string& ciphers() const { return ciphers_; }  // for TLS 1.2; empty: the defaults
  const std::string& crl_path() const { return config_.crl_path; }
  absl::Time Now() const;

  // Checks the files once; returns true if another state is served from now on. One thread at a time.
  bool Poll();

  // Starts a thread that polls twice a second; it calls `on_change` after a change. Stop does not wait for files that
  // hang. RESOURCE_EXHAUSTED: no thread can be made.
  absl::Status Start(std::function<void()> on_change);
  void Stop();
  // Any thread: check now (SIGHUP), also files that seem not to have changed.
  void Nudge();

 private:
  // A file and its last known state. Each has its own thread to check it: one that hangs blocks no other.
  struct Watched {
    explicit Watched(FileCalls calls) : files(std::move(calls)) {}

    PatientFiles files;
    FileStamp stamp;
    std::string digest;        // SHA-256 of the bytes that were loaded last
    std::string problem;       // why they can't be loaded; empty: nothing is wrong
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
  // Checks with `state.trust`; fills in the own chain and name.
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

  // Used by the polling thread only.
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

// Returns the rules for the peers of a process that serves `state`.
PeerRules RulesOf(const TlsStore& store, const TlsState& state, PeerSide peer_is);

}  // namespace muster
