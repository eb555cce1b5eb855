#pragma once

#include <cstdio>
#include <string>

#include "cli/terminal/word_stream.h"
#include "core/json.h"
#include "runtime/converse/turn.h"

namespace predgen::cli {

/// What a chat shows: committed text as it comes, a draft pane and a prompt mark on a
/// terminal's stderr, a line of metrics after each turn. Used by one thread.
class ChatView {
 public:
  /// kJson: stdout gets one document in finish(), nothing else.
  enum class Format { kText, kJson };
  /// `typed`: a person may type, so a terminal gets a prompt mark. `text_output`: where committed
  /// text goes; stdout, unless that carries sound.
  ChatView(Format format, bool typed, std::FILE* text_output);

  TurnObserver observer();
  void begin_turn();
  void end_turn(const TurnResult& result);
  void finish();

 private:
  void print(const std::string& text);
  void show_draft(const std::string& draft);
  void clear_draft();

  const Format format_;
  const bool prompt_mark_, draft_pane_;
  std::FILE* const text_output_;
  WordStream words_;
  bool draft_shown_ = false;
  Json turns_ = Json::array();
};

}  // namespace predgen::cli
