#pragma once

#include <deque>
#include <optional>
#include <stop_token>
#include <string>

#include "cli/chat_command.h"
#include "cli/chat_frame.h"
#include "cli/terminal/key_decoder.h"
#include "cli/terminal/line_editor.h"
#include "cli/terminal/live_region.h"
#include "hear/transcripts/typed_line_source.h"

namespace predgen::cli {

/// A chat on a terminal, without the terminal: keys and the model's news go in, bytes to write and
/// transcripts come out. Used by one thread at a time.
///
/// It begins while the model is loading. Lines sent then, or during a turn, wait until that is
/// over, and are shown in the notice; what is typed meanwhile is the next line. On an empty line, a
/// key that deletes or goes back takes the last waiting line back. Ctrl-C empties the line and
/// forgets those that wait; if there are none, it stops the turn in progress, or leaves: at once
/// while the model is loading, else when it is pressed twice.
class TypedChat {
 public:
  /// Tells `source` what is typed; it outlives this.
  TypedChat(TypedLineSource& source, ChatChoices choices);

  void press(const Key& key);
  /// No more turns: the source is closed, the turn in progress asked to stop.
  void leave();
  bool is_leaving() const { return leaving_; }
  /// Until the first begin_turn().
  bool is_loading() const { return loading_; }
  /// How much of the model is loaded, in percent.
  void show_loading(int percent) { loaded_percent_ = percent; }

  /// The model's side waits for the next line from here on. The token asks this turn to stop.
  std::stop_token begin_turn();
  /// The draft so far and how many of its bytes were kept of the previous one. A call after the
  /// line was sent or emptied is out of date, and ignored; so are the two marks.
  void show_draft(const std::string& draft, size_t accepted_bytes);
  /// A draft's first sentence is complete, or its sound is synthesised. The marks are shown with
  /// drafts that contain this sentence, even if the mark comes before the draft.
  void mark_first_sentence(const std::string& sentence);
  void mark_sound(const std::string& sentence);
  /// The sentence marked last, if its sound is not marked; empty: none.
  std::string sentence_without_sound() const { return has_sound_ ? "" : sentence_; }
  /// Committed text: scrolls away as ordinary text.
  void print_answer(const std::string& text);
  /// The answer is complete; `summary` is a line about it, empty: none.
  void end_turn(const std::string& summary);
  /// Prints a line of its own, at any time.
  void print_line(const std::string& text);
  /// A command that ended a turn without words; carry it out before the next begin_turn().
  std::optional<ChatCommand> take_command();

  /// What the terminal must be sent now.
  std::string draw(const ScreenSize& size);
  /// The last such bytes: only the scrolled text remains.
  std::string draw_end(const ScreenSize& size);

 private:
  void send();
  /// Whether the line is for the chat itself: it asks for help, leaves, or is a wrong command.
  bool answer_at_once(const std::string& line);
  /// To the model's side, which waits for it.
  void submit(const std::string& line);
  void cancel();
  void after_edit();
  std::string notice() const;
  void forget_draft();
  void show_marks();
  void scroll_sent(const std::string& line);

  TypedLineSource& source_;
  const ChatChoices choices_;
  LineEditor editor_;
  LiveRegion region_;
  ChatPicture picture_;
  ScreenSize size_;
  std::string scrolled_;    // not yet drawn
  std::string sentence_;    // the draft's first one; empty: incomplete
  bool has_sound_ = false;  // that sentence
  bool loading_ = true;
  std::optional<int> loaded_percent_;
  bool busy_ = true;                 // nobody waits for a line
  std::deque<std::string> waiting_;  // lines to submit when somebody does
  bool cancelled_ = false;           // Ctrl-C on an empty line was the last key
  bool leaving_ = false;
  std::optional<ChatCommand> command_;
  std::stop_source turn_;
};

}  // namespace predgen::cli
