#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/tls/tls_config.h"

namespace muster {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// As MindSpore's document prints it, with its typing error.
constexpr char kDocuments[] =
    "ECDHE-R SA-AES128-GCM-SHA256:ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384:"
    "ECDHE-ECDSA-AES256-GCM-SHA384:DHE-RSA-AES128-GCM-SHA256:DHE-DSS-AES128-GCM-SHA256:DHE-RSA-AES256-GCM-SHA384:"
    "DHE-DSS-AES256-GCM-SHA384:DHE-PSK-AES128-GCM-SHA256:DHE-PSK-AES256-GCM-SHA384:DHE-PSK-CHACHA20-POLY1305:"
    "ECDHE-RSA-CHACHA20-POLY1305:ECDHE-PSK-CHACHA20-POLY1305:DHE-RSA-AES128-CCM:DHE-RSA-AES256-CCM:"
    "DHE-RSA-CHACHA20-POLY1305:DHE-PSK-AES128-CCM:DHE-PSK-AES256-CCM:ECDHE-ECDSA-AES128-CCM:ECDHE-ECDSA-AES256-CCM:"
    "ECDHE-ECDSA-CHACHA20-POLY1305";

TEST(CipherList, TakesTheDocumentsOwn) {
  const auto chosen = ChooseCiphers(kDocuments);
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_EQ(chosen->usable,
            "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES256-GCM-SHA384:"
            "ECDHE-RSA-CHACHA20-POLY1305:ECDHE-ECDSA-AES128-CCM:ECDHE-ECDSA-AES256-CCM:ECDHE-ECDSA-CHACHA20-POLY1305");
  EXPECT_THAT(chosen->warning, HasSubstr("\"ECDHE-R SA-AES128-GCM-SHA256\""));
  EXPECT_THAT(chosen->warning, Not(HasSubstr("\n")));
}

TEST(CipherList, SaysNothingOfAGoodOne) {
  const auto chosen = ChooseCiphers("ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:TLS_AES_128_GCM_SHA256");
  ASSERT_TRUE(chosen.ok());
  EXPECT_EQ(chosen->usable, "ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384");
  EXPECT_EQ(chosen->warning, "");
}

TEST(CipherList, RefusesWhenNothingIsLeft) {
  for (const std::string list : {"", ":", "NO-SUCH-SUITE", "ALL", "HIGH:!aNULL", "DHE-RSA-AES128-GCM-SHA256",
                                 "NULL-SHA256", "ECDHE-RSA-AES128-SHA", "DES-CBC3-SHA", "ECDHE-RSA-NULL-SHA",
                                 "AES128-GCM-SHA256", "ADH-AES128-GCM-SHA256", "TLS_AES_128_GCM_SHA256"}) {
    EXPECT_EQ(ChooseCiphers(list).status().code(), absl::StatusCode::kInvalidArgument) << list;
  }
}

TEST(CipherList, IsBounded) { EXPECT_FALSE(ChooseCiphers(std::string(100'000, 'A')).ok()); }

}  // namespace
}  // namespace muster
