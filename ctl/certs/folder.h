// The folder of a certificate authority, with everything that it has issued:
//
//   ca.pem, ca.key      the authority's certificate and key (the key unencrypted, mode 0600)
//   crl.pem             the latest revocation list
//   index.json          the list of all issued and revoked certificates (see index.h)
//   lock                locked while a command writes
//   <name>/             for each name, a folder to copy to its machine. It has tls.json, ca.pem, crl.pem, and
//                       either cert.pem (certificate and key), or server.p12 and client.p12
//
// Folders have mode 0700, and files with a key 0600. Files are replaced by renaming. Thanks to the following order of
// writing, the index knows every valid certificate, also after a crash, and the same command completes its work when it
// is run again:
//
// - A certificate is put into the index before its file is written.
// - A revocation is put into the index before the revocation list is written.
// - The list's copies in the folders are written before crl.pem.
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
  // Makes a new authority in a new folder, or in an empty one. kAlreadyExists: the folder is not empty.
  static absl::StatusOr<CertFolder> Create(const std::string& path, const std::string& trust_domain, absl::Time now,
                                           absl::Duration authority_lifetime, const Lifetimes& lifetimes);
  // Opens the folder for reading, which needs neither the lock nor the authority's key.
  static absl::StatusOr<CertFolder> OpenToRead(const std::string& path);
  // Opens the folder for signing. Waits up to 10 s for the lock, and keeps it as long as the CertFolder exists. Fails
  // if the authority has expired.
  static absl::StatusOr<CertFolder> OpenToSign(const std::string& path, absl::Time now);

  const std::string& path() const { return path_; }
  const Index& index() const { return index_; }
  absl::Time authority_not_after() const { return authority_not_after_; }
  absl::Time list_next_update() const { return list_next_update_; }
  // A message for the user if index.json and crl.pem differ; otherwise empty. If crl.pem is newer (perhaps index.json
  // came from a backup), its number and revocations are used, and the next write puts them into the index. If crl.pem
  // is older, a command was interrupted.
  const std::string& notice() const { return notice_; }

  // Cleans up after an interrupted command for this name. Revokes each of its unfinished certificates if its files are
  // not complete in the folder, and returns their serial numbers. A file that `passwords` do not open counts as
  // complete. Signs the list again if it revoked something, or if the list lacks revocations of the index. Needs
  // OpenToSign.
  absl::StatusOr<std::vector<std::string>> SettleUnfinished(const std::string& name, const Passwords& passwords,
                                                            absl::Time now, const Lifetimes& lifetimes);

  // Issues a certificate and writes the subject's folder. Signs the list again if it would end before the certificate.
  // kP12 needs a password; password.h says which password protects which file. Needs OpenToSign.
  absl::StatusOr<IndexEntry> Issue(const Subject& subject, Form form, const Passwords& passwords, absl::Time now,
                                   const Lifetimes& lifetimes);

  // Revokes the certificates with these serial numbers, unless they are revoked already. Signs a new list. Needs
  // OpenToSign.
  absl::Status Revoke(const std::vector<std::string>& serials, const std::string& reason, absl::Time now,
                      const Lifetimes& lifetimes);

  // Signs a new list with the same revocations, and writes it to the folder and to each name's folder. Needs
  // OpenToSign.
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
  std::vector<Authority> authority_;  // one; none if the folder was opened to read
  absl::Time authority_not_after_;
  absl::Time list_next_update_;
  bool list_is_behind_ = false;  // crl.pem is older than the index, or can't be read
  std::string notice_;
};

// Returns the text of tls.json for a certificate of this kind and form. It has the members that MindSpore defines.
// Paths in it are relative to the file's own folder.
std::string TlsConfigText(Kind kind, Form form);

}  // namespace muster::certs
