#include "model/added_tokens.h"

#include <algorithm>
#include <charconv>

#include "core/error.h"

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
  for (const char* key : {"single_word", "lstrip", "rstrip"}) {
    if (flag(key)) {
      throw UserError("{}: added token \"{}\" has \"{}\", which is not supported", where,
                      result.content, key);
    }
  }
  return result;
}

void add_or_check(std::vector<AddedToken>& tokens, AddedToken token, const std::string& where) {
  const auto found = std::find_if(tokens.begin(), tokens.end(), [&](const AddedToken& other) {
    return other.content == token.content;
  });
  if (found == tokens.end()) {
    tokens.push_back(std::move(token));
  } else if (found->id != token.id) {
    throw UserError("{}: \"{}\" has id {} in tokenizer.json and id {} in tokenizer_config.json",
                    where, token.content, found->id, token.id);
  } else {
    found->special = found->special || token.special;
  }
}

}  // namespace

bool AddedToken::is_control() const {
  return special || (content.size() > 2 && content.front() == '<' && content.back() == '>');
}

std::vector<AddedToken> read_added_tokens(const Json& tokenizer, const Json& tokenizer_config,
                                          const std::string& where) {
  std::vector<AddedToken> tokens;
  if (tokenizer.contains("added_tokens") && !tokenizer["added_tokens"].is_null()) {
    for (const Json& token : json_get<Json>(tokenizer, "added_tokens", where)) {
      tokens.push_back(read_added_token(token, json_get<TokenId>(token, "id", where), where));
    }
  }
  if (tokenizer_config.contains("added_tokens_decoder")) {
    for (const auto& [key, token] : tokenizer_config["added_tokens_decoder"].items()) {
      TokenId id = -1;
      const auto parsed = std::from_chars(key.data(), key.data() + key.size(), id);
      if (parsed.ec != std::errc() || parsed.ptr != key.data() + key.size()) {
        throw UserError("{}: added_tokens_decoder: \"{}\" is not an id", where, key);
      }
      add_or_check(tokens, read_added_token(token, id, where), where);
    }
  }
  for (const AddedToken& token : tokens) {
    if (token.id < 0 || token.id > INT32_MAX) {
      throw UserError("{}: added token \"{}\" has the id {}", where, token.content, token.id);
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

void AddedTokenFinder::split(std::string_view text,
                             const std::function<void(std::string_view)>& on_text,
                             const std::function<void(TokenId)>& on_token) const {
  size_t begin = 0, index = 0;
  while (index < text.size()) {
    const AddedToken* match = nullptr;
    for (const AddedToken& token : by_first_byte_[static_cast<uint8_t>(text[index])]) {
      if (text.substr(index).starts_with(token.content)) {
        match = &token;
        break;
      }
    }
    if (!match) {
      ++index;
      continue;
    }
    if (index > begin) on_text(text.substr(begin, index - begin));
    on_token(match->id);
    index += match->content.size();
    begin = index;
  }
  if (begin < text.size()) on_text(text.substr(begin));
}

}  // namespace predgen
