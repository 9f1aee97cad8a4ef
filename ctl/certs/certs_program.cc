#include "ctl/certs/certs_program.h"

#include <algorithm>
#include <cstdio>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/clock.h"
#include "common/base/exit_codes.h"
#include "common/base/text.h"
#include "common/base/version.h"
#include "common/show/words.h"
#include "ctl/certs/certs_settings.h"
#include "ctl/certs/folder.h"
#include "ctl/certs/inspect.h"
#include "ctl/certs/render.h"
#include "ctl/certs/subject.h"

namespace muster::certs {
namespace {

constexpr uint32_t kAuthorityDays = 3650;
constexpr uint32_t kCertificateDays = 365;

int Fail(const std::string& text, int code = kExitJobFailed) {
  std::fprintf(stderr, "ms-ctl certs: %s\n", EscapeControl(text).c_str());
  return code;
}

int Fail(const absl::Status& status) { return Fail(std::string(status.message())); }

int Usage(const std::string& text) { return Fail(text, kExitUsage); }

int Print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  if (std::fflush(stdout) == 0) return kExitSuccess;
  std::perror("ms-ctl certs: can't write");
  return kExitJobFailed;
}

absl::Duration Days(uint32_t days) { return absl::Hours(24) * days; }

absl::Time WallNow() { return absl::FromUnixMillis(Clock::System().Read().wall.unix_ms); }

}  // namespace

struct CertsCall {
  CertsSettings settings;
  std::vector<std::string> words;  // the arguments after the command's name
  std::map<std::string, std::string> environment;
  absl::Time now;

  Lifetimes lifetimes() const { return {Days(settings.days.value_or(kCertificateDays)), Days(settings.list_days)}; }
  absl::StatusOr<Passwords> passwords() const { return ReadPasswords(settings.password_file, environment); }
};

namespace {

absl::StatusOr<CertFolder> WithNotice(absl::StatusOr<CertFolder> folder) {
  if (folder.ok() && !folder->notice().empty()) {
    Fail(folder->notice());
  }
  return folder;
}

absl::StatusOr<CertFolder> OpenToSign(const CertsCall& call) {
  return WithNotice(CertFolder::OpenToSign(call.settings.dir, call.now));
}

// Completes or revokes what an interrupted command for this name has left, before the command runs again.
absl::Status SettleUnfinished(CertFolder& folder, const std::string& name, const Passwords& passwords,
                              const CertsCall& call) {
  const auto dropped = folder.SettleUnfinished(name, passwords, call.now, call.lifetimes());
  if (!dropped.ok()) return dropped.status();
  for (const std::string& serial : *dropped) {
    std::fprintf(stderr,
                 "ms-ctl certs: certificate %s of '%s' was not written completely, because its command was "
                 "interrupted: it is revoked\n",
                 serial.c_str(), name.c_str());
  }
  return absl::OkStatus();
}

int Init(const CertsCall& call) {
  const auto folder = CertFolder::Create(call.settings.dir, call.settings.trust_domain, call.now,
                                         Days(call.settings.days.value_or(kAuthorityDays)), call.lifetimes());
  if (!folder.ok()) return Fail(folder.status());
  return Print(call.settings.json ? AuthorityJson(*folder) : RenderAuthority(*folder));
}

absl::StatusOr<Subject> WantedSubject(Kind kind, const CertsSettings& s, const std::string& domain) {
  if (kind != Kind::kNode && !s.id.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(KindWord(kind), ": --id is for a node's certificate; leave it out"));
  }
  if (kind == Kind::kScheduler) {
    if (s.job == "*") return SchedulerSubject(domain, s.hosts);
    return absl::InvalidArgumentError("scheduler: its certificate is for all jobs; leave --job out");
  }
  if (kind == Kind::kAdmin) {
    if (s.hosts.empty()) return AdminSubject(domain, s.job);
    return absl::InvalidArgumentError("admin: --host is for a scheduler's certificate or a node's; leave it out");
  }
  const bool is_node = !s.id.empty();
  if (is_node != s.hosts.empty() || s.hosts.size() > 1) {
    return absl::InvalidArgumentError(
        "node: give either --id N, for one node, or --host NAME, for all agents of one machine");
  }
  return is_node ? NodeSubject(domain, s.job, s.id) : HostSubject(domain, s.job, s.hosts.front());
}

template <Kind kind>
int Issue(const CertsCall& call) {
  // Report usage errors before opening the folder.
  const absl::StatusOr<Subject> checked = WantedSubject(kind, call.settings, "muster");
  if (!checked.ok()) return Usage(std::string(checked.status().message()));
  const std::string& name = call.settings.name.empty() ? checked->name : call.settings.name;
  if (absl::Status status = CheckName(name); !status.ok()) {
    return Usage(absl::StrCat("its folder would be called ", Quoted(name), ", and such a name ",
                              std::string(status.message()), ": choose one with --name"));
  }
  const absl::StatusOr<Passwords> passwords = call.passwords();
  if (!passwords.ok()) return Fail(passwords.status());
  absl::StatusOr<CertFolder> folder = OpenToSign(call);
  if (!folder.ok()) return Fail(folder.status());
  Subject subject = *WantedSubject(kind, call.settings, folder->index().trust_domain);
  subject.name = name;
  if (absl::Status status = SettleUnfinished(*folder, subject.name, *passwords, call); !status.ok())
    return Fail(status);
  if (folder->index().HasLive(subject.name, call.now)) {
    return Fail(absl::StrCat(
        "'", subject.name, "' has a certificate that is good until ",
        TimeText(folder->index().Latest(subject.name)->not_after), ": `ms-ctl certs renew ", subject.name,
        "` replaces it, `ms-ctl certs revoke` revokes it, and --name NAME makes a certificate with another name"));
  }
  for (const char* taken : {"ca.pem", "ca.key", "crl.pem", "index.json", "lock"}) {
    if (subject.name == taken) return Usage(absl::StrCat("--name ", subject.name, " is a file of the authority's own"));
  }
  const Form form = passwords->server || passwords->client ? Form::kP12 : Form::kPem;
  const absl::StatusOr<IndexEntry> entry = folder->Issue(subject, form, *passwords, call.now, call.lifetimes());
  if (!entry.ok()) return Fail(entry.status());
  return Print(call.settings.json ? IssuedJson(*folder, {*entry}) : RenderIssued(*folder, {*entry}));
}

std::string UnknownName(const CertFolder& folder, const std::string& word) {
  std::vector<std::string> names;
  for (const IndexEntry& entry : folder.index().entries) names.push_back(entry.subject.name);
  const std::string meant = NearMiss(word, names);
  return absl::StrCat("nothing was issued in ", folder.path(), " as ", Quoted(word),
                      meant.empty() ? "" : absl::StrCat("; did you mean '", meant, "'?"),
                      "; ms-ctl certs list shows all names and serial numbers");
}

int Renew(const CertsCall& call) {
  const absl::StatusOr<Passwords> passwords = call.passwords();
  if (!passwords.ok()) return Fail(passwords.status());
  const bool has_password = passwords->server || passwords->client;
  absl::StatusOr<CertFolder> folder = OpenToSign(call);
  if (!folder.ok()) return Fail(folder.status());
  std::vector<IndexEntry> last;
  for (const std::string& name : call.words) {
    const IndexEntry* entry = folder->index().Latest(name);
    if (entry == nullptr) return Fail(UnknownName(*folder, name));
    if (entry->form == Form::kP12 && !has_password) {
      return Fail(absl::StrCat("'", name,
                               "' is kept as PKCS#12: give the password with --password_file, or through "
                               "MS_TLS_SERVER_PASSWORD_FILE and MS_TLS_CLIENT_PASSWORD_FILE"));
    }
    last.push_back(*entry);
  }
  std::vector<IndexEntry> issued;
  for (const IndexEntry& entry : last) {
    const absl::Status settled = SettleUnfinished(*folder, entry.subject.name, *passwords, call);
    if (!settled.ok()) return Fail(settled);
    const auto made = folder->Issue(entry.subject, entry.form, *passwords, call.now, call.lifetimes());
    if (!made.ok()) return Fail(made.status());
    issued.push_back(*made);
  }
  return Print(call.settings.json ? IssuedJson(*folder, issued) : RenderIssued(*folder, issued));
}

int Revoke(const CertsCall& call) {
  absl::StatusOr<CertFolder> folder = OpenToSign(call);
  if (!folder.ok()) return Fail(folder.status());
  std::vector<std::string> serials;
  std::vector<IndexEntry> revoked;
  std::vector<IndexEntry> already;
  for (const std::string& word : call.words) {
    bool is_known = false;
    for (const IndexEntry& entry : folder->index().entries) {
      const bool is_serial = entry.serial == absl::AsciiStrToLower(word);
      if (!is_serial && entry.subject.name != word) continue;
      is_known = true;
      if (std::find(serials.begin(), serials.end(), entry.serial) != serials.end()) continue;
      if (entry.revoked_at) {
        already.push_back(entry);
      } else if (is_serial || entry.IsLive(call.now)) {
        serials.push_back(entry.serial);
        revoked.push_back(entry);
      }
    }
    if (!is_known) return Fail(UnknownName(*folder, word));
  }
  if (serials.empty() && already.empty()) {
    return Fail("that certificate has expired: no program accepts it any more, so there is nothing to revoke");
  }
  const absl::Status status = folder->Revoke(serials, call.settings.reason, call.now, call.lifetimes());
  if (!status.ok()) return Fail(status);
  for (IndexEntry& entry : revoked) {
    entry.revoked_at = call.now;
    entry.reason = call.settings.reason;
  }
  return Print(call.settings.json ? RevokedJson(*folder, revoked, already, call.now)
                                  : RenderRevoked(*folder, revoked, already, call.now));
}

int NewList(const CertsCall& call) {
  absl::StatusOr<CertFolder> folder = OpenToSign(call);
  if (!folder.ok()) return Fail(folder.status());
  const absl::Status status = folder->RenewList(call.now, call.lifetimes());
  if (!status.ok()) return Fail(status);
  return Print(call.settings.json ? RevokedJson(*folder, {}, {}, call.now) : RenderRevoked(*folder, {}, {}, call.now));
}

int List(const CertsCall& call) {
  const absl::StatusOr<CertFolder> folder = WithNotice(CertFolder::OpenToRead(call.settings.dir));
  if (!folder.ok()) return Fail(folder.status());
  return Print(call.settings.json ? ListJson(*folder, call.now) : RenderList(*folder, call.now));
}

int Show(const CertsCall& call) {
  const absl::StatusOr<Passwords> passwords = call.passwords();
  if (!passwords.ok()) return Fail(passwords.status());
  const absl::StatusOr<FileFacts> facts = InspectFile(call.words.front(), *passwords);
  if (!facts.ok()) return Fail(facts.status());
  return Print(call.settings.json ? FileJson(*facts, call.now) : RenderFile(*facts, call.now));
}

const CertsCommand* FindCommand(const std::vector<std::string>& words) {
  for (const CertsCommand& command : CertsCommands()) {
    if (!words.empty() && command.name == words[0]) return &command;
  }
  return nullptr;
}

// Returns the error in `words`; empty if there is none. `found`: the command that the first word names; null: there is
// none.
std::string CheckWords(const CertsCommand* found, const std::vector<std::string>& words,
                       const CertsSettings& settings) {
  std::vector<std::string> names;
  for (const CertsCommand& command : CertsCommands()) names.push_back(command.name);
  if (words.empty()) return absl::StrCat("a command is missing: ", absl::StrJoin(names, ", "));
  if (found == nullptr) {
    const std::string meant = NearMiss(words[0], names);
    return absl::StrCat("unknown command ", Quoted(words[0]),
                        meant.empty() ? "" : absl::StrCat("; did you mean '", meant, "'?"),
                        "; `ms-ctl certs --help` lists all");
  }
  if (found->needs_argument && words.size() < 2) {
    return absl::StrCat(found->name, ": the name is missing: ms-ctl certs ", found->name, " ", found->argument);
  }
  const size_t most = found->argument.empty() ? 1 : found->name == "show" ? 2 : words.size();
  if (words.size() > most) return absl::StrCat("'", found->name, "' takes no word ", Quoted(words[most]));
  const bool needs_dir = found->name != "show";
  if (needs_dir && settings.dir.empty())
    return absl::StrCat(found->name, ": name the authority's folder: --dir FOLDER");
  return "";
}

}  // namespace

const std::vector<CertsCommand>& CertsCommands() {
  static const auto* const commands = new std::vector<CertsCommand>{
      {"init", "", false, "Makes a certificate authority and an empty revocation list in a new folder.", Init},
      {"scheduler", "", false, "Makes the scheduler's certificate, which covers every --host, and its tls.json.",
       Issue<Kind::kScheduler>},
      {"node", "", false, "Makes a node's certificate (--id N), or one for all agents of a machine (--host NAME).",
       Issue<Kind::kNode>},
      {"admin", "", false, "Makes an administrator's certificate, for ms-ctl.", Issue<Kind::kAdmin>},
      {"renew", "NAME…", true, "Makes a new key and certificate for the same name.", Renew},
      {"revoke", "NAME|SERIAL…", true, "Revokes certificates, and says where to copy the new list.", Revoke},
      {"crl", "", false, "Signs the revocation list again, before it expires.", NewList},
      {"list", "", false, "Shows what was issued, until when it is valid, and what was revoked.", List},
      {"show", "FILE", true, "Shows what a certificate, PKCS#12 file, revocation list or a name's folder contains.",
       Show},
  };
  return *commands;
}

int RunCerts(const std::vector<std::string>& args, const std::map<std::string, std::string>& environment) {
  CertsCall call;
  SettingsTable table = CertsSettingsTable(call.settings);
  const LoadResult loaded = LoadSettings(table, args, environment);
  if (loaded.wants_help) return Print(HelpText(table));
  if (loaded.wants_version) return Print(absl::StrCat("ms-ctl ", kVersion, "\n"));
  for (const std::string& error : loaded.findings.errors) Fail(error);
  if (!loaded.findings.errors.empty()) return kExitUsage;
  const CertsCommand* command = FindCommand(loaded.positional);
  const std::string wrong = CheckWords(command, loaded.positional, call.settings);
  if (!wrong.empty()) return Usage(wrong);
  call.words.assign(loaded.positional.begin() + 1, loaded.positional.end());
  call.environment = environment;
  call.now = WallNow();
  return command->run(call);
}

}  // namespace muster::certs
