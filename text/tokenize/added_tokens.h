#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "text/token_ids.h"

namespace predgen {

struct AddedToken {
  TokenId id = 0;
  std::string content;
  bool special = false;      // omitted when decoding
  bool normalized = false;   // matched after normalisation, not before
  bool single_word = false;  // only if no word character is next to it
  bool lstrip = false;       // also consumes the white space before it
  bool rstrip = false;       // also consumes the white space after it

  /// Whether plain text must never produce it: special, or of the form <...> like <tool_call>,
  /// which some models flag as ordinary text.
  bool is_control() const;
};

/// Adds `token`. Of two with the same text the later one's flags win, as in transformers, but it
/// stays special. UserError naming `where` if they have different ids.
void add_token(std::vector<AddedToken>& tokens, AddedToken token, const std::string& where);

/// The "added_tokens" of tokenizer.json together with "added_tokens_decoder" of
/// tokenizer_config.json (either may be null).
std::vector<AddedToken> read_added_tokens(const Json& tokenizer, const Json& tokenizer_config,
                                          const std::string& where);

/// Finds added tokens in text: leftmost, then longest. Immutable.
class AddedTokenFinder {
 public:
  /// Whether control tokens (is_control()) are found or passed over.
  enum class Control { kFind, kPassOver };
  /// Whether the flags single_word, lstrip and rstrip are honoured.
  enum class Flags { kHonour, kIgnore };
  using OnText = std::function<void(std::string_view)>;
  using OnToken = std::function<void(TokenId)>;

  AddedTokenFinder() = default;
  explicit AddedTokenFinder(const std::vector<AddedToken>& tokens);
  /// Calls `on_text` and `on_token` for the pieces of `text`, in order.
  void split(std::string_view text, const OnText& on_text, const OnToken& on_token,
             Control control = Control::kFind, Flags flags = Flags::kHonour) const;

 private:
  const AddedToken* match(std::string_view text) const;

  std::array<std::vector<AddedToken>, 256> by_first_byte_;  // longest first
};

}  // namespace predgen
