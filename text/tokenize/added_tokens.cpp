#include "text/tokenize/added_tokens.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "core/error.h"
#include "text/regex.h"
#include "text/utf8.h"

namespace predgen {
namespace {

AddedToken read_added_token(const Json& token, TokenId id, const std::string& where) {
  AddedToken result;
  result.id = id;
  result.content = json_get<std::string>(token, "content", where);
  if (result.content.empty()) throw UserError("{}: an added token has no content", where);
  const auto flag = [&](const char* key) {
    return token.contains(key) && json_get<bool>(token, key, where);
  };
  result.special = flag("special");
  result.normalized = flag("normalized");
  result.single_word = flag("single_word");
  result.lstrip = flag("lstrip");
  result.rstrip = flag("rstrip");
  return result;
}

/// Unicode's word characters that are neither letters, marks nor digits.
constexpr std::string_view kOtherWordCharacters =
    R"(\p{Nl}\p{Pc}\x{200c}\x{200d}\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189})";

bool is_word_character(std::string_view character) {
  static const Regex word(fmt::format(R"([\p{{L}}\p{{M}}\p{{Nd}}{}])", kOtherWordCharacters),
                          Regex::Syntax::kPattern, "single_word");
  Regex::Match match;
  return word.find(character, 0, match);
}

bool stands_alone(std::string_view before, std::string_view after) {
  size_t end = 0;
  if (!after.empty()) next_character(after, end);
  return (before.empty() || !is_word_character(before.substr(last_character(before)))) &&
         (after.empty() || !is_word_character(after.substr(0, end)));
}

/// Where the white space at the end of `text` begins.
size_t trailing_space(std::string_view text) {
  while (!text.empty()) {
    const size_t last = last_character(text);
    size_t at = last;
    if (!is_white_space(next_character(text, at))) break;
    text = text.substr(0, last);
  }
  return text.size();
}

/// Where the white space at the beginning of `text` ends.
size_t leading_space(std::string_view text) {
  size_t end = 0;
  for (size_t at = 0; at < text.size(); end = at) {
    if (!is_white_space(next_character(text, at))) break;
  }
  return end;
}

}  // namespace

bool AddedToken::is_control() const {
  return special || (content.size() > 2 && content.front() == '<' && content.back() == '>');
}

void add_token(std::vector<AddedToken>& tokens, AddedToken token, const std::string& where) {
  if (token.id < 0 || token.id > kMaxTokenId) {
    throw UserError("{}: added token \"{}\" has the id {}", where, token.content, token.id);
  }
  const auto found = std::find_if(tokens.begin(), tokens.end(), [&](const AddedToken& other) {
    return other.content == token.content;
  });
  if (found == tokens.end()) {
    tokens.push_back(std::move(token));
  } else if (found->id != token.id) {
    throw UserError("{}: the added token \"{}\" has both the id {} and the id {}", where,
                    token.content, found->id, token.id);
  } else {
    token.special = token.special || found->special;
    *found = std::move(token);
  }
}

std::vector<AddedToken> read_added_tokens(const Json& tokenizer, const Json& tokenizer_config,
                                          const std::string& where) {
  std::vector<AddedToken> tokens;
  if (tokenizer.contains("added_tokens") && !tokenizer["added_tokens"].is_null()) {
    for (const Json& token : json_get<Json>(tokenizer, "added_tokens", where)) {
      add_token(tokens, read_added_token(token, json_get<TokenId>(token, "id", where), where),
                where);
    }
  }
  if (tokenizer_config.contains("added_tokens_decoder")) {
    for (const auto& [key, token] : tokenizer_config["added_tokens_decoder"].items()) {
      TokenId id = -1;
      const auto parsed = std::from_chars(key.data(), key.data() + key.size(), id);
      if (parsed.ec != std::errc() || parsed.ptr != key.data() + key.size()) {
        throw UserError("{}: added_tokens_decoder: \"{}\" is not an id", where, key);
      }
      add_token(tokens, read_added_token(token, id, where), where);
    }
  }
  return tokens;
}

AddedTokenFinder::AddedTokenFinder(const std::vector<AddedToken>& tokens) {
  for (const AddedToken& token : tokens) {
    by_first_byte_[static_cast<uint8_t>(token.content[0])].push_back(token);
  }
  for (std::vector<AddedToken>& group : by_first_byte_) {
    std::stable_sort(group.begin(), group.end(), [](const AddedToken& a, const AddedToken& b) {
      return a.content.size() > b.content.size();
    });
  }
}

const AddedToken* AddedTokenFinder::match(std::string_view text) const {
  for (const AddedToken& token : by_first_byte_[static_cast<uint8_t>(text[0])]) {
    if (text.starts_with(token.content)) return &token;
  }
  return nullptr;
}

void AddedTokenFinder::split(std::string_view text, const OnText& on_text, const OnToken& on_token,
                             Control control, Flags flags) const {
  const bool honours = flags == Flags::kHonour;
  size_t begin = 0, index = 0;  // start of the text not yet emitted; position of the search
  while (index < text.size()) {
    const AddedToken* token = match(text.substr(index));
    if (!token) {
      ++index;
      continue;
    }
    size_t first = index, end = index + token->content.size();
    index = end;  // a passed-over token must not overlap another, either
    if (control == Control::kPassOver && token->is_control()) continue;
    if (honours && token->single_word && !stands_alone(text.substr(0, first), text.substr(end))) {
      continue;
    }
    if (honours && token->lstrip) first = std::max(trailing_space(text.substr(0, first)), begin);
    if (honours && token->rstrip) end += leading_space(text.substr(end));
    if (first > begin) on_text(text.substr(begin, first - begin));
    on_token(token->id);
    begin = end;
  }
  if (begin < text.size()) on_text(text.substr(begin));
}

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
