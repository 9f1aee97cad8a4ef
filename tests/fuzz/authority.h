// Made by make_corpus.py.
#pragma once

namespace muster {

inline constexpr char kFuzzAuthority[] = R"(-----BEGIN CERTIFICATE-----
MIIBIzCByaADAgECAgID6DAKBggqhkjOPQQDAjAPMQ0wCwYDVQQDDARmdXp6MCAX
DTI2MDEwMTAwMDAwMFoYDzIwNTYwMTAxMDAwMDAwWjAPMQ0wCwYDVQQDDARmdXp6
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE6jgIwzsbam4ljrFO6MMSn0ZXPjZl
wlEamHH0TmUe6UQffRHJFsiK8UJHdxFJm8Fa6fkhE/nerquAnhhKiWglVqMTMBEw
DwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNJADBGAiEAmAGa+P3ZuFYqvVcc
PJBtZAJXcsc9bXdEWnyFhAgdS44CIQDeIvg765BC/Edy+10MVHWyop9zrmSIpih8
A3L413R/MQ==
-----END CERTIFICATE-----
)";

}  // namespace muster
