#pragma once

#include <cstddef>
#include <string>

#include "cli/terminal/live_region.h"

namespace predgen::cli {

/// What a typed chat shows below the scrolled text. Texts are printable().
struct ChatPicture {
  std::string answer;         // the paragraph that is growing
  std::string line;           // being typed
  size_t cursor = 0;          // byte of `line`
  std::string notice;         // one row below the line; empty: none
  std::string draft;          // empty: no pane
  size_t draft_accepted = 0;  // bytes of `draft` that were kept of the one before
  bool sentence_ready = false, sound_ready = false;
};

/// From top to bottom: the answer, the line, the notice and the pane, cut to what fits. A long
/// line shows the rows around its cursor, a long answer or draft its last ones.
Frame compose_frame(const ChatPicture& picture, const ScreenSize& size);

/// The text of an answer as it scrolls away: lines that fit.
std::string answer_lines(const std::string& text, const ScreenSize& size);

/// How much of the answer must scroll away for the rest to fit and grow: bytes of its first rows, 0
/// if it is short enough.
size_t answer_overflow(const std::string& answer, const ScreenSize& size);

}  // namespace predgen::cli
