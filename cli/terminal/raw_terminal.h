#pragma once

#include <string_view>

#include "cli/terminal/live_region.h"

namespace predgen::cli {

/// A terminal that hands over every key at once, without echo, and marks what is pasted. It is
/// restored on every way out: by the destructor, at exit(), and on signals that end the process,
/// whose previous action then follows. One at a time (PREDGEN_CHECK).
class RawTerminal {
 public:
  /// Whether keys can be read from `in` and frames drawn on `out`: both terminals, and $TERM is
  /// not "dumb".
  static bool is_possible(int in, int out);

  /// File descriptors that stay the caller's. Error if the terminal refuses.
  RawTerminal(int in, int out);
  ~RawTerminal();
  RawTerminal(const RawTerminal&) = delete;

  /// Puts the terminal back, for a process that ends by _Exit().
  static void give_back();

  /// Gives the terminal back and stops the process, as Ctrl-Z does; returns when it resumes.
  void suspend();

  /// False: the terminal is gone. Any thread.
  bool write(std::string_view bytes) const;

  /// The current size. Any thread.
  ScreenSize size() const;

 private:
  const int in_, out_;
};

}  // namespace predgen::cli
