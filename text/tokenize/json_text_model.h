#pragma once

#include <string>
#include <vector>

#include "text/tokenize/bpe.h"
#include "text/tokenize/pretokenizer.h"
#include "text/tokenize/text_model.h"
#include "text/tokenize/text_normalizer.h"
#include "text/tokenize/token_decoder.h"
#include "text/tokenize/tokenizer_files.h"

namespace predgen {

/// The text model of a tokenizer.json: normalizer, pre-tokenizer, BPE and decoder, as the PyPI
/// library `tokenizers` runs them.
class JsonTextModel : public TextModel {
 public:
  /// `control`: tokens that no text may produce. UserError naming `where` and the field.
  JsonTextModel(const TokenizerJson& tokenizer, const std::vector<std::string>& control,
                const std::string& where);

  std::string normalize(std::string_view text) const override;
  void encode(std::string_view normalized, TextPlace place, TokenIds& ids) const override;
  std::string text_of(std::string_view token) const override;
  size_t num_dropped_spaces() const override { return decoder_.num_dropped_spaces(); }
  const StringMap<TokenId>& vocabulary() const override { return bpe_.vocabulary(); }

 private:
  const TextNormalizer normalizer_;
  const Pretokenizer pretokenizer_;
  const TokenDecoder decoder_;
  const Bpe bpe_;
};

}  // namespace predgen
