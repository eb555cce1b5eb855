#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensors/gguf_metadata.h"
#include "text/string_map.h"
#include "text/token_ids.h"

namespace predgen {

/// The tokens before and after a plain text, and whether a tokenizer puts them there.
struct GgufEnds {
  std::optional<TokenId> begin{}, end{};
  bool adds_begin = false, adds_end = false;
};

/// The tokens of a GGUF file and what kinds they are.
class GgufVocabulary {
 public:
  /// As GGUF and sentencepiece number them.
  enum class Type { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };

  /// Every token is well-formed, there once and of a known type; an empty one is unused and gets a
  /// name. Without types all are normal. UserError names the file, the key and the token.
  static GgufVocabulary read(const GgufMetadata& metadata);

  size_t size() const { return tokens_.size(); }
  /// As the file spells it: in the byte alphabet, or with U+2581 for spaces.
  const std::string& token(TokenId id) const { return tokens_[static_cast<size_t>(id)]; }
  Type type(TokenId id) const { return types_[static_cast<size_t>(id)]; }
  bool has_types() const { return has_types_; }
  std::optional<TokenId> find(std::string_view token) const;
  const StringMap<TokenId>& ids() const { return ids_; }

  /// The id under `key`; none if it is not there or says that there is none (all bits set).
  /// UserError for an id that no token has.
  std::optional<TokenId> named(const GgufMetadata& metadata, std::string_view key) const;
  /// What "bos" and "eos" are; `usual`: where the file does not say. UserError if an end is to be
  /// added that is no special token.
  GgufEnds read_ends(const GgufMetadata& metadata, GgufEnds usual) const;
  /// Whether a token that the file names for a purpose is special: an ordinary word that is named,
  /// as "!" for padding in some files, stays a word.
  bool is_special(TokenId id) const { return !has_types_ || type(id) != Type::kNormal; }

 private:
  std::vector<std::string> tokens_;
  std::vector<Type> types_;
  StringMap<TokenId> ids_;
  bool has_types_ = false;
};

/// In quotation marks, on one line, whatever bytes it has.
std::string in_quotes(std::string_view text);

}  // namespace predgen
