#pragma once

#include <cstddef>
#include <string_view>

namespace predgen {

/// What a character says about the end of a sentence: '.', an ellipsis, '?' and '!', the full stops
/// of scripts that need no space after them.
enum class Mark { kNone, kPeriod, kEllipsis, kQuestion, kFullStop };
Mark mark_of(char32_t code);

/// A run of marks with the quotes, brackets and footnotes that close after them: `?!`, `...`,
/// `."`, `!).`, `.[1]`.
struct MarkRun {
  size_t begin = 0, end = 0;
  int periods = 0;
  bool question = false, full_stop = false;
  bool closed = false;  // something closes after the marks,
  bool quoted = false;  // and not just emphasis

  /// One '.', and nothing but what closes.
  bool is_single_period() const { return periods == 1 && !question && !full_stop; }
};
/// The run that begins with the mark at byte `begin`. A footnote that has only begun reaches to the
/// end of the text.
MarkRun mark_run_at(std::string_view text, size_t begin);

}  // namespace predgen
