#include "text/template/content_veil.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

#include "core/error.h"

namespace predgen {
namespace {

constexpr char kTyped = '#', kIds = '@';

/// What Python's str.strip() takes away and the engine does not; \v and \f because the codes for
/// the others are made of them: the k-th is \v and k + 1 times \f.
constexpr std::array<std::string_view, 25> kSpaces = {
    "\v",           "\f",           "\x1c",         "\x1d",         "\x1e",
    "\x1f",         "\xC2\x85",     "\xC2\xA0",     "\xE1\x9A\x80", "\xE2\x80\x80",
    "\xE2\x80\x81", "\xE2\x80\x82", "\xE2\x80\x83", "\xE2\x80\x84", "\xE2\x80\x85",
    "\xE2\x80\x86", "\xE2\x80\x87", "\xE2\x80\x88", "\xE2\x80\x89", "\xE2\x80\x8A",
    "\xE2\x80\xA8", "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80",
};

void cover_spaces(std::string_view text, std::string& out) {
  while (!text.empty()) {
    const auto* const space =
        std::find_if(kSpaces.begin(), kSpaces.end(), [&](auto s) { return text.starts_with(s); });
    if (space == kSpaces.end()) {
      out += text.front();
      text.remove_prefix(1);
    } else {
      out += '\v';
      out.append(static_cast<size_t>(space - kSpaces.begin()) + 1, '\f');
      text.remove_prefix(space->size());
    }
  }
}

}  // namespace

ControlTokens::ControlTokens(const std::vector<AddedToken>& added) {
  std::vector<AddedToken> control;
  std::copy_if(added.begin(), added.end(), std::back_inserter(control),
               [](const AddedToken& token) { return token.is_control(); });
  for (const AddedToken& token : control) texts_.emplace(token.id, token.content);
  finder_ = AddedTokenFinder(control);
}

ContentVeil::ContentVeil(const ControlTokens& tokens, const std::vector<std::string_view>& texts)
    : tokens_(tokens) {
  for (int code = 0; code < 0x40; ++code) {  // U+E000 .. U+E03F, for private use
    mark_ = {'\xEE', '\x80', static_cast<char>(0x80 + code)};
    const auto has_mark = [&](auto text) { return text.find(mark_) != std::string_view::npos; };
    if (std::none_of(texts.begin(), texts.end(), has_mark)) return;
  }
  throw UserError("messages use all private-use characters from U+E000 to U+E03F; leave one out");
}

std::string ContentVeil::cover(std::string_view content, const std::set<TokenId>& visible) const {
  std::string result;
  tokens_.finder().split(
      content, [&](std::string_view text) { cover_spaces(text, result); },
      [&](TokenId id) {
        result += visible.contains(id) ? tokens_.texts().at(id)
                                       : fmt::format("{}{}{}{}", mark_, kTyped, id, mark_);
      },
      AddedTokenFinder::Control::kFind, AddedTokenFinder::Flags::kIgnore);
  return result;
}

std::string ContentVeil::placeholder(size_t index) const {
  return fmt::format("{}{}{}{}", mark_, kIds, index, mark_);
}

/// What stands between two marks where `rendered` begins; a template may have spoiled it.
ContentVeil::Cover ContentVeil::read_cover(std::string_view rendered) const {
  const size_t kind = mark_.size(), end = rendered.find(mark_, kind);
  Cover cover;
  bool is_whole = end != std::string_view::npos && end > kind + 1;
  if (is_whole) {
    const char* const last = rendered.data() + end;
    const auto parsed = std::from_chars(rendered.data() + kind + 1, last, cover.number);
    cover.is_typed = rendered[kind] == kTyped;
    is_whole = parsed.ec == std::errc() && parsed.ptr == last &&
               (cover.is_typed ? tokens_.texts().contains(static_cast<TokenId>(cover.number))
                               : rendered[kind] == kIds);
  }
  if (!is_whole) {
    throw UserError("the chat template cuts or changes a message where a special token is typed");
  }
  cover.length = end + mark_.size();
  return cover;
}

std::vector<ContentVeil::Piece> ContentVeil::uncover(std::string_view rendered) const {
  std::vector<Piece> pieces(1);
  while (!rendered.empty()) {
    std::string& text = pieces.back().text;
    if (rendered.starts_with(mark_)) {
      const Cover cover = read_cover(rendered);
      if (cover.is_typed) {
        text += tokens_.texts().at(static_cast<TokenId>(cover.number));
      } else {
        pieces.back().ids = cover.number;
        pieces.emplace_back();
      }
      rendered.remove_prefix(cover.length);
      continue;
    }
    const size_t after = std::min(rendered.find_first_not_of('\f', 1), rendered.size());
    if (rendered.front() == '\v' && after > 1 && after - 2 < kSpaces.size()) {
      text += kSpaces[after - 2];
      rendered.remove_prefix(after);
    } else {
      text += rendered.front();
      rendered.remove_prefix(1);
    }
  }
  return pieces;
}

}  // namespace predgen
