#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/json.h"
#include "text/regex.h"
#include "text/tokenize/text_model.h"

namespace predgen {

/// The "pre_tokenizer" of tokenizer.json, which cuts text into words: none, Split, Digits,
/// Metaspace, ByteLevel (at the end only) or a Sequence of these. Anything else is a UserError that
/// names it. Thread-safe after construction.
class Pretokenizer {
 public:
  using OnWord = std::function<void(std::string_view)>;

  Pretokenizer(const Json& pre_tokenizer, const std::string& where);

  /// Calls `on_word` for the words of `text` (well-formed UTF-8), in order; they are valid during
  /// the call only.
  void split(std::string_view text, TextPlace place, const OnWord& on_word) const;

  /// Whether words are split into bytes.
  bool is_byte_level() const { return byte_level_; }

 private:
  enum class Behavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };
  enum class Prefix { kNever, kFirst, kAlways };
  struct Split {
    Regex regex;
    Behavior behavior;
    bool invert = false;  // matches and the text between them swap roles
  };
  /// Writes spaces as `symbol` and puts one in front if there is none.
  struct Spaces {
    std::string symbol;
    Prefix prefix;
  };
  struct Piece {
    size_t begin, end;
    bool is_match;
  };

  void add(const Json& pre_tokenizer, const std::string& where);
  void add_split(const Json& split, const std::string& where);
  void add_digits(const Json& digits, const std::string& where);
  void add_metaspace(const Json& metaspace, const std::string& where);
  void add_byte_level(const Json& byte_level, const std::string& where);
  static std::vector<Piece> pieces(const Split& split, std::string_view text);
  /// Runs the steps from `step` on over one piece.
  void run(size_t step, std::string_view piece, TextPlace place, const OnWord& on_word) const;

  std::vector<std::variant<Split, Spaces>> steps_;
  bool byte_level_ = false;
};

}  // namespace predgen
