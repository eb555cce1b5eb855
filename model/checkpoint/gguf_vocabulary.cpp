#include "model/checkpoint/gguf_vocabulary.h"

#include <limits>

#include "core/error.h"
#include "core/json.h"
#include "text/utf8.h"

namespace predgen {
namespace {

constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
constexpr std::string_view kTypes = "tokenizer.ggml.token_type";

}  // namespace

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
    require_utf8(token, fmt::format("{}: {}[{}]", where, kTokens, id));
    if (token.empty()) {  // as in llama.cpp
      token = fmt::format("[EMPTY_{}]", id);
      result.types_[id] = Type::kUnused;
    }
    const auto [other, added] = result.ids_.emplace(token, static_cast<TokenId>(id));
    if (!added) {
      throw UserError("{}: {} has {} twice, as {} and {}", where, kTokens, in_quotes(token),
                      other->second, id);
    }
  }
  return result;
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
