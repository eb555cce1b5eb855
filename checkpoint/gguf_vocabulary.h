#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensors/gguf_metadata.h"
#include "text/string_map.h"
#include "text/token_ids.h"

namespace predgen {

constexpr std::string_view kGgufTemplate = "tokenizer.chat_template";
constexpr std::string_view kGgufToolTemplate = "tokenizer.chat_template.tool_use";

/// The tokens before and after a plain text, and whether a tokenizer adds them.
struct GgufEnds {
  std::optional<TokenId> begin{}, end{};
  bool adds_begin = false, adds_end = false;
};

/// The tokens of a GGUF file and what kinds they are.
class GgufVocabulary {
 public:
  /// As GGUF and sentencepiece number them.
  enum class Type { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };

  /// Checks that every token is well-formed and of a known type. An empty one is unused and gets a
  /// name, and so does a token that is there twice: the first means the text, or else the control
  /// token among them. Marks of turns are control tokens, whatever type the file gives them: those
  /// of known families, those that end an answer, and those that a chat template writes. Without
  /// types all are normal. UserError names the file, the key and the token.
  static GgufVocabulary read(const GgufMetadata& metadata);

  size_t size() const { return tokens_.size(); }
  /// As the file spells it: in the byte alphabet, or with U+2581 for spaces.
  const std::string& token(TokenId id) const { return tokens_[static_cast<size_t>(id)]; }
  Type type(TokenId id) const { return types_[static_cast<size_t>(id)]; }
  bool has_types() const { return has_types_; }
  /// Logs what read() took otherwise than the file has it.
  void warn(const std::string& where) const;
  std::optional<TokenId> find(std::string_view token) const;
  const StringMap<TokenId>& ids() const { return ids_; }

  /// The id under `key`; none if the key is missing or means "none" (all bits set). UserError for
  /// an id that no token has.
  std::optional<TokenId> named(const GgufMetadata& metadata, std::string_view key) const;
  /// The "bos" and "eos" tokens; `usual`: used where the file does not say. UserError if a token to
  /// be added is not special.
  GgufEnds read_ends(const GgufMetadata& metadata, GgufEnds usual) const;
  /// Whether a token that the file names for a purpose is special: an ordinary word named so, such
  /// as "!" for padding in some files, stays a word.
  bool is_special(TokenId id) const { return !has_types_ || type(id) != Type::kNormal; }

 private:
  void add_text(TokenId id);
  void type_marks(const GgufMetadata& metadata);

  std::vector<std::string> tokens_;
  std::vector<Type> types_;
  StringMap<TokenId> ids_;
  bool has_types_ = false;
  std::vector<TokenId> retyped_;                           // marks of turns
  std::vector<std::pair<TokenId, std::string>> repeated_;  // that got a name, and what they were
};

/// `text` in quotation marks, on one line, whatever bytes it has.
std::string in_quotes(std::string_view text);

/// UserError with the file, the key and the place in its list if `text` is not well-formed UTF-8.
void require_utf8_at(std::string_view text, std::string_view where, std::string_view key,
                     size_t index);

}  // namespace predgen
