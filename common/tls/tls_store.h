// Loads the files of the TLS configuration, and loads them again when they change.
//
// Three parts are watched separately: our own key with its certificate, the authorities, and the revocation lists. A
// bad part is never served, for example a half-written file, a key that doesn't belong to the certificate, or a list
// without a valid signature. Until it is fixed, the part's last good state stays in use, the log has one line about it,
// and the counter "tls: reload refused" rises. The same happens while the file system does not answer, except that the
// counter is "tls: files do not answer". Only the part's own thread waits for the file system.
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

// The state that is served at one moment. It never changes.
struct TlsState {
  uint64_t identity_generation = 0;  // rises with each change of the key or its certificate
  uint64_t trust_generation = 0;     // rises with each change of the trusted authorities or revocation lists
  std::shared_ptr<const KeyMaterial> identity;
  std::vector<Certificate> own_chain;  // the verified chain of `identity`, up to the authority
  std::optional<PeerName> own_name;    // none only with --tls_identity=ca-only
  std::shared_ptr<const TrustBase> trust;

  std::string AuthoritiesPem() const;
  // Returns when the first certificate of our own chain ends. After that no peer accepts our certificate.
  absl::Time OwnEnd() const;
  // Returns when the first revocation list ends; InfiniteFuture if there is no list, or if no list ends.
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

  // Reads and checks all files. The error names the field, what was found and what to do. Logs a warning about anything
  // doubtful. `clock` and `counted` must outlive the store.
  static absl::StatusOr<std::unique_ptr<TlsStore>> Open(Options options, const Clock& clock, CountedLog& counted);
  // Returns a store that always serves `state` and has no files.
  static std::unique_ptr<TlsStore> Fixed(const TlsSettings& settings, const std::string& ciphers, TlsState state,
                                         const Clock& clock, CountedLog& counted);
  ~TlsStore() { Stop(); }

  std::shared_ptr<const TlsState> Current() const;
  const TlsSettings& settings() const { return options_.settings; }
  const std::string& ciphers() const { return ciphers_; }  // for TLS 1.2; empty: the defaults
  const std::string& crl_path() const { return config_.crl_path; }
  absl::Time Now() const;

  // Checks the files once. Returns true if the served state has changed. For one thread at a time.
  bool Poll();

  // Starts a thread that polls twice a second, and calls `on_change` after each change. Stop does not wait for files
  // that hang. RESOURCE_EXHAUSTED: no thread can be made.
  absl::Status Start(std::function<void()> on_change);
  void Stop();
  // Makes the thread check all files now (for SIGHUP), even those that seem unchanged. May be called by any thread.
  void Nudge();

 private:
  // A watched part: its files and their last known state. Each part has its own thread for file access, so that a file
  // that hangs blocks no other part.
  struct Watched {
    explicit Watched(FileCalls calls) : files(std::move(calls)) {}

    PatientFiles files;
    FileStamp stamp;
    std::string digest;        // SHA-256 of the last bytes that were loaded
    std::string problem;       // why the part can't be loaded; empty: there is no problem
    MonotonicTime changed_at;  // when we first saw the present stamp
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
  // Checks our own certificate with `state.trust`, and fills in the own chain and name.
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

  // Used only by the polling thread.
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

// Returns the rules for checking the peers of a process that serves `state`.
PeerRules RulesOf(const TlsStore& store, const TlsState& state, PeerSide peer_is);

}  // namespace muster
