#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenize/added_tokens.h"
#include "text/tokenize/text_model.h"
#include "text/tokenize/tokenizer_files.h"
#include "text/tokenize/word_cache.h"

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace predgen {

/// What a sentencepiece model file says besides its pieces; the library does not expose it.
struct SentencepieceSpec {
  bool adds_space_in_front = true;  // normalizer_spec.add_dummy_prefix
  bool is_bpe = false;              // trainer_spec.model_type
  bool has_rules = false;           // normalizer_spec.precompiled_charsmap

  /// UserError naming `where` for a damaged file, and for options that change how text comes back
  /// and that no model of the known families has.
  static SentencepieceSpec read(std::string_view model, const std::string& where);
};

struct SentencepiecePiece {
  std::string_view text;
  float score = 0;
  int type = 1;  // 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte
};
/// By id; they borrow `model`. UserError naming `where` for a damaged file.
std::vector<SentencepiecePiece> read_sentencepiece_pieces(std::string_view model,
                                                          const std::string& where);

/// `model` with normalizer_spec.add_dummy_prefix off.
std::string without_space_in_front(std::string_view model);

/// A sentencepiece model, read and run by the library sentencepiece. A text at the start of the
/// input gets a space in front if the model says so. After a special token it gets none, as in
/// transformers; with "legacy": true in tokenizer_config.json it gets one if it has none.
class SentencepieceModel : public TextModel {
 public:
  /// `where`: the model's location. UserError for a damaged model or unsupported options.
  SentencepieceModel(const TokenizerFiles::Sentencepiece& source, const std::string& where,
                     const TokenizerFiles::Part& tokenizer_config);
  ~SentencepieceModel() override;

  std::string normalize(std::string_view text) const override { return std::string(text); }
  void encode(std::string_view normalized, TextPlace place, TokenIds& ids) const override;
  std::string text_of(std::string_view token) const override;
  size_t num_dropped_spaces() const override { return adds_space_ ? 1 : 0; }
  const StringMap<TokenId>& vocabulary() const override { return vocabulary_; }

  /// The pieces that the model file marks as control or unknown, as special added tokens.
  std::vector<AddedToken> control_tokens() const;

 private:
  /// The space in front of a text that follows a special token.
  enum class Space { kNone, kIfMissing, kAlways };

  bool puts_space_before(std::string_view text, TextPlace place) const;
  TokenIds encode_whole(std::string_view text) const;

  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;  // adds no space in front
  StringMap<TokenId> vocabulary_;
  bool adds_space_ = true;
  Space after_token_ = Space::kNone;
  bool has_words_ = true;  // a word's ids do not depend on the words around it
  WordCache cache_;
};

}  // namespace predgen
