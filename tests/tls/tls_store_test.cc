#include "common/tls/tls_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <fstream>

#include "tests/tls/pki.h"

namespace muster {
namespace {

using ::testing::HasSubstr;
using testing_tls::Authority;
using testing_tls::CertificateSpec;
using testing_tls::Issued;
using testing_tls::NodeSpec;
using testing_tls::SchedulerSpec;
using testing_tls::ToPkcs12;

class TlsStoreTest : public ::testing::Test {
 protected:
  TlsStoreTest() {
    folder_.Write("ca.crt", authority_.pem());
    folder_.Write("server.pem", authority_.Issue(SchedulerSpec()).all_pem());
    folder_.Write("client.pem", authority_.Issue(NodeSpec("n1")).all_pem());
    folder_.Write("crl.pem", authority_.RevocationList({}));
    options_.settings.config = folder_.WriteConfig(true);
  }

  absl::Status Open() {
    auto store = TlsStore::Open(options_, Clock::System(), counted_);
    if (!store.ok()) return store.status();
    store_ = *std::move(store);
    return absl::OkStatus();
  }
  std::string OpenError() { return std::string(Open().message()); }
  std::string Serving() { return store_->Current()->identity->leaf().Fingerprint(); }
  uint64_t Refused() { return counted_.Counts()[kReloadRefused]; }

  Authority authority_;
  testing_tls::TlsFolder folder_;
  TlsStore::Options options_;
  CountedLog counted_{Clock::System()};
  std::unique_ptr<TlsStore> store_;
};

TEST_F(TlsStoreTest, OpensEachSide) {
  ASSERT_TRUE(Open().ok()) << OpenError();
  EXPECT_EQ(store_->Current()->own_name->kind, PeerName::Kind::kScheduler);
  options_.role = TlsRole::kClient;
  ASSERT_TRUE(Open().ok()) << OpenError();
  EXPECT_EQ(store_->Current()->own_name->id, "n1");
}

TEST_F(TlsStoreTest, OneSideDoesNotNeedTheOthersFiles) {
  folder_.Write("tls.json",
                R"({"server_cert_path": "server.pem", "ca_cert_path": "ca.crt", "client_cert_path": "none"})");
  EXPECT_TRUE(Open().ok());
  options_.role = TlsRole::kClient;
  EXPECT_THAT(OpenError(), HasSubstr("client_cert_path: " + folder_.path("none") + " can't be read"));
  folder_.Write("tls.json", R"({"ca_cert_path": "ca.crt"})");
  EXPECT_THAT(OpenError(), HasSubstr("client_cert_path is missing"));
}

TEST_F(TlsStoreTest, OpensAPkcs12) {
  folder_.Write("server.pem", ToPkcs12(authority_.Issue(SchedulerSpec()), "pw"));
  options_.password = PasswordFrom({{"MS_TLS_SERVER_PASSWORD", "pw"}}, TlsRole::kServer);
  EXPECT_TRUE(Open().ok()) << OpenError();
  options_.password = PasswordFrom({{"MS_TLS_SERVER_PASSWORD", "guess"}}, TlsRole::kServer);
  EXPECT_THAT(OpenError(), HasSubstr("password is wrong (Mac verify error); it comes from MS_TLS_SERVER_PASSWORD"));
  options_.password = PasswordFrom({}, TlsRole::kServer);
  EXPECT_THAT(OpenError(), HasSubstr("MS_TLS_SERVER_PASSWORD, which is not set"));
}

TEST_F(TlsStoreTest, TakesAKeyOfItsOwn) {
  const Issued issued = authority_.Issue(SchedulerSpec());
  folder_.Write("chain.pem", issued.chain_pem);
  folder_.Write("key.pem", issued.key_pem);
  chmod(folder_.path("chain.pem").c_str(), 0644);
  folder_.Write("tls.json",
                R"({"server_cert_path": "chain.pem", "server_key_path": "key.pem", "ca_cert_path": "ca.crt"})");
  EXPECT_TRUE(Open().ok()) << OpenError();
  chmod(folder_.path("key.pem").c_str(), 0640 | 0004);
  EXPECT_THAT(OpenError(), HasSubstr("may be read or changed by others"));
  options_.settings.allow_readable_keys = true;
  EXPECT_TRUE(Open().ok()) << OpenError();
}

TEST_F(TlsStoreTest, RefusesWhatThePeersWouldRefuse) {
  const auto error_with = [&](const CertificateSpec& spec) {
    folder_.Write("server.pem", authority_.Issue(spec).all_pem());
    return OpenError();
  };
  CertificateSpec expired = SchedulerSpec();
  expired.from = -absl::Hours(2);
  expired.until = -absl::Hours(1);
  EXPECT_THAT(error_with(expired), HasSubstr("server_cert_path"));
  EXPECT_THAT(error_with(expired), HasSubstr("expired at"));
  CertificateSpec early = SchedulerSpec();
  early.from = absl::Hours(1);
  EXPECT_THAT(error_with(early), HasSubstr("valid only from"));
  CertificateSpec usage = SchedulerSpec();
  usage.usages = "clientAuth";
  EXPECT_THAT(error_with(usage), HasSubstr("not for this use"));
  CertificateSpec unnamed = SchedulerSpec();
  unnamed.uris = {};
  EXPECT_THAT(error_with(unnamed), HasSubstr("has no URI name"));
  options_.settings.identity = "ca-only";
  EXPECT_TRUE(Open().ok());
  options_.settings.identity = "name";
  Authority other;
  folder_.Write("server.pem", other.Issue(SchedulerSpec()).all_pem());
  EXPECT_THAT(OpenError(), HasSubstr("not from an authority in ca_cert_path"));
  const Issued revoked = authority_.Issue(SchedulerSpec());
  folder_.Write("server.pem", revoked.all_pem());
  folder_.Write("crl.pem", authority_.RevocationList({revoked.certificate}));
  EXPECT_THAT(OpenError(), HasSubstr("was revoked"));
}

TEST_F(TlsStoreTest, DoesNotStartWithoutItsRevocationList) {
  for (const std::string bytes : {"", "garbage"}) {
    folder_.Write("crl.pem", bytes);
    EXPECT_THAT(OpenError(), HasSubstr("crl_path"));
  }
  remove(folder_.path("crl.pem").c_str());
  EXPECT_THAT(OpenError(), HasSubstr("crl_path: " + folder_.path("crl.pem") + " can't be read"));
}

TEST_F(TlsStoreTest, ServesARenewedCertificate) {
  ASSERT_TRUE(Open().ok());
  EXPECT_FALSE(store_->Poll());
  const Issued renewed = authority_.Issue(SchedulerSpec());
  folder_.Write("server.pem", renewed.all_pem());
  EXPECT_TRUE(store_->Poll());
  EXPECT_EQ(Serving(), renewed.certificate.Fingerprint());
  EXPECT_EQ(store_->Current()->identity_generation, 2u);
  EXPECT_EQ(store_->Current()->trust_generation, 1u);
  EXPECT_FALSE(store_->Poll());
}

TEST_F(TlsStoreTest, NeverServesAHalfWrittenPair) {
  const Issued first = authority_.Issue(SchedulerSpec()), second = authority_.Issue(SchedulerSpec());
  folder_.Write("chain.pem", first.chain_pem);
  folder_.Write("key.pem", first.key_pem);
  folder_.Write("tls.json",
                R"({"server_cert_path": "chain.pem", "server_key_path": "key.pem", "ca_cert_path": "ca.crt"})");
  ASSERT_TRUE(Open().ok());
  folder_.Write("key.pem", second.key_pem);
  EXPECT_FALSE(store_->Poll());
  EXPECT_FALSE(store_->Poll());
  EXPECT_EQ(Serving(), first.certificate.Fingerprint());
  EXPECT_EQ(Refused(), 1u) << "one alarm, not one for each look";
  folder_.Write("chain.pem", second.chain_pem.substr(0, 200));
  EXPECT_FALSE(store_->Poll());
  EXPECT_EQ(Serving(), first.certificate.Fingerprint());
  folder_.Write("chain.pem", second.chain_pem);
  EXPECT_TRUE(store_->Poll());
  EXPECT_EQ(Serving(), second.certificate.Fingerprint());
}

TEST_F(TlsStoreTest, SeesAFileThatIsWrittenInPlace) {
  ASSERT_TRUE(Open().ok());
  const Issued renewed = authority_.Issue(SchedulerSpec());
  const std::string bytes = renewed.all_pem();
  std::ofstream(folder_.path("server.pem")) << bytes.substr(0, bytes.size() / 2);
  EXPECT_FALSE(store_->Poll());
  std::ofstream(folder_.path("server.pem")) << bytes;
  EXPECT_TRUE(store_->Poll());
  EXPECT_EQ(Serving(), renewed.certificate.Fingerprint());
}

TEST_F(TlsStoreTest, KeepsTheLastGoodRevocationList) {
  const Issued bad = authority_.Issue(NodeSpec("bad"));
  ASSERT_TRUE(Open().ok());
  const auto is_revoked = [&] { return !CheckStillGood(*store_->Current()->trust, {bad.certificate}).ok(); };
  EXPECT_FALSE(is_revoked());
  folder_.Write("crl.pem", authority_.RevocationList({bad.certificate}));
  EXPECT_TRUE(store_->Poll());
  EXPECT_TRUE(is_revoked());
  for (const std::string bytes : {"", "garbage"}) {
    folder_.Write("crl.pem", bytes);
    EXPECT_FALSE(store_->Poll());
    EXPECT_TRUE(is_revoked());
  }
  remove(folder_.path("crl.pem").c_str());
  EXPECT_FALSE(store_->Poll());
  EXPECT_TRUE(is_revoked());
  EXPECT_GE(Refused(), 2u);
  folder_.Write("crl.pem", authority_.RevocationList({}));
  EXPECT_TRUE(store_->Poll());
  EXPECT_FALSE(is_revoked());
}

TEST_F(TlsStoreTest, AnOlderRevocationListIsRefused) {
  const Issued bad = authority_.Issue(NodeSpec("bad"));
  const auto list = [&](const std::vector<Certificate>& revoked, int hours, uint32_t number) {
    folder_.Write("crl.pem", authority_.RevocationList(revoked, absl::Hours(-hours), absl::Hours(24), number));
  };
  const auto is_revoked = [&] { return !CheckStillGood(*store_->Current()->trust, {bad.certificate}).ok(); };
  list({}, 4, 0);
  ASSERT_TRUE(Open().ok());
  list({bad.certificate}, 2, 0);
  EXPECT_TRUE(store_->Poll());
  list({}, 3, 0);
  EXPECT_FALSE(store_->Poll()) << "the copy of the day before";
  EXPECT_TRUE(is_revoked());
  EXPECT_EQ(Refused(), 1u);
  list({bad.certificate}, 2, 7);
  EXPECT_TRUE(store_->Poll());
  list({}, 1, 6);
  EXPECT_FALSE(store_->Poll()) << "numbers decide, where both have one";
  EXPECT_TRUE(is_revoked());
  list({}, 3, 8);
  EXPECT_TRUE(store_->Poll());
  EXPECT_FALSE(is_revoked());
}

TEST_F(TlsStoreTest, AListMayNotBeDroppedWhileItsAuthorityIsTrusted) {
  const testing_tls::Authority other("Other CA");
  const Issued bad = authority_.Issue(NodeSpec("bad"));
  const auto is_revoked = [&] { return !CheckStillGood(*store_->Current()->trust, {bad.certificate}).ok(); };
  folder_.Write("ca.crt", authority_.pem() + other.pem());
  folder_.Write("crl.pem", authority_.RevocationList({bad.certificate}) + other.RevocationList({}));
  ASSERT_TRUE(Open().ok());
  folder_.Write("crl.pem", other.RevocationList({}));
  EXPECT_FALSE(store_->Poll());
  EXPECT_TRUE(is_revoked());
  EXPECT_EQ(Refused(), 1u);
  folder_.Write("crl.pem", authority_.RevocationList({bad.certificate}) + other.RevocationList({}));
  store_->Poll();
  EXPECT_TRUE(is_revoked());
  folder_.Write("ca.crt", authority_.pem());
  folder_.Write("crl.pem", authority_.RevocationList({bad.certificate}));
  EXPECT_TRUE(store_->Poll()) << "with its authority it may go";
  EXPECT_EQ(Refused(), 1u);
}

TEST_F(TlsStoreTest, AnAuthorityThatIsMissingForAMomentLosesNoList) {
  const testing_tls::Authority other("Other CA");
  const Issued bad = authority_.Issue(NodeSpec("bad"));
  const std::string both = authority_.pem() + other.pem();
  folder_.Write("ca.crt", both);
  folder_.Write("crl.pem", authority_.RevocationList({bad.certificate}) + other.RevocationList({}));
  ASSERT_TRUE(Open().ok());
  folder_.Write("ca.crt", other.pem());
  EXPECT_TRUE(store_->Poll());
  folder_.Write("ca.crt", both);
  EXPECT_TRUE(store_->Poll());
  EXPECT_FALSE(CheckStillGood(*store_->Current()->trust, {bad.certificate}).ok());
  EXPECT_EQ(store_->Current()->trust->lists.size(), 2u);
}

TEST_F(TlsStoreTest, TheOwnEndIsThatOfTheAuthoritiesOfNow) {
  testing_tls::Authority middle = authority_.IssueAuthority("Middle");
  CertificateSpec ending = SchedulerSpec();
  ending.until = absl::Hours(24) * 365 * 30;
  folder_.WriteConfig(false);
  folder_.Write("ca.crt", authority_.pem());
  folder_.Write("server.pem", middle.Issue(ending).all_pem());
  ASSERT_TRUE(Open().ok());
  const absl::Time before = store_->Current()->OwnEnd();
  EXPECT_LT(before, store_->Current()->identity->leaf().NotAfter()) << "an authority ends first";
  ASSERT_EQ(store_->Current()->own_chain.size(), 3u);
  EXPECT_EQ(store_->Current()->FirstListEnd(), absl::InfiniteFuture()) << "there is no list";
  const Certificate renewed = authority_.Renew(middle, "Middle");
  folder_.Write("ca.crt", authority_.pem() + renewed.ToPem());
  EXPECT_TRUE(store_->Poll());
  EXPECT_EQ(store_->Current()->own_chain[1].Fingerprint(), renewed.Fingerprint());
}

TEST_F(TlsStoreTest, SeveralListsOfOneAuthorityAreAsItsNewest) {
  const Issued bad = authority_.Issue(NodeSpec("bad"));
  const auto list = [&](const std::vector<Certificate>& revoked, uint32_t number) {
    return authority_.RevocationList(revoked, -absl::Minutes(1), absl::Hours(24), number);
  };
  const auto is_revoked = [&] { return !CheckStillGood(*store_->Current()->trust, {bad.certificate}).ok(); };
  const std::string both = list({}, 5) + list({}, 6);
  folder_.Write("crl.pem", both);
  ASSERT_TRUE(Open().ok());
  const absl::Time list_end = store_->Current()->FirstListEnd();
  for (const RevocationList& one : store_->Current()->trust->lists) EXPECT_LE(list_end, one.NextUpdate());
  EXPECT_LT(list_end, absl::InfiniteFuture());
  store_->Nudge();
  EXPECT_FALSE(store_->Poll());
  EXPECT_EQ(Refused(), 0u) << "nothing has changed";
  folder_.Write("crl.pem", both + list({bad.certificate}, 7));
  EXPECT_TRUE(store_->Poll());
  EXPECT_TRUE(is_revoked());
  folder_.Write("crl.pem", both);
  EXPECT_FALSE(store_->Poll());
  EXPECT_TRUE(is_revoked());
  EXPECT_EQ(Refused(), 1u);
}

TEST_F(TlsStoreTest, AListIsTakenWhileTheCertificateIsBroken) {
  const Issued bad = authority_.Issue(NodeSpec("bad"));
  ASSERT_TRUE(Open().ok());
  folder_.Write("server.pem", "half");
  folder_.Write("crl.pem", authority_.RevocationList({bad.certificate}));
  EXPECT_TRUE(store_->Poll());
  EXPECT_FALSE(CheckStillGood(*store_->Current()->trust, {bad.certificate}).ok());
}

TEST_F(TlsStoreTest, AuthoritiesAreReplacedWhileOthersStay) {
  folder_.WriteConfig(false);
  ASSERT_TRUE(Open().ok());
  Authority next("Next CA");
  // The files come in the wrong order: the certificate waits for its authority.
  const Issued renewed = next.Issue(SchedulerSpec());
  folder_.Write("server.pem", renewed.all_pem());
  EXPECT_FALSE(store_->Poll());
  folder_.Write("ca.crt", authority_.pem() + next.pem());
  EXPECT_TRUE(store_->Poll());
  EXPECT_EQ(Serving(), renewed.certificate.Fingerprint());
  folder_.Write("ca.crt", "garbage");
  EXPECT_FALSE(store_->Poll());
  EXPECT_EQ(store_->Current()->trust->authorities.size(), 2u);
}

TEST_F(TlsStoreTest, ANameDoesNotChangeWhileItRuns) {
  ASSERT_TRUE(Open().ok());
  const std::string before = Serving();
  CertificateSpec other = SchedulerSpec();
  other.uris = {testing_tls::SchedulerUri("another")};
  folder_.Write("server.pem", authority_.Issue(other).all_pem());
  EXPECT_FALSE(store_->Poll());
  EXPECT_EQ(Serving(), before);
}

// A file from a server with its clock ahead looks as if it were still being written.
TEST_F(TlsStoreTest, AFileOfTheFutureIsNotReadAtEachLook) {
  class Behind : public Clock {
   public:
    Now Read() const override { return reading; }
    Now reading;
  } clock;
  clock.reading = Clock::System().Read();
  clock.reading.wall.unix_ms -= 10 * 60 * 1000;
  options_.settings.config = folder_.WriteConfig(false);
  auto store = TlsStore::Open(options_, clock, counted_);
  ASSERT_TRUE(store.ok()) << store.status();
  clock.reading.monotonic = clock.reading.monotonic + absl::Seconds(3);
  (*store)->Poll();
  const int inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  ASSERT_GE(inotify_add_watch(inotify, folder_.path("server.pem").c_str(), IN_OPEN), 0);
  for (int i = 0; i < 10; ++i) {
    clock.reading.monotonic = clock.reading.monotonic + absl::Milliseconds(500);
    EXPECT_FALSE((*store)->Poll());
  }
  char events[4096];
  EXPECT_LT(read(inotify, events, sizeof(events)), 0) << "it was opened again";
  close(inotify);
}

TEST_F(TlsStoreTest, ItsThreadReportsAChange) {
  ASSERT_TRUE(Open().ok());
  std::atomic<int> reports = 0;
  ASSERT_TRUE(store_->Start([&] { ++reports; }).ok());
  folder_.Write("server.pem", authority_.Issue(SchedulerSpec()).all_pem());
  store_->Nudge();
  for (int i = 0; i < 1000 && reports == 0; ++i) absl::SleepFor(absl::Milliseconds(5));
  EXPECT_EQ(reports, 1);
  store_->Stop();
}

// A file system that stops answering, and may answer again.
class Disk {
 public:
  FileCalls calls() const {
    FileCalls calls;
    calls.stamp = [state = state_](const std::string& path) { return state->Await(path), StampOf(path); };
    calls.read = [state = state_](const std::string& path, FileSecrecy secrecy) {
      return state->Await(path), ReadTlsFile(path, secrecy);
    };
    return calls;
  }
  // Applies to files with names that end with `ending`.
  void SetHanging(bool is_hanging, const std::string& ending = "") {
    MutexLock lock(state_->mutex);
    state_->is_hanging = is_hanging;
    state_->ending = ending;
    state_->changed.NotifyAll();
  }

 private:
  struct State {
    Mutex mutex;
    CondVar changed;
    bool is_hanging ABSL_GUARDED_BY(mutex) = false;
    std::string ending ABSL_GUARDED_BY(mutex);
    void Await(const std::string& path) {
      MutexLock lock(mutex);
      while (is_hanging && path.ends_with(ending)) changed.Wait(mutex);
    }
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

class HangingFilesTest : public TlsStoreTest {
 protected:
  HangingFilesTest() { options_.files = disk_.calls(); }
  ~HangingFilesTest() override { disk_.SetHanging(false); }
  uint64_t Alarms() { return counted_.Counts()[kFilesHang]; }
  void AwaitAlarm() {
    for (int i = 0; i < 2000 && Alarms() == 0; ++i) absl::SleepFor(absl::Milliseconds(5));
    EXPECT_GE(Alarms(), 1u);
  }

  Disk disk_;
};

TEST_F(HangingFilesTest, RaiseTheAlarmAndHoldUpNoStop) {
  ASSERT_TRUE(Open().ok());
  const std::string before = Serving();
  ASSERT_TRUE(store_->Start([] { ADD_FAILURE() << "nothing has changed"; }).ok());
  disk_.SetHanging(true);
  AwaitAlarm();
  EXPECT_EQ(Serving(), before);
  EXPECT_EQ(Refused(), 0u) << "the files are not bad";
  const MonotonicTime begin = Clock::System().Read().monotonic;
  store_.reset();
  EXPECT_LT(Clock::System().Read().monotonic - begin, absl::Seconds(1));
}

TEST_F(HangingFilesTest, HoldUpNoStopAlsoWhileTheyAreWaitedFor) {
  ASSERT_TRUE(Open().ok());
  disk_.SetHanging(true);
  ASSERT_TRUE(store_->Start([] {}).ok());
  const MonotonicTime begin = Clock::System().Read().monotonic;
  store_.reset();
  EXPECT_LT(Clock::System().Read().monotonic - begin, absl::Seconds(1));
  EXPECT_EQ(Alarms(), 0u) << "no call waited for long";
}

TEST_F(HangingFilesTest, AreTakenOverWhenTheyAnswerAgain) {
  ASSERT_TRUE(Open().ok());
  std::atomic<int> reports = 0;
  ASSERT_TRUE(store_->Start([&] { ++reports; }).ok());
  disk_.SetHanging(true);
  const Issued renewed = authority_.Issue(SchedulerSpec());
  folder_.Write("server.pem", renewed.all_pem());
  AwaitAlarm();
  disk_.SetHanging(false);
  for (int i = 0; i < 2000 && reports == 0; ++i) absl::SleepFor(absl::Milliseconds(5));
  EXPECT_EQ(Serving(), renewed.certificate.Fingerprint());
  store_->Stop();
}

TEST_F(HangingFilesTest, HoldUpNoOthers) {
  ASSERT_TRUE(Open().ok());
  const Issued bad = authority_.Issue(NodeSpec("bad"));
  std::atomic<int> reports = 0;
  ASSERT_TRUE(store_->Start([&] { ++reports; }).ok());
  disk_.SetHanging(true, "server.pem");
  AwaitAlarm();
  folder_.Write("crl.pem", authority_.RevocationList({bad.certificate}));
  for (int i = 0; i < 2000 && reports == 0; ++i) absl::SleepFor(absl::Milliseconds(5));
  EXPECT_FALSE(CheckStillGood(*store_->Current()->trust, {bad.certificate}).ok());
  EXPECT_EQ(Alarms(), 1u) << "the certificate's file alone";
  store_->Stop();
}

TEST_F(TlsStoreTest, APipeIsNoFile) {
  ASSERT_TRUE(Open().ok());
  remove(folder_.path("crl.pem").c_str());
  ASSERT_EQ(mkfifo(folder_.path("crl.pem").c_str(), 0600), 0);
  EXPECT_FALSE(store_->Poll());
  EXPECT_EQ(Refused(), 1u);
  EXPECT_THAT(OpenError(), HasSubstr("not a regular file"));
}

}  // namespace
}  // namespace muster
