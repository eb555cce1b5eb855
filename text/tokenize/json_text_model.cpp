#include "text/tokenize/json_text_model.h"

#include "core/error.h"

namespace predgen {

JsonTextModel::JsonTextModel(const TokenizerJson& tokenizer,
                             const std::vector<std::string>& control, const std::string& where)
    : normalizer_(tokenizer.fields.value("normalizer", Json()), where),
      pretokenizer_(tokenizer.fields.value("pre_tokenizer", Json()), where),
      decoder_(json_get<Json>(tokenizer.fields, "decoder", where), where),
      bpe_(tokenizer, pretokenizer_.is_byte_level() ? Bpe::Units::kBytes : Bpe::Units::kCharacters,
           control, where) {
  if (decoder_.is_byte_level() != pretokenizer_.is_byte_level()) {
    throw UserError(
        "{}: ByteLevel must be both in the pre_tokenizer and the decoder, or in neither", where);
  }
}

std::string JsonTextModel::normalize(std::string_view text) const {
  return normalizer_.normalize(text);
}

void JsonTextModel::encode(std::string_view normalized, TextPlace place, TokenIds& ids) const {
  pretokenizer_.split(normalized, place, [&](std::string_view word) { bpe_.encode(word, ids); });
}

std::string JsonTextModel::text_of(std::string_view token) const { return decoder_.text_of(token); }

}  // namespace predgen
