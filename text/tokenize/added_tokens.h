#pragma once

#include <array>
#include <functional>
#include <map>
#include <set>
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

/// The tokens that only a template may produce. If a message's content spells one, it is escaped
/// while the template runs, with bytes that never occur in UTF-8: neither the template nor finder()
/// sees it. (The engine itself marks strings that come from messages, but loses the marks where
/// strings are split, joined or replaced: in the templates of Qwen3 and of a dozen other families
/// typed tokens then count as the template's.) Immutable.
class ControlTokens {
 public:
  /// Takes the control tokens among `added`.
  explicit ControlTokens(const std::vector<AddedToken>& added);

  const std::map<TokenId, std::string>& texts() const { return texts_; }
  const AddedTokenFinder& finder() const { return finder_; }

  /// `content` with its control tokens escaped, except those that are `visible`.
  std::string escape(std::string_view content, const std::set<TokenId>& visible = {}) const;
  /// `text`, or any part of it, as it was before escape().
  static std::string unescape(std::string_view text);

 private:
  std::map<TokenId, std::string> texts_;
  AddedTokenFinder finder_;
};

}  // namespace predgen
