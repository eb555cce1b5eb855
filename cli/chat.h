#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "cli/terminal/word_stream.h"
#include "core/json.h"
#include "runtime/converse/conversation_events.h"
#include "runtime/converse/tool_event.h"

namespace predgen::cli {

/// What a chat shows: committed text as it comes, a draft pane and a prompt mark on a
/// terminal's stderr, a line of metrics after each turn. Used by one thread.
class ChatView : public ConversationListener {
 public:
  /// kJson: stdout gets one document in finish(), nothing else.
  enum class Format { kText, kJson };
  /// `typed`: a person may type, so a terminal gets a prompt mark. `text_output`: where committed
  /// text goes; stdout, unless that carries sound.
  ChatView(Format format, bool typed, std::FILE* text_output);

  /// What happens to a call of a tool.
  void show_call(const ToolEvent& event);
  void begin_turn();
  void on_event(const ConversationEvent& event) override;
  void finish();
  int64_t num_turns() const { return num_turns_; }
  int64_t num_failed() const { return num_failed_; }

 private:
  void end_turn(const TurnResult& result);
  void print(const std::string& text);
  void show_draft(const std::string& draft);
  void clear_draft();

  const Format format_;
  const bool prompt_mark_, draft_pane_;
  std::FILE* const text_output_;
  WordStream words_;
  bool draft_shown_ = false;
  int64_t num_turns_ = 0, num_failed_ = 0;
  Json turns_ = Json::array(), calls_ = Json::array();  // calls: of the turn
};

}  // namespace predgen::cli
