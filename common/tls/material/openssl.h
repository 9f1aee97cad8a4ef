// Smart pointers for OpenSSL's objects, and access to OpenSSL's queue of errors.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pkcs12.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <vector>

namespace muster {

// Takes all errors from this thread's error queue in OpenSSL, the oldest first.
std::vector<unsigned long> TakeOpenSslErrors();  // NOLINT(google-runtime-int): OpenSSL's type

bool HasReason(const std::vector<unsigned long>& errors, int library, int reason);  // NOLINT(google-runtime-int)

// Returns the reason as text, such as "mac verify failure"; "no reason given" if there are no errors.
std::string OpenSslReason(const std::vector<unsigned long>& errors);  // NOLINT(google-runtime-int)

template <auto kFree>
struct OpenSslDelete {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};

// A callback that makes encrypted PEM fail. Without it, OpenSSL would ask for the passphrase on the terminal and wait.
inline int RefusePassphrase(char* /*buffer*/, int /*size*/, int /*writes*/, void* /*argument*/) { return -1; }

inline void FreeX509Stack(STACK_OF(X509) * stack) { sk_X509_pop_free(stack, X509_free); }
inline void FreeX509StackOnly(STACK_OF(X509) * stack) { sk_X509_free(stack); }

using BioPtr = std::unique_ptr<BIO, OpenSslDelete<BIO_free_all>>;
using X509Ptr = std::unique_ptr<X509, OpenSslDelete<X509_free>>;
using X509CrlPtr = std::unique_ptr<X509_CRL, OpenSslDelete<X509_CRL_free>>;
using X509StorePtr = std::unique_ptr<X509_STORE, OpenSslDelete<X509_STORE_free>>;
using X509StoreCtxPtr = std::unique_ptr<X509_STORE_CTX, OpenSslDelete<X509_STORE_CTX_free>>;
using X509StackPtr = std::unique_ptr<STACK_OF(X509), OpenSslDelete<FreeX509Stack>>;       // owns its items
using X509BorrowPtr = std::unique_ptr<STACK_OF(X509), OpenSslDelete<FreeX509StackOnly>>;  // does not own its items
using EvpKeyPtr = std::unique_ptr<EVP_PKEY, OpenSslDelete<EVP_PKEY_free>>;
using Pkcs12Ptr = std::unique_ptr<PKCS12, OpenSslDelete<PKCS12_free>>;
using SslPtr = std::unique_ptr<SSL, OpenSslDelete<SSL_free>>;
using SslContextPtr = std::unique_ptr<SSL_CTX, OpenSslDelete<SSL_CTX_free>>;
using GeneralNamesPtr = std::unique_ptr<GENERAL_NAMES, OpenSslDelete<GENERAL_NAMES_free>>;

}  // namespace muster
