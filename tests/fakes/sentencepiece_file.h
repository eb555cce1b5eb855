#pragma once

#include <cstring>
#include <string>
#include <string_view>

namespace predgen {

/// A small sentencepiece tokenizer.model that a test makes and may spoil: <unk>, <s>, </s>, then
/// the pieces below in the order of their scores. Written by hand in protobuf's wire format.
struct SentencepieceFile {
  static constexpr int64_t kUnknown = 0, kStart = 1, kEnd = 2, kSpaceHi = 3, kHi = 4, kSpace = 5,
                           kH = 6, kI = 7, kJoined = 8;

  bool adds_space_in_front = true, removes_spaces = false, escapes_spaces = true;
  bool space_as_suffix = false;
  bool joins_words = false;  // one more piece, with a space at its end

  std::string bytes() const {
    std::string model;
    float score = 0;
    for (const std::string_view piece :
         {"<unk>", "<s>", "</s>", "▁hi", "hi", "▁", "h", "i", "h▁"}) {
      if (piece == "h▁" && !joins_words) continue;
      const char type = piece == "<unk>" ? 2 : piece.starts_with('<') ? 3 : 1;
      char number[sizeof score];
      std::memcpy(number, &score, sizeof score);
      std::string entry = field(1, piece);
      entry.append("\x15").append(number, sizeof number).append(flag(3, type));
      model += field(1, entry);
      score -= 1;
    }
    std::string trainer = flag(3, 2);  // BPE
    trainer += longer_flag(24, space_as_suffix);
    model += field(2, trainer);
    std::string normalizer = field(1, "identity");
    normalizer.append(flag(3, adds_space_in_front))
        .append(flag(4, removes_spaces))
        .append(flag(5, escapes_spaces));
    model += field(3, normalizer);
    return model;
  }

 private:
  static std::string field(int number, std::string_view contents) {
    std::string result{static_cast<char>(number << 3 | 2), static_cast<char>(contents.size())};
    return result.append(contents);
  }
  static std::string flag(int number, char value) {
    return {static_cast<char>(number << 3), value};
  }
  /// For numbers from 16 on.
  static std::string longer_flag(int number, char value) {
    return {static_cast<char>(number << 3 | 0x80), static_cast<char>(number >> 4), value};
  }
};

}  // namespace predgen
