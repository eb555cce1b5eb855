#pragma once

#include <spdlog/logger.h>

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "cli/terminal/raw_terminal.h"
#include "cli/typed_chat.h"
#include "core/clock.h"
#include "core/mutex.h"
#include "hear/transcripts/typed_line_source.h"

namespace predgen::cli {

/// A chat at a terminal that keeps reading keys and redrawing while the model loads and works: its
/// own thread reads the keys. See TypedChat for what the functions of the same names do. Any thread
/// may call them, the source's by the one that runs the turns:
///
///   while (true) {
///     const std::stop_token stop = screen.begin_turn();
///     run a turn on screen.source();
///     if it gave nothing: screen.take_command(), and if there is none, leave the loop;
///     screen.end_turn(summary);
///   }
class ChatScreen {
 public:
  /// RawTerminal::is_possible() must hold. `clock` outlives this. `has_sound` tells whether the
  /// draft's first sentence can be played at once; the thread that reads the keys calls it, after
  /// mark_first_sentence(). A stop counts as the user leaving. A key that leaves before the
  /// first begin_turn() ends the process (0), as loading a model cannot be stopped.
  ChatScreen(int in, int out, const Clock& clock, ChatChoices choices,
             std::function<bool()> has_sound, std::stop_token stop);
  /// Clears the line and puts the terminal back.
  ~ChatScreen();

  TranscriptSource& source() { return source_; }

  void show_loading(int percent);
  std::stop_token begin_turn();
  void show_draft(const std::string& draft, size_t accepted_bytes);
  void mark_first_sentence(const std::string& sentence);
  void print_answer(const std::string& text);
  void end_turn(const std::string& summary);
  void print_line(const std::string& text);
  std::optional<ChatCommand> take_command();
  bool is_leaving();

 private:
  void read_keys();
  void press(const Key& key);
  /// Runs `change` with the mutex held and redraws.
  void update(const std::function<void(TypedChat& chat)>& change);
  void draw_locked() REQUIRES(mutex_);
  /// Between keys: checks for sound that became ready and a new terminal size.
  void look_around();

  RawTerminal terminal_;
  const int in_;
  const std::function<bool()> has_sound_;
  const std::stop_token stop_;
  TypedLineSource source_;
  Mutex mutex_;
  TypedChat chat_ GUARDED_BY(mutex_);
  std::exception_ptr failure_ GUARDED_BY(mutex_);  // of the thread that reads the keys
  ScreenSize drawn_ GUARDED_BY(mutex_);            // of the last frame
  std::atomic<bool> stopping_ = false;
  std::thread reader_;
};

/// While this lives, log messages are lines of a chat: otherwise they would garble its screen.
class ChatLog {
 public:
  /// `screen` outlives this.
  explicit ChatLog(ChatScreen& screen);
  ~ChatLog();
  ChatLog(const ChatLog&) = delete;

 private:
  class Sink;
  std::shared_ptr<spdlog::logger> before_;
  std::shared_ptr<Sink> sink_;
};

}  // namespace predgen::cli
