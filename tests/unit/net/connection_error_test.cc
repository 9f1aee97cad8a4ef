#include "common/net/connection_error.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(ConnectionError, IsToldInWords) {
  const std::string all = "failed to connect to all addresses; last error: ";
  const struct {
    std::string grpc_message, words;
  } cases[] = {
      {all + "UNKNOWN: ipv4:127.0.0.1:1: Failed to connect to remote host: No route to host", "No route to host"},
      {all + "UNKNOWN: ipv4:10.0.0.1:1: connection attempt timed out before receiving SETTINGS frame",
       "it accepts the connection, but sends nothing"},
      {all + "UNAVAILABLE: ipv4:127.0.0.1:1: Socket closed", "the connection was closed"},
      {all + "UNAVAILABLE: ipv4:127.0.0.1:1: recvmsg:Connection reset by peer", "the connection was closed"},
      {"Socket closed", "the connection was closed"},
      {"something else", "something else"},
  };
  for (const auto& c : cases) EXPECT_EQ(ConnectionErrorInWords(c.grpc_message), c.words) << c.grpc_message;
}

TEST(ConnectionError, WhatOnlyClosesMaySpeakTls) {
  EXPECT_EQ(PlainConnectionErrorInWords("Socket closed"),
            "the connection was closed at once: if the scheduler speaks TLS, this needs --tls_config "
            "(MS_TLS_CONFIG)");
  EXPECT_EQ(PlainConnectionErrorInWords("something else"), "something else");
}

TEST(ConnectionError, AnotherServerIsOneThatAnswersOtherwise) {
  EXPECT_TRUE(IsAnotherServer("last error: UNAVAILABLE: ipv4:127.0.0.1:22: Failed parsing HTTP/2"));
  EXPECT_TRUE(IsAnotherServer("last error: INTERNAL: ipv4:127.0.0.1:80: Trying to connect an http1.x server"));
  EXPECT_FALSE(IsAnotherServer("Socket closed"));
}

}  // namespace
}  // namespace muster
