#pragma once

#include "checkpoint/gguf_vocabulary.h"
#include "tensors/gguf_metadata.h"
#include "text/tokenize/tokenizer_files.h"

namespace predgen {

/// The sentencepiece model that a file with tokenizer.ggml.model "llama" was converted from.
struct GgufSentencepiece {
  TokenizerFiles::Sentencepiece source;
  /// User-defined tokens of the form <...>, by id, as in "added_tokens_decoder": typed text must
  /// never produce them, but decoding keeps them.
  Json added_tokens;
};

/// UserError if the pieces do not form a sentencepiece model.
GgufSentencepiece read_gguf_sentencepiece(const GgufMetadata& metadata,
                                          const GgufVocabulary& vocabulary);

}  // namespace predgen
