#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/json.h"
#include "text/tokenize/added_tokens.h"
#include "text/tokenize/text_model.h"
#include "text/tokenize/word_cache.h"

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace predgen {

/// A sentencepiece tokenizer.model, read and run by the library sentencepiece. A space is put in
/// front of a text that opens the input, as the model asks. After a special token there is none, as
/// in transformers; with "legacy": true in tokenizer_config.json there is one if the text has none.
class SentencepieceModel : public TextModel {
 public:
  /// `tokenizer_config` may be null. UserError for a damaged file or options that are not
  /// supported.
  SentencepieceModel(const std::filesystem::path& file, const Json& tokenizer_config);
  ~SentencepieceModel() override;

  std::string normalize(std::string_view text) const override { return std::string(text); }
  void encode(std::string_view normalized, TextPlace place, TokenIds& ids) const override;
  std::string text_of(std::string_view token) const override;
  size_t num_dropped_spaces() const override { return adds_space_ ? 1 : 0; }
  const StringMap<TokenId>& vocabulary() const override { return vocabulary_; }

  /// The pieces that the model file marks as control or unknown, as special added tokens.
  std::vector<AddedToken> control_tokens() const;

 private:
  TokenIds encode_whole(std::string_view text) const;

  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;  // adds no space in front
  StringMap<TokenId> vocabulary_;
  bool adds_space_ = true, legacy_ = false;
  bool has_words_ = true;  // what a word becomes does not depend on the words around it
  WordCache cache_;
};

}  // namespace predgen
