#pragma once

#include <cstdio>
#include <string>

#include "core/mutex.h"

namespace predgen::ears {

/// Says why the program ends, even where sherpa-onnx ends it: in one frame for the client,
/// or in one line on standard error if there is no client. What libraries write to
/// standard error goes to an unnamed file, whose last line is then the reason. One per
/// program.
class FailureReport {
 public:
  /// `out`: where frames are written.
  explicit FailureReport(int out);

  /// What is being done now, in case a library ends the program.
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
