#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace predgen::cli {

/// What a person did at the keyboard.
struct Key {
  enum class Kind {
    kText,  // typed or pasted: `text`, well-formed UTF-8 whose only control characters are \n and
            // \t
    kEnter,
    kBackspace,
    kDelete,
    kLeft,
    kRight,
    kWordLeft,
    kWordRight,
    kHome,
    kEnd,
    kUp,
    kDown,
    kKillToStart,
    kKillToEnd,
    kKillWord,
    kCancel,   // Ctrl-C
    kLeave,    // Ctrl-D: on a line that is not empty it deletes, as kDelete
    kSuspend,  // Ctrl-Z
  };
  Kind kind = Kind::kText;
  std::string text = {};

  bool operator==(const Key&) const = default;
};

/// Decodes keys from the bytes that a terminal in raw mode sends, in xterm's style. Sequences may
/// arrive in pieces; unknown ones are dropped. Used by one thread.
class KeyDecoder {
 public:
  std::vector<Key> push(std::string_view bytes);

  /// A sequence has begun: if nothing follows soon, it was the Escape key, and give_up() drops it.
  bool is_waiting() const { return !in_paste_ && pending_.starts_with('\033'); }
  void give_up();

 private:
  /// Takes one item off the front of pending_; false if it is incomplete.
  bool take(std::vector<Key>& keys);
  bool take_escape(std::vector<Key>& keys);
  bool take_paste(std::vector<Key>& keys);
  bool take_text(std::vector<Key>& keys);

  std::string pending_;
  bool in_paste_ = false;  // between the marks of a bracketed paste
};

}  // namespace predgen::cli
