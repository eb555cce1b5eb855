#include "text/template/control_tokens.h"

#include <algorithm>
#include <iterator>

namespace predgen {
namespace {

constexpr char kEscape = '\xFF';  // before a token's first byte, whose highest bit is flipped

char turned(char byte) { return static_cast<char>(byte ^ 0x80); }

}  // namespace

ControlTokens::ControlTokens(const std::vector<AddedToken>& added) {
  std::vector<AddedToken> control;
  std::copy_if(added.begin(), added.end(), std::back_inserter(control),
               [](const AddedToken& token) { return token.is_control(); });
  for (const AddedToken& token : control) texts_.emplace(token.id, token.content);
  finder_ = AddedTokenFinder(control);
}

std::string ControlTokens::escape(std::string_view content,
                                  const std::set<TokenId>& visible) const {
  std::string result;
  finder_.split(
      content, [&](std::string_view text) { result += text; },
      [&](TokenId id) {
        const std::string& token = texts_.at(id);
        if (visible.contains(id)) {
          result += token;
        } else {
          result.append(1, kEscape).append(1, turned(token[0])).append(token, 1);
        }
      },
      AddedTokenFinder::Control::kFind, AddedTokenFinder::Flags::kIgnore);
  return result;
}

std::string ControlTokens::unescape(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t at = 0; at < text.size(); ++at) {
    const bool is_escaped = text[at] == kEscape && at + 1 < text.size();
    result += is_escaped ? turned(text[++at]) : text[at];
  }
  return result;
}

}  // namespace predgen
