#include "ctl/certs/render.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "common/base/text.h"
#include "common/show/table.h"

namespace muster::certs {
namespace {

constexpr int64_t kSoonDays = 30;

std::string Date(absl::Time time) { return absl::FormatTime("%Y-%m-%d", time, absl::UTCTimeZone()); }

std::string Minute(absl::Time time) { return absl::FormatTime("%Y-%m-%d %H:%M UTC", time, absl::UTCTimeZone()); }

int64_t DaysLeft(absl::Time end, absl::Time now) { return absl::ToInt64Hours(end - now) / 24; }

std::string HowTo(const CertFolder& folder, const IndexEntry& entry) {
  const std::string& name = entry.subject.name;
  const std::string config = absl::StrCat(name, "/tls.json");
  switch (entry.subject.kind) {
    case Kind::kScheduler:
      return absl::StrCat("copy the folder to the scheduler's machine: ms-scheduler --tls_config ", config);
    case Kind::kNode:
    case Kind::kHost:
      return absl::StrCat("copy the folder to the node: ms-worker --tls_config ", config, " …");
    case Kind::kAdmin:
      return absl::StrCat("ms-ctl --tls_config ", folder.path(), "/", config, " status");
  }
  return "";
}

std::string PasswordHint(const IndexEntry& entry) {
  if (entry.form == Form::kPem) return "";
  const bool is_server = entry.subject.kind != Kind::kAdmin;
  const bool is_client = entry.subject.kind != Kind::kScheduler;
  return absl::StrCat("  its PKCS#12 files open with the password that ",
                      is_server ? "MS_TLS_SERVER_PASSWORD_FILE" : "", is_server && is_client ? " and " : "",
                      is_client ? "MS_TLS_CLIENT_PASSWORD_FILE" : "", is_server && is_client ? " name" : " names",
                      " on that machine\n");
}

// Returns the names that still have a valid certificate. Their machines have a copy of the revocation list.
std::vector<std::string> Holders(const CertFolder& folder, absl::Time now) {
  std::vector<std::string> names;
  for (const IndexEntry& entry : folder.index().entries) {
    if (entry.IsLive(now)) names.push_back(entry.subject.name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string Ending(const char* what, absl::Time end, absl::Time now, const char* remedy) {
  const int64_t days = DaysLeft(end, now);
  if (end <= now) return absl::StrCat(what, " ended on ", Date(end), ": ", remedy, "\n");
  if (days < kSoonDays) return absl::StrCat(what, " ends on ", Date(end), ", in ", days, " days: ", remedy, "\n");
  return absl::StrCat(what, " ends on ", Date(end), "\n");
}

}  // namespace

std::string RenderAuthority(const CertFolder& folder) {
  const std::string& path = folder.path();
  return absl::StrCat(path, ": a new certificate authority for ", folder.index().trust_domain, ", good until ",
                      Date(folder.authority_not_after()),
                      "\n  ca.key signs certificates: keep this folder where only you ",
                      "can read it, off the training machines\nNext:\n  ms-ctl certs scheduler --dir ", path,
                      " --host HOST\n  ms-ctl certs node --dir ", path, " --id N        # for each node\n");
}

std::string RenderIssued(const CertFolder& folder, const std::vector<IndexEntry>& issued) {
  std::string out;
  for (const IndexEntry& entry : issued) {
    absl::StrAppend(&out, folder.path(), "/", entry.subject.name, ": certificate ", entry.serial, ", good until ",
                    Date(entry.not_after), "\n  for ", entry.subject.uri,
                    entry.subject.hosts.empty() ? "" : absl::StrCat(" at ", absl::StrJoin(entry.subject.hosts, ", ")),
                    "\n", PasswordHint(entry), "  ", HowTo(folder, entry), "\n");
  }
  return out;
}

std::string RenderRevoked(const CertFolder& folder, const std::vector<IndexEntry>& revoked,
                          const std::vector<IndexEntry>& already, absl::Time now) {
  std::string out;
  for (const IndexEntry& entry : revoked) {
    absl::StrAppend(&out, "revoked ", entry.serial, " (", entry.subject.name, ")\n");
  }
  for (const IndexEntry& entry : already) {
    absl::StrAppend(&out, entry.serial, " (", entry.subject.name, ") was revoked before, on ", Date(*entry.revoked_at),
                    "\n");
  }
  const std::vector<std::string> holders = Holders(folder, now);
  absl::StrAppend(&out, folder.path(), "/crl.pem is the new list, number ", folder.index().list_number,
                  "; the next one is due before ", Minute(folder.list_next_update()), "\n");
  if (holders.empty()) return out;
  absl::StrAppend(&out,
                  "Copy it to the machines that check it; the programs there load it while they run. These copies of "
                  "it are new:\n");
  for (const std::string& name : holders) absl::StrAppend(&out, "  ", folder.path(), "/", name, "/crl.pem\n");
  return out;
}

std::string RenderList(const CertFolder& folder, absl::Time now) {
  Table table({{"NAME"}, {"KIND"}, {"STATUS"}, {"ENDS"}, {"DAYS LEFT", Align::kRight}, {"SERIAL"}, {"FOR"}});
  for (const IndexEntry& entry : folder.index().entries) {
    const bool is_live = entry.IsLive(now);
    const std::string hosts =
        entry.subject.hosts.empty() ? "" : absl::StrCat(" ", absl::StrJoin(entry.subject.hosts, ","));
    table.AddRow({entry.subject.name, KindWord(entry.subject.kind), StatusWord(entry, now), Date(entry.not_after),
                  is_live ? absl::StrCat(DaysLeft(entry.not_after, now)) : "", entry.serial,
                  absl::StrCat(entry.subject.uri, hosts)});
  }
  std::string out = table.rows() > 0 ? absl::StrCat(table.Print(), "\n") : "nothing was issued yet\n";
  absl::StrAppend(&out, Ending("The authority", folder.authority_not_after(), now, "begin a new one with init"),
                  Ending("The revocation list", folder.list_next_update(), now,
                         "sign a new one with ms-ctl certs crl, and bring it to the machines"));
  return out;
}

std::string RenderFile(const FileFacts& facts, absl::Time now) {
  std::string out = absl::StrCat(EscapeControl(facts.path), ": ", facts.form, "\n");
  const auto line = [&out](const char* what, const std::string& value) {
    std::string title = what;
    title.resize(13, ' ');
    if (!value.empty()) absl::StrAppend(&out, "  ", title, EscapeControl(value), "\n");
  };
  for (const CertificateFacts& c : facts.certificates) {
    absl::StrAppend(&out, "\n", c.is_authority ? "certificate of an authority" : "certificate",
                    c.has_key ? ", with its private key" : "", "\n");
    line("subject", c.subject);
    line("issuer", c.issuer);
    line("serial", c.serial);
    line("from", Minute(c.not_before));
    line("until", absl::StrCat(Minute(c.not_after), c.not_after <= now   ? " (expired)"
                                                    : c.not_before > now ? " (not yet valid)"
                                                                         : ""));
    line("names", absl::StrJoin(c.uris, ", "));
    line("hosts", absl::StrJoin(c.hosts, ", "));
    line("usages", absl::StrJoin(c.usages, ", "));
    line("key", c.key);
    line("signature", c.signature);
    line("SHA-256", c.fingerprint);
  }
  for (const ListFacts& l : facts.lists) {
    absl::StrAppend(&out, "\nrevocation list\n");
    line("issuer", l.issuer);
    line("number", l.number);
    line("from", Minute(l.this_update));
    line("next update", absl::StrCat(Minute(l.next_update), l.next_update <= now ? " (overdue)" : ""));
    line("revoked", l.serials.empty() ? "nothing" : absl::StrJoin(l.serials, ", "));
  }
  if (facts.certificates.empty() && facts.lists.empty()) absl::StrAppend(&out, "  ", facts.keys, " private key(s)\n");
  return out;
}

}  // namespace muster::certs
