// The folder of a certificate authority and of what it issued:
//
//   ca.pem, ca.key      the authority's certificate and key (the key unencrypted, mode 0600)
//   crl.pem             the latest revocation list
//   index.json          what was issued and revoked (see index.h)
//   lock                held while something is written
//   <name>/             for each name, ready to be copied to its machine: tls.json, ca.pem, crl.pem, and either
//   cert.pem
//                       (certificate and key) or server.p12 and client.p12
//
// The folders are 0700, files with a key 0600. Every file is replaced by renaming. A certificate is in the index before
// its file exists, and a revocation before its list, the copies before crl.pem, so that after a crash nothing is good
// that the index doesn't know, and the same command again completes the work.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/unique_fd.h"
#include "ctl/certs/authority.h"
#include "ctl/certs/index.h"
#include "ctl/certs/password.h"

namespace muster::certs {

struct Lifetimes {
  absl::Duration certificate = absl::Hours(24) * 365;
  absl::Duration list = absl::Hours(24) * 400;
};

class CertFolder {
 public:
  // Makes the folder, or fills an empty one. kAlreadyExists: it is not empty.
  static absl::StatusOr<CertFolder> Create(const std::string& path, const std::string& trust_domain, absl::Time now,
                                           absl::Duration authority_lifetime, const Lifetimes& lifetimes);
  // Opens the folder for reading, which needs neither the lock nor the authority's key.
  static absl::StatusOr<CertFolder> OpenToRead(const std::string& path);
  // Opens the folder for signing. Waits up to 10 s for the lock and holds it as long as it lives. Fails if the
  // authority has expired.
  static absl::StatusOr<CertFolder> OpenToSign(const std::string& path, absl::Time now);

  const std::string& path() const { return path_; }
  const Index& index() const { return index_; }
  absl::Time authority_not_after() const { return authority_not_after_; }
  absl::Time list_next_update() const { return list_next_update_; }
  // A notice for the user, or empty. If crl.pem has more than the index, as after the index came from a backup, its
  // number and revocations count, and the next write puts them into the index. It may also have less, after a command
  // was interrupted.
  const std::string& notice() const { return notice_; }

  // Settles what an interrupted command has left of that name. Revokes each certificate that is not complete in the
  // folder. Signs the list for that, and if it lacks what the index has. Returns the serial numbers of the revoked
  // ones. A file under other passwords than these is taken to be complete. Needs OpenToSign.
  absl::StatusOr<std::vector<std::string>> SettleUnfinished(const std::string& name, const Passwords& passwords,
                                                            absl::Time now, const Lifetimes& lifetimes);

  // Issues a certificate and writes the subject's folder. Signs the list again if it would end before the certificate.
  // kP12 needs a password; see password.h for which one protects which file. Needs OpenToSign.
  absl::StatusOr<IndexEntry> Issue(const Subject& subject, Form form, const Passwords& passwords, absl::Time now,
                                   const Lifetimes& lifetimes);

  // Revokes those of the serial numbers that are not revoked yet, and signs a new list. Needs OpenToSign.
  absl::Status Revoke(const std::vector<std::string>& serials, const std::string& reason, absl::Time now,
                      const Lifetimes& lifetimes);

  // Signs a new list of the same revocations, in the folder and in each name's copy. Needs OpenToSign.
  absl::Status RenewList(absl::Time now, const Lifetimes& lifetimes);

 private:
  explicit CertFolder(std::string path) : path_(std::move(path)) {}
  absl::Status Load();
  void TakeOver(const SignedList& list);
  bool HasInFolder(const IndexEntry& entry, const Passwords& passwords) const;
  absl::Status TakeLock();
  absl::Status WriteIndex() const;
  absl::Status WriteCertificate(const IndexEntry& entry, const Issued& issued, const Passwords& passwords) const;
  std::string In(const std::string& name) const { return path_ + "/" + name; }

  std::string path_;
  UniqueFd lock_;
  Index index_;
  std::vector<Authority> authority_;  // one, or none if opened to read
  absl::Time authority_not_after_;
  absl::Time list_next_update_;
  bool list_is_behind_ = false;  // crl.pem lacks what the index has, or can't be read
  std::string notice_;
};

// Returns tls.json for that kind and form: MindSpore's members, paths relative to the file's own folder.
std::string TlsConfigText(Kind kind, Form form);

}  // namespace muster::certs
