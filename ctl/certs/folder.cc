#include "ctl/certs/folder.h"

#include <fcntl.h>
#include <openssl/pem.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/sys/file_io.h"
#include "common/sys/wait.h"
#include "ctl/certs/bundle.h"
#include "ctl/certs/inspect.h"

namespace muster::certs {
namespace {

constexpr size_t kMaxPemBytes = 1 << 20;
constexpr size_t kMaxListBytes = 64 << 20;
constexpr size_t kMaxIndexBytes = 256 << 20;
constexpr mode_t kPrivate = 0600;
constexpr mode_t kPublic = 0644;
constexpr absl::Duration kLockTimeout = absl::Seconds(10);
constexpr absl::Duration kLockPause = absl::Milliseconds(50);

std::string Message(const absl::Status& status) { return std::string(status.message()); }

absl::Status MakeFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return absl::UnavailableError(absl::StrCat("can't make the folder ", path, ": ", std::strerror(errno)));
  }
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is in the way: it is not a folder"));
  }
  if (chmod(path.c_str(), 0700) != 0) {
    return absl::UnavailableError(absl::StrCat("can't set the mode of ", path, ": ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

absl::StatusOr<absl::Time> EndOf(const std::string& pem) {
  const BioPtr bio = MemoryBio(pem);
  const X509Ptr certificate(PEM_read_bio_X509(bio.get(), nullptr, RefusePassphrase, nullptr));
  if (!certificate) return absl::InvalidArgumentError(absl::StrCat("is no certificate: ", OpenSslReason()));
  return ToAbslTime(X509_get0_notAfter(certificate.get()));
}

std::vector<RevokedSerial> RevokedOf(const Index& index) {
  std::vector<RevokedSerial> revoked = index.others;
  for (const IndexEntry& entry : index.entries) {
    if (entry.revoked_at) revoked.push_back({entry.serial, *entry.revoked_at, entry.reason});
  }
  return revoked;
}

std::string WithoutSlashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// Fills a folder with a temporary name and then renames it. So an interrupted init never leaves a folder that looks
// like an authority.
absl::Status FillNewFolder(const std::string& path, const Authority& authority, const std::string& list,
                           const Index& index) {
  const std::string temporary = absl::StrCat(path, ".", getpid(), ".tmp");
  if (absl::Status made = MakeFolder(temporary); !made.ok()) return made;
  absl::Status status = WriteFileAtomically(temporary + "/ca.key", authority.KeyText(), kPrivate);
  status.Update(WriteFileAtomically(temporary + "/ca.pem", authority.CertificateText(), kPublic));
  status.Update(WriteFileAtomically(temporary + "/crl.pem", list, kPublic));
  status.Update(WriteFileAtomically(temporary + "/index.json", IndexText(index), kPrivate));
  if (status.ok() && rename(temporary.c_str(), path.c_str()) == 0) return absl::OkStatus();
  const int error = errno;
  for (const char* name : {"ca.key", "ca.pem", "crl.pem", "index.json"}) {
    unlink(absl::StrCat(temporary, "/", name).c_str());
  }
  rmdir(temporary.c_str());
  if (!status.ok()) return status;
  if (error == ENOTEMPTY || error == EEXIST) {
    return absl::AlreadyExistsError(
        absl::StrCat(path,
                     " is not empty, and nothing is overwritten: name a new folder, or use the authority that is in "
                     "it (ms-ctl certs list --dir ",
                     path, ")"));
  }
  return absl::UnavailableError(absl::StrCat("can't make ", path, ": ", std::strerror(error)));
}

// Returns the names of the files in a name's folder that contain its key.
std::vector<std::string> KeyFiles(Kind kind, Form form) {
  if (form == Form::kPem) return {"cert.pem"};
  if (kind == Kind::kAdmin) return {"client.p12"};
  if (kind == Kind::kScheduler) return {"server.p12"};
  return {"server.p12", "client.p12"};
}

}  // namespace

std::string TlsConfigText(Kind kind, Form form) {
  nlohmann::ordered_json file;
  const std::string server = form == Form::kPem ? "cert.pem" : "server.p12";
  const std::string client = form == Form::kPem ? "cert.pem" : "client.p12";
  if (kind != Kind::kAdmin) file["server_cert_path"] = server;
  if (kind != Kind::kScheduler) file["client_cert_path"] = client;
  file["ca_cert_path"] = "ca.pem";
  file["crl_path"] = "crl.pem";
  file["cipher_list"] = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305";
  file["cert_expire_warning_time_in_day"] = 90;
  return file.dump(2) + "\n";
}

absl::StatusOr<CertFolder> CertFolder::Create(const std::string& given, const std::string& trust_domain, absl::Time now,
                                              absl::Duration authority_lifetime, const Lifetimes& lifetimes) {
  const std::string path = WithoutSlashes(given);
  absl::StatusOr<Authority> authority = Authority::Create(trust_domain, now, authority_lifetime);
  if (!authority.ok()) return authority.status();
  Index index{trust_domain, 1, {}};
  const absl::StatusOr<std::string> list = authority->SignList({}, 1, now, now + lifetimes.list);
  if (!list.ok()) return list.status();
  if (absl::Status status = FillNewFolder(path, *authority, *list, index); !status.ok()) return status;
  return OpenToRead(path);
}

absl::Status CertFolder::Load() {
  struct stat info {};
  if (stat(path_.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return absl::NotFoundError(
        absl::StrCat("there is no folder ", path_, ": ms-ctl certs init --dir ", path_, " makes it"));
  }
  const absl::StatusOr<std::string> text = ReadSmallFile(In("index.json"), kMaxIndexBytes);
  if (absl::IsNotFound(text.status())) {
    return absl::NotFoundError(absl::StrCat(path_,
                                            " is not the folder of a certificate authority (it has no index.json): ",
                                            "--dir is the folder that ms-ctl certs init made"));
  }
  if (!text.ok()) return text.status();
  absl::StatusOr<Index> index = ParseIndex(*text);
  if (!index.ok()) {
    return absl::DataLossError(absl::StrCat(In("index.json"), " is damaged: ", Message(index.status()),
                                            "; restore it from a backup, because it lists what was issued"));
  }
  index_ = *std::move(index);
  const absl::StatusOr<std::string> authority = ReadSmallFile(In("ca.pem"), kMaxPemBytes);
  if (!authority.ok()) return authority.status();
  const absl::StatusOr<absl::Time> end = EndOf(*authority);
  if (!end.ok()) return absl::DataLossError(absl::StrCat(In("ca.pem"), " ", Message(end.status())));
  authority_not_after_ = *end;
  const absl::StatusOr<std::string> list = ReadSmallFile(In("crl.pem"), kMaxListBytes);
  const absl::StatusOr<SignedList> read = list.ok() ? ReadList(*list, *authority) : list.status();
  // (A list that can't be read counts as overdue, so the next Issue also signs a new list.)
  list_next_update_ = read.ok() ? read->next_update : absl::InfinitePast();
  list_is_behind_ = !read.ok() || read->number < index_.list_number;
  if (read.ok()) TakeOver(*read);
  return absl::OkStatus();
}

// Puts the list's number and revocations into the index if the index lacks them. The list may have been copied to other
// machines. These accept only a new list with a higher number, and a new list without these revocations would undo
// them.
void CertFolder::TakeOver(const SignedList& list) {
  std::unordered_map<std::string, IndexEntry*> known;
  for (IndexEntry& entry : index_.entries) known[entry.serial] = &entry;
  std::unordered_set<std::string> others;
  for (const RevokedSerial& other : index_.others) others.insert(other.serial);
  size_t taken = 0;
  for (const RevokedSerial& revoked : list.revoked) {
    const auto found = known.find(revoked.serial);
    if (found == known.end()) {
      if (!others.insert(revoked.serial).second) continue;
      index_.others.push_back(revoked);
    } else {
      if (found->second->revoked_at) continue;
      found->second->revoked_at = revoked.at;
      found->second->reason = revoked.reason;
    }
    ++taken;
  }
  const uint64_t noted = index_.list_number;
  index_.list_number = std::max(noted, list.number);
  notice_.clear();
  if (taken > 0 || noted < list.number) {
    notice_ =
        absl::StrCat(In("index.json"), " is older than crl.pem (it knows list number ", noted, ", crl.pem is number ",
                     list.number, "), perhaps because it came from a backup. From crl.pem ", taken,
                     taken == 1 ? " revocation was" : " revocations were",
                     " taken over, and the next list gets a higher number. Certificates that were issued after the "
                     "backup are not in index.json: issue them again");
  } else if (list_is_behind_) {
    notice_ =
        absl::StrCat(In("crl.pem"), " is number ", list.number, ", older than index.json, which knows number ", noted,
                     ", because a command was interrupted: ms-ctl certs crl --dir ", path_, " signs it again");
  }
}

absl::Status CertFolder::TakeLock() {
  lock_.reset(open(In("lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kPrivate));
  if (!lock_.is_open()) {
    return absl::PermissionDeniedError(absl::StrCat("can't write in ", path_, ": ", std::strerror(errno)));
  }
  for (absl::Duration waited; flock(lock_.get(), LOCK_EX | LOCK_NB) != 0; waited += kLockPause) {
    if (waited >= kLockTimeout) {
      return absl::UnavailableError(
          absl::StrCat("another ms-ctl certs has been working in ", path_, " for 10 s: try again when it has ended"));
    }
    Pause(kLockPause);
  }
  return absl::OkStatus();
}

absl::StatusOr<CertFolder> CertFolder::OpenToRead(const std::string& path) {
  CertFolder folder(WithoutSlashes(path));
  absl::Status status = folder.Load();
  // There is no lock, so the first reading may have come between another command's writes of the index and of the list.
  if (status.ok() && !folder.notice_.empty()) status = folder.Load();
  if (!status.ok()) return status;
  return folder;
}

absl::StatusOr<CertFolder> CertFolder::OpenToSign(const std::string& path, absl::Time now) {
  CertFolder folder(WithoutSlashes(path));
  // Check first that this is an authority's folder, so that no lock file is made in another one.
  if (absl::Status status = folder.Load(); !status.ok()) return status;
  if (absl::Status status = folder.TakeLock(); !status.ok()) return status;
  if (absl::Status status = folder.Load(); !status.ok()) return status;
  const absl::StatusOr<std::string> certificate = ReadSmallFile(folder.In("ca.pem"), kMaxPemBytes);
  if (!certificate.ok()) return certificate.status();
  const absl::StatusOr<std::string> key = ReadSmallFile(folder.In("ca.key"), kMaxPemBytes);
  if (absl::IsNotFound(key.status())) {
    return absl::NotFoundError(absl::StrCat("the authority's key is missing: ", folder.In("ca.key"),
                                            ". Nothing can be signed without it: put it back for this command, or "
                                            "begin a new authority in another folder with ms-ctl certs init"));
  }
  if (!key.ok()) return key.status();
  absl::StatusOr<Authority> authority = Authority::FromPem(*certificate, *key);
  if (!authority.ok()) return absl::DataLossError(absl::StrCat(folder.path_, ": ", Message(authority.status())));
  if (authority->not_after() <= now) {
    return absl::FailedPreconditionError(
        absl::StrCat("the authority in ", folder.path_, " expired at ", TimeText(authority->not_after()),
                     ", and with it all that it issued: begin a new one in another folder with ms-ctl certs init"));
  }
  folder.authority_.push_back(*std::move(authority));
  return folder;
}

absl::Status CertFolder::WriteIndex() const {
  return WriteFileAtomically(In("index.json"), IndexText(index_), kPrivate);
}

absl::Status CertFolder::RenewList(absl::Time now, const Lifetimes& lifetimes) {
  MUSTER_CHECK(!authority_.empty(), "opened to sign");
  const absl::Time next = std::min(now + lifetimes.list, authority_not_after_);
  // Write the new number into the index before the list is signed. A crash in between skips a number, but two lists
  // never get the same one.
  ++index_.list_number;
  if (absl::Status status = WriteIndex(); !status.ok()) return status;
  const absl::StatusOr<std::string> list =
      authority_.front().SignList(RevokedOf(index_), index_.list_number, now, next);
  if (!list.ok()) return list.status();
  list_next_update_ = next;
  absl::Status status;
  std::vector<std::string> names;
  for (const IndexEntry& entry : index_.entries) names.push_back(entry.subject.name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const std::string& name : names) {
    struct stat info {};
    const bool is_here = lstat(In(name).c_str(), &info) == 0 && S_ISDIR(info.st_mode);
    if (is_here) status.Update(WriteFileAtomically(In(name) + "/crl.pem", *list, kPublic));
  }
  // Write crl.pem last, so that it has the new number only after all copies were written.
  const absl::Status written = WriteFileAtomically(In("crl.pem"), *list, kPublic);
  list_is_behind_ = !written.ok();
  status.Update(written);
  return status;
}

absl::Status CertFolder::Revoke(const std::vector<std::string>& serials, const std::string& reason, absl::Time now,
                                const Lifetimes& lifetimes) {
  for (IndexEntry& entry : index_.entries) {
    const bool is_meant = std::find(serials.begin(), serials.end(), entry.serial) != serials.end();
    if (!is_meant || entry.revoked_at) continue;
    entry.revoked_at = now;
    entry.reason = reason;
  }
  return RenewList(now, lifetimes);
}

absl::Status CertFolder::WriteCertificate(const IndexEntry& entry, const Issued& issued,
                                          const Passwords& passwords) const {
  const std::string folder = In(entry.subject.name);
  if (absl::Status status = MakeFolder(folder); !status.ok()) return status;
  absl::StatusOr<std::string> list = ReadSmallFile(In("crl.pem"), kMaxListBytes);
  if (!list.ok()) return list.status();
  absl::Status status = WriteFileAtomically(folder + "/ca.pem", authority_.front().CertificateText(), kPublic);
  status.Update(WriteFileAtomically(folder + "/crl.pem", *list, kPublic));
  if (entry.form == Form::kPem) {
    status.Update(WriteFileAtomically(
        folder + "/cert.pem", CertificatePem(issued.certificate.get()) + PrivateKeyPem(issued.key.get()), kPrivate));
  } else {
    const auto write = [&](const char* name, const std::string& password) -> absl::Status {
      const absl::StatusOr<std::string> bundle =
          MakeBundle(issued.certificate.get(), issued.key.get(), entry.subject.name, password);
      return bundle.ok() ? WriteFileAtomically(folder + name, *bundle, kPrivate) : bundle.status();
    };
    const std::string server = passwords.server ? *passwords.server : *passwords.client;
    const std::string client = passwords.client ? *passwords.client : *passwords.server;
    if (entry.subject.kind != Kind::kAdmin) status.Update(write("/server.p12", server));
    if (entry.subject.kind != Kind::kScheduler) status.Update(write("/client.p12", client));
  }
  status.Update(WriteFileAtomically(folder + "/tls.json", TlsConfigText(entry.subject.kind, entry.form), kPublic));
  // Remove the files of the other form, so that no old private key stays here.
  if (status.ok() && entry.form == Form::kP12) unlink((folder + "/cert.pem").c_str());
  if (status.ok() && entry.form == Form::kPem) {
    unlink((folder + "/server.p12").c_str());
    unlink((folder + "/client.p12").c_str());
  }
  return status;
}

bool CertFolder::HasInFolder(const IndexEntry& entry, const Passwords& passwords) const {
  const std::string folder = In(entry.subject.name) + "/";
  if (access((folder + "tls.json").c_str(), F_OK) != 0) return false;
  for (const std::string& name : KeyFiles(entry.subject.kind, entry.form)) {
    const absl::StatusOr<FileFacts> facts = InspectFile(folder + name, passwords);
    const bool is_closed = !facts.ok() && !absl::IsNotFound(facts.status()) && entry.form == Form::kP12;
    if (is_closed) continue;
    if (!facts.ok() || facts->certificates.empty()) return false;
    if (facts->certificates.front().fingerprint != entry.fingerprint) return false;
  }
  return true;
}

absl::StatusOr<std::vector<std::string>> CertFolder::SettleUnfinished(const std::string& name,
                                                                      const Passwords& passwords, absl::Time now,
                                                                      const Lifetimes& lifetimes) {
  std::vector<std::string> dropped;
  bool has_settled = false;
  for (IndexEntry& entry : index_.entries) {
    if (entry.subject.name != name || !entry.is_unfinished) continue;
    has_settled = true;
    entry.is_unfinished = false;
    if (!entry.IsLive(now) || HasInFolder(entry, passwords)) continue;
    entry.revoked_at = now;
    entry.reason = "superseded";
    dropped.push_back(entry.serial);
  }
  absl::Status noted;
  if (!dropped.empty() || list_is_behind_) {
    noted = RenewList(now, lifetimes);
  } else if (has_settled) {
    noted = WriteIndex();
  }
  if (!noted.ok()) return noted;
  return dropped;
}

absl::StatusOr<IndexEntry> CertFolder::Issue(const Subject& subject, Form form, const Passwords& passwords,
                                             absl::Time now, const Lifetimes& lifetimes) {
  MUSTER_CHECK(!authority_.empty(), "opened to sign");
  MUSTER_CHECK(form == Form::kPem || passwords.server || passwords.client, "PKCS#12 has a password");
  const absl::StatusOr<Issued> issued = authority_.front().Issue(subject, now, lifetimes.certificate);
  if (!issued.ok()) return issued.status();
  X509* certificate = issued->certificate.get();
  IndexEntry entry;
  entry.serial = SerialText(X509_get0_serialNumber(certificate));
  entry.subject = subject;
  entry.form = form;
  entry.not_before = ToAbslTime(X509_get0_notBefore(certificate));
  entry.not_after = ToAbslTime(X509_get0_notAfter(certificate));
  entry.fingerprint = FingerprintOf(certificate);
  entry.is_unfinished = true;  // until its files are complete; after a crash SettleUnfinished revokes it
  index_.entries.push_back(entry);
  // Sign a new list if the present one ends before the certificate: by default (--crl_expired), once an authority's
  // list has expired, peers refuse all of its certificates.
  const bool list_ends_first = list_next_update_ < entry.not_after && list_next_update_ < authority_not_after_;
  const absl::Status noted = list_ends_first ? RenewList(now, lifetimes) : WriteIndex();
  if (!noted.ok()) return noted;
  if (absl::Status status = WriteCertificate(entry, *issued, passwords); !status.ok()) return status;
  index_.entries.back().is_unfinished = false;
  if (absl::Status status = WriteIndex(); !status.ok()) {
    return absl::Status(
        status.code(),
        absl::StrCat(
            Message(status), ". ", In(subject.name),
            " is complete, but not recorded as such: run the same command again before you take that folder away"));
  }
  return index_.entries.back();
}

}  // namespace muster::certs
