#include "tests/tls/server/raw_client.h"

#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <csignal>

#include "common/base/check.h"

namespace muster::testing_tls {
namespace {

// The preface and an empty SETTINGS frame.
constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";
constexpr unsigned char kAlpn[] = {2, 'h', '2'};

int Connect(uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  const timeval timeout{10, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  close(fd);
  return -1;
}

void UseCertificate(SSL_CTX* context, const Issued& issued) {
  const auto chain = ParseCertificates(issued.chain_pem);
  MUSTER_CHECK(chain.ok(), "a chain");
  SSL_CTX_use_certificate(context, chain->front().get());
  for (size_t i = 1; i < chain->size(); ++i) SSL_CTX_add1_chain_cert(context, (*chain)[i].get());
  const BioPtr bio = MemoryBio(issued.key_pem);
  const EvpKeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
  MUSTER_CHECK(SSL_CTX_use_PrivateKey(context, key.get()) == 1, "its key");
}

// The ticket of TLS 1.3 comes after the handshake: OpenSSL delivers it while we read.
int KeepSession(SSL* ssl, SSL_SESSION* session) {
  static_cast<RawResult*>(SSL_get_app_data(ssl))->session.reset(session);
  return 1;
}

std::string Number(size_t value, size_t bytes) {
  std::string text;
  while (bytes-- > 0) text += static_cast<char>(value >> (8 * bytes) & 0xff);
  return text;
}
std::string Sized(const std::string& bytes, size_t length_bytes) { return Number(bytes.size(), length_bytes) + bytes; }
std::string Extension(uint16_t type, const std::string& body) { return Number(type, 2) + Sized(body, 2); }

}  // namespace

// RFC 5246, 7.4.1.2; the extensions of RFC 8422, 5.1 and RFC 5246, 7.4.1.4.1.
std::string HelloOf(const std::vector<uint16_t>& suites) {
  std::string listed;
  for (const uint16_t suite : suites) listed += Number(suite, 2);
  const std::string algorithms = Number(0x0401, 2) + Number(0x0403, 2) + Number(0x0201, 2) + Number(0x0203, 2);
  const std::string extensions = Extension(10, Sized(Number(23, 2), 2)) +  // supported groups: secp256r1
                                 Extension(11, Sized(Number(0, 1), 1)) +   // point formats: uncompressed
                                 Extension(13, Sized(algorithms, 2)) +     // RSA and ECDSA with SHA-256 and SHA-1
                                 Extension(16, Sized(Sized("h2", 1), 2));  // ALPN
  const std::string hello = Number(0x0303, 2) + std::string(32, 'r') + Sized("", 1) + Sized(listed, 2) +
                            Sized(Number(0, 1), 1) + Sized(extensions, 2);
  return Number(22, 1) + Number(0x0301, 2) + Sized(Number(1, 1) + Sized(hello, 3), 2);
}

int RawHello(uint16_t port, const std::vector<uint16_t>& suites) {
  const int fd = Connect(port);
  if (fd < 0) return -1;
  const std::string hello = HelloOf(suites);
  unsigned char record_type = 0;
  ssize_t got = -1;
  if (send(fd, hello.data(), hello.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(hello.size())) {
    got = recv(fd, &record_type, 1, 0);
  }
  close(fd);
  return got == 1 ? record_type : static_cast<int>(got);
}

RawResult RawConnect(uint16_t port, const RawOptions& options) {
  RawResult result;
  signal(SIGPIPE, SIG_IGN);  // a refused client may find the connection closed
  ERR_clear_error();
  const SslContextPtr context(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_security_level(context.get(), 0);
  SSL_CTX_set_min_proto_version(context.get(), options.lowest);
  SSL_CTX_set_max_proto_version(context.get(), options.highest);
  MUSTER_CHECK(SSL_CTX_set_cipher_list(context.get(), options.ciphers.c_str()) == 1, "ciphers that OpenSSL knows");
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(context.get(), KeepSession);
  SSL_CTX_set_alpn_protos(context.get(), kAlpn, sizeof kAlpn);
  if (options.certificate != nullptr) UseCertificate(context.get(), *options.certificate);
  const int fd = Connect(port);
  if (fd < 0) {
    result.error = "no connection";
    return result;
  }
  const SslPtr ssl(SSL_new(context.get()));
  SSL_set_app_data(ssl.get(), &result);
  SSL_set_fd(ssl.get(), fd);
  if (options.session != nullptr) SSL_set_session(ssl.get(), options.session);
  if (SSL_connect(ssl.get()) == 1) {
    result.was_resumed = SSL_session_reused(ssl.get()) == 1;
    X509Ptr server(SSL_get1_peer_certificate(ssl.get()));
    if (server != nullptr) result.server_fingerprint = Certificate(std::move(server)).Fingerprint();
    SSL_write(ssl.get(), kPreface, sizeof kPreface - 1);
    unsigned char frame[9];
    size_t got = 0;
    while (got < sizeof frame) {
      const int n = SSL_read(ssl.get(), frame + got, static_cast<int>(sizeof frame - got));
      if (n <= 0) break;
      got += static_cast<size_t>(n);
    }
    result.is_let_in = got == sizeof frame && frame[3] == 4;
    SSL_shutdown(ssl.get());
  }
  result.error = OpenSslReason(TakeOpenSslErrors());
  close(fd);
  return result;
}

}  // namespace muster::testing_tls
