#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "text/sentence/block_marks.h"

namespace predgen {

/// Finds the ends of natural sentences in a growing text. Results do not depend on how the text was
/// split into pieces, and every character is examined a bounded number of times. Every end needs
/// one following character (a digit, quote or second mark may come); a few need the next word
/// ("U.S. The") or the beginning of the next line.
class SentenceEndFinder {
 public:
  /// Byte just past the next sentence (closing quotes included, trailing space not). None: no
  /// further sentence ends in `text` yet. `text` begins with that of the last call and holds whole
  /// characters. `complete`: no more will come, so the rest is a sentence unless blank.
  std::optional<size_t> next(std::string_view text, bool complete);

 private:
  bool begin_sentence(OpenText text);
  Verdict judge(OpenText text, char32_t code);
  void pass(std::string_view text, size_t length);
  size_t end_sentence(size_t end);

  size_t end_ = 0;  // of the last sentence
  // Of the sentence under way:
  bool begun_ = false;
  size_t begin_ = 0, at_ = 0;  // bytes; it does not end before at_
  size_t run_ = 0;             // bytes of the marks or the line break at at_
  bool has_content_ = false;   // marks and dashes alone are not a sentence
  bool in_url_ = false;
  size_t code_quote_ = 0;  // length of the `` that opened a code span; 0: outside
  bool quoted_ = false;    // the line begins with '>'
  Fence fence_;
  size_t fence_line_ = 0;
};

}  // namespace predgen
