#pragma once

#include <cstddef>
#include <string_view>

namespace predgen {

/// The kind of sentence mark that a character is: '.', an ellipsis, '?' and '!', the full stops of
/// scripts that need no space after them.
enum class Mark { kNone, kPeriod, kEllipsis, kQuestion, kFullStop };
Mark mark_of(char32_t code);

/// A run of marks with the closing quotes, brackets and footnotes after them: `?!`, `...`, `."`,
/// `!).`, `.[1]`.
struct MarkRun {
  size_t begin = 0, end = 0;
  int periods = 0;
  bool question = false, full_stop = false;
  bool closed = false;  // something closes after the marks,
  bool quoted = false;  // and not just emphasis

  /// A single '.', apart from what closes after it.
  bool is_single_period() const { return periods == 1 && !question && !full_stop; }
};
/// The run that begins with the mark at byte `begin`. An unfinished footnote reaches to the end of
/// the text.
MarkRun mark_run_at(std::string_view text, size_t begin);

}  // namespace predgen
