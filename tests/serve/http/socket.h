#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace predgen::serve {

/// A client that sends bytes as they are.
class Socket {
 public:
  /// `window`: bytes that the system takes for a client which does not read; 0: as it likes.
  /// `from`: the client's address, 127.0.0.0 and so many.
  explicit Socket(int port, int window = 0, uint32_t from = 1)
      : descriptor_(::socket(AF_INET, SOCK_STREAM, 0)) {
    if (window > 0) ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUF, &window, sizeof window);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + from);
    EXPECT_EQ(::bind(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~Socket() { close(); }
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  void close() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }
  /// Sends no more, but reads on.
  void end_sending() { ::shutdown(descriptor_, SHUT_WR); }
  /// False: the other side has closed.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(count));
    }
    return true;
  }
  /// Everything until `end` has come, or the other side closes.
  std::string read_until(const std::string& end) {
    std::string text;
    char byte = 0;
    while (!text.ends_with(end) && ::recv(descriptor_, &byte, 1, 0) == 1) text += byte;
    return text;
  }
  std::string read_all() {
    std::string text;
    std::array<char, 4096> some{};
    for (ssize_t count = 0; (count = ::recv(descriptor_, some.data(), some.size(), 0)) > 0;) {
      text.append(some.data(), static_cast<size_t>(count));
    }
    return text;
  }

 private:
  int descriptor_;
};

}  // namespace predgen::serve
