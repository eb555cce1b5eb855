#include "checkpoint/gguf_vocabulary.h"

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "core/json.h"
#include "core/log.h"
#include "text/utf8.h"

namespace predgen {
namespace {

constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
constexpr std::string_view kTypes = "tokenizer.ggml.token_type";

/// Marks of turns in the families' templates; no ordinary word looks so.
constexpr std::string_view kMarks[] = {
    "<|im_start|>",      "<|im_end|>",       "<|endoftext|>",   "<|begin_of_text|>",
    "<|end_of_text|>",   "<|eot_id|>",       "<|eom_id|>",      "<|start_header_id|>",
    "<|end_header_id|>", "<|python_tag|>",   "<|end|>",         "<|user|>",
    "<|assistant|>",     "<|system|>",       "<|endofprompt|>", "<start_of_turn>",
    "<end_of_turn>",     "<start_of_image>", "<end_of_image>",  "<image_soft_token>",
    "<end_of_utterance>"};

/// Whether a token that a template writes is a mark: <|user|>, <|turn>, <start_of_role>, [INST].
/// Tags of tools and thoughts, such as <tool_call>, are text.
bool looks_like_mark(std::string_view token) {
  const auto is_within = [&](std::string_view begin, std::string_view end) {
    return token.size() > begin.size() + end.size() && token.starts_with(begin) &&
           token.ends_with(end);
  };
  if (std::ranges::any_of(token, [](char c) { return c == ' ' || c == '\n'; })) return false;
  if (is_within("<|", ">") || is_within("<", "|>") || is_within("<\uFF5C", "\uFF5C>")) return true;
  if (is_within("<start_of_", ">") || is_within("<end_of_", ">")) return true;
  const bool is_upper =
      std::ranges::all_of(token.substr(1, std::max<size_t>(token.size(), 2) - 2),
                          [](char c) { return (c >= 'A' && c <= 'Z') || c == '_' || c == '/'; });
  return is_within("[", "]") && is_upper;
}

bool is_in_brackets(std::string_view token) {
  return token.size() > 2 && ((token.front() == '<' && token.back() == '>') ||
                              (token.front() == '[' && token.back() == ']'));
}

}  // namespace

void require_utf8_at(std::string_view text, std::string_view where, std::string_view key,
                     size_t index) {
  if (first_ill_formed(text) == text.size()) return;  // there are many: their names take longer
  require_utf8(text, fmt::format("{}: {}[{}]", where, key, index));
}

std::string in_quotes(std::string_view text) { return to_text(Json(text)); }

GgufVocabulary GgufVocabulary::read(const GgufMetadata& metadata) {
  const std::string& where = metadata.where();
  if (const uint64_t count = metadata.count(kTokens); count > kMaxTokenId + 1) {
    throw UserError("{}: {} has {} tokens, more than {}", where, kTokens, count, kMaxTokenId + 1);
  }
  GgufVocabulary result;
  result.tokens_ = metadata.get<std::vector<std::string>>(kTokens);
  if (result.tokens_.empty()) throw UserError("{}: {} is empty", where, kTokens);
  result.types_.assign(result.size(), Type::kNormal);
  result.has_types_ = metadata.contains(kTypes);
  if (result.has_types_) {
    const auto types = metadata.get<std::vector<int64_t>>(kTypes);
    if (types.size() != result.size()) {
      throw UserError("{}: {} has {} values for {} tokens", where, kTypes, types.size(),
                      result.size());
    }
    for (size_t id = 0; id < types.size(); ++id) {
      if (types[id] < 1 || types[id] > 6) {
        throw UserError("{}: {}[{}] is {}, not 1 to 6", where, kTypes, id, types[id]);
      }
      result.types_[id] = static_cast<Type>(types[id]);
    }
  }
  result.ids_.reserve(result.size());
  for (size_t id = 0; id < result.size(); ++id) {
    std::string& token = result.tokens_[id];
    require_utf8_at(token, where, kTokens, id);
    if (token.empty()) {  // as in llama.cpp
      token = fmt::format("[EMPTY_{}]", id);
      result.types_[id] = Type::kUnused;
    }
  }
  result.type_marks(metadata);
  for (size_t id = 0; id < result.size(); ++id) result.add_text(static_cast<TokenId>(id));
  return result;
}

void GgufVocabulary::add_text(TokenId id) {
  const std::string text = token(id);
  const auto [place, is_new] = ids_.emplace(text, id);
  if (is_new) return;
  TokenId other = id;
  if (type(id) == Type::kControl && type(place->second) != Type::kControl) {
    std::swap(place->second, other);
  }
  const auto index = static_cast<size_t>(other);
  tokens_[index] = fmt::format("[REPEATED_{}]", other);
  types_[index] = Type::kUnused;
  repeated_.emplace_back(other, text);
  ids_.emplace(tokens_[index], other);
}

void GgufVocabulary::type_marks(const GgufMetadata& metadata) {
  const std::string written = metadata.get_or(kGgufTemplate, std::string()) +
                              metadata.get_or(kGgufToolTemplate, std::string());
  std::vector<TokenId> ends;
  for (const char* name : {"bos", "eos", "eot", "eom"}) {
    const auto id = named(metadata, fmt::format("tokenizer.ggml.{}_token_id", name));
    if (id) ends.push_back(*id);
  }
  for (size_t i = 0; i < size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const std::string& text = tokens_[i];
    if (types_[i] != Type::kNormal && types_[i] != Type::kUserDefined) continue;
    const bool is_mark = std::ranges::find(kMarks, text) != std::end(kMarks) ||
                         (std::ranges::find(ends, id) != ends.end() && is_in_brackets(text)) ||
                         (looks_like_mark(text) && written.find(text) != std::string::npos);
    if (!is_mark) continue;
    types_[i] = Type::kControl;
    retyped_.push_back(id);
  }
}

void GgufVocabulary::warn(const std::string& where) const {
  if (!retyped_.empty()) {
    spdlog::warn("{}: {} marks of turns are typed as words, {} first: taken as control tokens",
                 where, retyped_.size(), in_quotes(token(retyped_.front())));
  }
  if (!repeated_.empty()) {
    const auto& [id, text] = repeated_.front();
    spdlog::warn("{}: {} tokens are there twice, {} first: text becomes {}, not {}", where,
                 repeated_.size(), in_quotes(text), ids_.find(text)->second, id);
  }
}

std::optional<TokenId> GgufVocabulary::find(std::string_view token) const {
  const auto found = ids_.find(token);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<TokenId> GgufVocabulary::named(const GgufMetadata& metadata,
                                             std::string_view key) const {
  const auto id = metadata.find<int64_t>(key);
  if (!id || *id == -1 || *id == std::numeric_limits<uint32_t>::max()) return std::nullopt;
  if (*id < 0 || static_cast<uint64_t>(*id) >= size()) {
    throw UserError("{}: {} is {}, but there are {} tokens", metadata.where(), key, *id, size());
  }
  return *id;
}

GgufEnds GgufVocabulary::read_ends(const GgufMetadata& metadata, GgufEnds usual) const {
  const auto read = [&](const char* name, std::optional<TokenId>& id, bool& is_added) {
    const std::string id_key = fmt::format("tokenizer.ggml.{}_token_id", name);
    const std::string add_key = fmt::format("tokenizer.ggml.add_{}_token", name);
    if (metadata.contains(id_key)) {
      id = named(metadata, id_key);
    } else if (id && (static_cast<size_t>(*id) >= size() || type(*id) != Type::kControl)) {
      id.reset();
    }
    is_added = metadata.get_or<bool>(add_key, is_added);
    if (is_added && (!id || !is_special(*id))) {
      throw UserError("{}: {} names no special token, but it is to be added: correct it, or set {}",
                      metadata.where(), id_key, add_key);
    }
  };
  read("bos", usual.begin, usual.adds_begin);
  read("eos", usual.end, usual.adds_end);
  return usual;
}

}  // namespace predgen
