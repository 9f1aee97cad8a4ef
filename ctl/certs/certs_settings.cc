#include "ctl/certs/certs_settings.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/show/table.h"
#include "ctl/certs/authority.h"
#include "ctl/certs/certs_program.h"
#include "ctl/certs/subject.h"

namespace muster::certs {
namespace {

constexpr uint32_t kMaxDays = 36'500;

std::string UsageText() {
  size_t width = 0;
  for (const CertsCommand& c : CertsCommands()) {
    width = std::max(width, c.name.size() + DisplayWidth(c.argument) + 1);
  }
  std::string out = "ms-ctl certs COMMAND --dir FOLDER [settings]\n\nCommands:";
  for (const CertsCommand& c : CertsCommands()) {
    std::string name = c.argument.empty() ? c.name : absl::StrCat(c.name, " ", c.argument);
    name.append(width - DisplayWidth(name), ' ');
    absl::StrAppend(&out, "\n  ", name, "  ", c.help);
  }
  return out;
}

// Makes the setting accept only texts that `check` accepts.
template <typename Check>
void Judge(Setting& setting, Check check) {
  setting.parse = [store = setting.parse, check](const std::string& text) -> absl::Status {
    if (absl::Status status = check(text); !status.ok()) return status;
    return store(text);
  };
}

}  // namespace

SettingsTable CertsSettingsTable(CertsSettings& s) {
  SettingsTable table(
      "ms-ctl certs", UsageText(),
      "Makes the certificates of a cluster: a certificate authority of your own, and for each machine a "
      "folder to copy there, whose tls.json is what --tls_config names.");
  table.BeginGroup("The authority");
  table.AddString("dir", &s.dir, "The authority's folder. Keep it off the training machines.").Value("FOLDER");
  Judge(table.AddString("trust_domain", &s.trust_domain, "init: the first part of every name in the certificates.")
            .Value("NAME"),
        CheckTrustDomain);
  table.BeginGroup("Whom a certificate is for");
  Setting& host =
      table.AddStrings("host", &s.hosts,
                       "scheduler: a name or address by which agents reach it, as often as needed (localhost "
                       "is always in). node: the machine's name.");
  host.Value("HOST");
  Judge(host, CheckHost);
  table.AddString("id", &s.id, "node: the node id (MS_NODE_ID), or * for any.").Value("ID");
  table.AddString("job", &s.job, "node: the only job that it may join. admin: the only job that it may steer.")
      .Value("ID")
      .Default("any");
  Setting& name = table.AddString("name", &s.name, "How its folder and its line in the list are called.");
  name.Value("NAME").Default("such as node-3");
  Judge(name, CheckName);
  table.BeginGroup("How");
  table.AddOptionalUint("days", &s.days, 1, kMaxDays, "How long it is good.")
      .Value("N")
      .Default("365, the authority 3650");
  table.AddUint("list_days", &s.list_days, 1, kMaxDays, "How long a revocation list is good.").Value("N");
  table.AddChoice("reason", &s.reason, RevocationReasons(), "revoke: the reason in the list.").Default("none");
  table
      .AddString("password_file", &s.password_file,
                 "A file with a password: PKCS#12 files are written (or shown) in place of PEM without a password. "
                 "MS_TLS_SERVER_PASSWORD, MS_TLS_CLIENT_PASSWORD, and each with _FILE, do the same.")
      .Value("FILE");
  table.AddBool("json", &s.json, "Print one JSON document, for scripts.");
  return table;
}

}  // namespace muster::certs
