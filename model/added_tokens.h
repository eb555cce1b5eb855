#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "model/token_ids.h"

namespace predgen {

struct AddedToken {
  TokenId id = 0;
  std::string content;
  bool special = false;     // decoding leaves it out
  bool normalized = false;  // looked for after normalisation, not before

  /// Whether plain text must never give it: special, or of the form <...> like <tool_call>, which
  /// some models flag as ordinary text.
  bool is_control() const;
};

/// The "added_tokens" of tokenizer.json together with "added_tokens_decoder" of
/// tokenizer_config.json (may be null). UserError for flags that are not supported.
std::vector<AddedToken> read_added_tokens(const Json& tokenizer, const Json& tokenizer_config,
                                          const std::string& where);

/// Finds added tokens in text: leftmost, then longest. Immutable.
class AddedTokenFinder {
 public:
  AddedTokenFinder() = default;
  explicit AddedTokenFinder(const std::vector<AddedToken>& tokens);
  /// Calls `on_text` and `on_token` for the pieces of `text`, in order.
  void split(std::string_view text, const std::function<void(std::string_view)>& on_text,
             const std::function<void(TokenId)>& on_token) const;

 private:
  std::array<std::vector<AddedToken>, 256> by_first_byte_;  // longest first
};

}  // namespace predgen
