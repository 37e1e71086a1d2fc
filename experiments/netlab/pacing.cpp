// Preloaded into a program: every TCP connection that it opens or accepts sends no faster than CERAR_PACING_BYTES a
// second (SO_MAX_PACING_RATE, which TCP keeps by itself). See run_with_loopback_pacing in netlab.h.
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <sys/socket.h>

namespace {

void pace(int descriptor) {
  if (const char* text = std::getenv("CERAR_PACING_BYTES")) {
    const std::uint64_t rate = std::strtoull(text, nullptr, 10);
    setsockopt(descriptor, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof rate);
  }
}

template <class Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int connect(int descriptor, const sockaddr* address, socklen_t length) {
  static const auto connect_really = real<int (*)(int, const sockaddr*, socklen_t)>("connect");
  if (address != nullptr && (address->sa_family == AF_INET || address->sa_family == AF_INET6)) {
    pace(descriptor);
  }
  return connect_really(descriptor, address, length);
}

int accept(int listener, sockaddr* address, socklen_t* length) {
  static const auto accept_really = real<int (*)(int, sockaddr*, socklen_t*)>("accept");
  const int descriptor = accept_really(listener, address, length);
  if (descriptor >= 0) {
    pace(descriptor);
  }
  return descriptor;
}

int accept4(int listener, sockaddr* address, socklen_t* length, int flags) {
  static const auto accept_really = real<int (*)(int, sockaddr*, socklen_t*, int)>("accept4");
  const int descriptor = accept_really(listener, address, length, flags);
  if (descriptor >= 0) {
    pace(descriptor);
  }
  return descriptor;
}

}  // extern "C"
