#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenize/added_tokens.h"

namespace predgen {

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
