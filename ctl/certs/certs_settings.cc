#include "ctl/certs/certs_settings.h"

#include "absl/strings/str_cat.h"
#include "ctl/certs/authority.h"
#include "ctl/certs/certs_program.h"
#include "ctl/certs/subject.h"

namespace muster::certs {
namespace {

constexpr uint32_t kMaxDays = 36'500;

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
      "ms-ctl certs", "ms-ctl certs COMMAND --dir FOLDER [settings]",
      "Makes the certificates of a cluster: a certificate authority of your own, and a folder to copy to each machine. "
      "--tls_config names the tls.json in it.");
  for (const CertsCommand& command : CertsCommands()) {
    table.AddCommand(
        {"Commands", absl::StrCat(command.name, command.argument.empty() ? "" : " ", command.argument), command.help});
  }
  table.BeginGroup("The authority");
  table.AddString("dir", &s.dir, "Folder of the authority. Keep it off the training machines.").Value("FOLDER");
  Judge(table.AddString("trust_domain", &s.trust_domain, "First part of every name in the certificates.")
            .Value("NAME")
            .For({"init"}),
        CheckTrustDomain);
  table.BeginGroup("Holder of the certificate");
  Setting& host =
      table.AddStrings("host", &s.hosts,
                       "For a scheduler: name or address at which agents reach it, besides localhost; may be repeated. "
                       "For a node: name of its machine.");
  host.Value("HOST").For({"scheduler", "node"});
  Judge(host, CheckHost);
  table.AddString("id", &s.id, "Node id (MS_NODE_ID), or * for any.").Value("ID").For({"node"});
  table.AddString("job", &s.job, "The only job that the node may join, or the admin may steer.")
      .Value("ID")
      .Default("any")
      .For({"node", "admin"});
  Setting& name = table.AddString("name", &s.name, "Name of the certificate's folder, and of its line in the list.");
  name.Value("NAME").Default("such as node-3");
  Judge(name, CheckName);
  table.BeginGroup("Other");
  table.AddOptionalUint("days", &s.days, 1, kMaxDays, "Number of days for which the certificate is valid.")
      .Value("N")
      .Default("365, the authority 3650");
  table.AddUint("list_days", &s.list_days, 1, kMaxDays, "Number of days for which a revocation list is valid.")
      .Value("N");
  table.AddChoice("reason", &s.reason, RevocationReasons(), "Reason in the revocation list.")
      .Default("none")
      .For({"revoke"});
  table
      .AddString("password_file", &s.password_file,
                 "File with a password. With it, PKCS#12 files are written or read instead of PEM files. "
                 "MS_TLS_SERVER_PASSWORD, MS_TLS_CLIENT_PASSWORD, and each of them with _FILE, also set a password.")
      .Value("FILE");
  table.AddBool("json", &s.json, "Prints one JSON document, for scripts.");
  return table;
}

}  // namespace muster::certs
