#pragma once

#include <cstdio>
#include <string>

#include "core/mutex.h"

namespace predgen::ears {

/// Says why the program ends, even where sherpa-onnx ends it: in one frame for the client, or in
/// one line on standard error where no client is at the other end. What the libraries write on
/// standard error goes into a file of no name, whose last line is the reason then. One for the
/// program.
class FailureReport {
 public:
  /// `out`: where frames are written.
  explicit FailureReport(int out);

  /// What is being done, for the case that a library ends the program.
  void set_part(std::string part);
  /// Ends the program.
  [[noreturn]] void fail(const std::string& why, int exit_code);
  /// A library ends the program, by exit() or _Exit(). Returns if nothing was begun.
  void on_exit();

 private:
  std::string last_line() const;

  const int out_;
  int errors_ = -1;  // the standard error that we were given
  int log_ = -1;     // what libraries write instead
  Mutex mutex_;
  std::string part_ GUARDED_BY(mutex_);
};

}  // namespace predgen::ears
