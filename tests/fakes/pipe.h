#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace predgen {

/// A pipe of the system, with both ends in this process.
class Pipe {
 public:
  Pipe() { EXPECT_EQ(pipe(ends_), 0); }
  ~Pipe() {
    end();
    close(ends_[0]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int out() const { return ends_[0]; }  // to read from
  int in() const { return ends_[1]; }
  void send(const std::string& text) {
    EXPECT_EQ(write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  /// Nothing is written any more.
  void end() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  int ends_[2] = {-1, -1};
};

}  // namespace predgen
