#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "text/string_map.h"
#include "text/token_ids.h"

namespace predgen {

/// The position of a text in the input: some models put a space only before its first word.
enum class TextPlace { kStart, kAfterToken };

/// Text without added tokens to ids, and tokens to text: the inner part of a tokenizer.
/// Thread-safe after construction.
class TextModel {
 public:
  virtual ~TextModel() = default;

  /// Normalises a text before added tokens marked "normalized" are searched in it.
  virtual std::string normalize(std::string_view text) const = 0;

  /// Appends the ids of `normalized`, which is well-formed UTF-8.
  virtual void encode(std::string_view normalized, TextPlace place, TokenIds& ids) const = 0;

  /// The bytes that `token` stands for, whether of the vocabulary or an added one.
  virtual std::string text_of(std::string_view token) const = 0;

  /// At most how many spaces are dropped at the start of a decoded text.
  virtual size_t num_dropped_spaces() const = 0;

  /// Token, as the model's file spells it, to id.
  virtual const StringMap<TokenId>& vocabulary() const = 0;
};

}  // namespace predgen
