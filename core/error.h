#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace predgen {

/// A failure that the user cannot fix: a bug, a broken disk. Exit code 1.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
  template <typename... Args>
  requires(sizeof...(Args) > 0) explicit Error(fmt::format_string<Args...> format, Args&&... args)
      : std::runtime_error(fmt::format(format, std::forward<Args>(args)...)) {}
};

/// A bad flag, file, configuration or input. The message is one line that says what to change.
/// Exit code 2.
class UserError : public Error {
 public:
  using Error::Error;
};

/// Ctrl-C or SIGTERM was noticed at a point where stopping loses nothing. Exit code 130.
class Interrupted : public Error {
 public:
  Interrupted() : Error(std::string("interrupted")) {}
};

/// Throws UserError with the setting's name and both numbers if `value` is below `minimum`.
inline void check_at_least(int64_t minimum, int64_t value, const char* name) {
  if (value < minimum) throw UserError("{} is {}, but must be at least {}", name, value, minimum);
}

[[noreturn]] void fail_check(const char* condition, const char* file, int line,
                             const std::string& message);

}  // namespace predgen

/// A condition that only a bug can violate. Not named CHECK: c10 has that macro.
#define PREDGEN_CHECK(condition, ...)                                                    \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      ::predgen::fail_check(#condition, __FILE__, __LINE__, ::fmt::format(__VA_ARGS__)); \
    }                                                                                    \
  } while (false)
