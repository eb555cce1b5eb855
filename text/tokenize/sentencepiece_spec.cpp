#include "text/tokenize/sentencepiece_spec.h"

#include <cstdint>
#include <cstring>
#include <functional>

#include "core/error.h"
#include "text/tokenize/sentencepiece_charsmap.h"

namespace predgen {
namespace {

/// A field of a protobuf message: a number, or bytes.
struct Field {
  uint64_t number = 0, value = 0;
  std::string_view bytes;
};

/// Reads the fields of one message. Messages inside it are bytes.
class Fields {
 public:
  Fields(std::string_view message, const std::string& where) : rest_(message), where_(where) {}

  bool next(Field& field) {
    if (rest_.empty()) return false;
    const uint64_t key = number();
    field = Field();
    field.number = key >> 3;
    switch (key & 7) {
      case 0:
        field.value = number();
        return true;
      case 1:
        take(8);
        return true;
      case 2:
        field.bytes = take(number());
        return true;
      case 5:
        field.bytes = take(4);
        return true;
      default:
        fail();
    }
  }

 private:
  [[noreturn]] void fail() const { throw UserError("{}: not a sentencepiece model", where_); }

  uint64_t number() {
    uint64_t result = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<uint8_t>(take(1)[0]);
      result |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return result;
    }
    fail();
  }

  std::string_view take(uint64_t length) {
    if (length > rest_.size()) fail();
    const std::string_view bytes = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return bytes;
  }

  std::string_view rest_;
  const std::string& where_;
};

// Field numbers in sentencepiece_model.proto.
constexpr uint64_t kTrainerSpec = 2, kNormalizerSpec = 3, kDenormalizerSpec = 5;
constexpr uint64_t kModelType = 3, kBpe = 2, kSpaceAsSuffix = 24;  // of trainer_spec
constexpr uint64_t kCharsmap = 2, kRules = 2, kAddDummyPrefix = 3, kRemoveSpaces = 4,
                   kEscapeSpaces = 5;

}  // namespace

SentencepieceSpec SentencepieceSpec::read(std::string_view model, const std::string& where) {
  SentencepieceSpec spec;
  bool removes_spaces = true, escapes_spaces = true;
  const auto refuse = [&](std::string_view what) {
    throw UserError("{}: the sentencepiece option {} is not supported", where, what);
  };
  Fields fields(model, where);
  for (Field field; fields.next(field);) {
    Fields inner(field.bytes, where);
    const bool known = field.number == kTrainerSpec || field.number == kNormalizerSpec ||
                       field.number == kDenormalizerSpec;
    for (Field option; known && inner.next(option);) {
      if (field.number == kTrainerSpec) {
        if (option.number == kSpaceAsSuffix && option.value) refuse("treat_whitespace_as_suffix");
        if (option.number == kModelType) spec.is_bpe = option.value == kBpe;
      } else if (field.number == kDenormalizerSpec) {
        if (option.number == kRules && !option.bytes.empty()) refuse("denormalizer_spec");
      } else if (option.number == kCharsmap) {
        check_charsmap(option.bytes, where);
        spec.has_rules = spec.has_rules || !option.bytes.empty();
      } else if (option.number == kAddDummyPrefix) {
        spec.adds_space_in_front = option.value != 0;
      } else if (option.number == kRemoveSpaces) {
        removes_spaces = option.value != 0;
      } else if (option.number == kEscapeSpaces) {
        escapes_spaces = option.value != 0;
      }
    }
  }
  if (removes_spaces) refuse("remove_extra_whitespaces");
  if (!escapes_spaces) refuse("escape_whitespaces: false");
  return spec;
}

std::vector<SentencepiecePiece> read_sentencepiece_pieces(std::string_view model,
                                                          const std::string& where) {
  constexpr uint64_t kPieces = 1, kText = 1, kScore = 2, kType = 3;
  std::vector<SentencepiecePiece> pieces;
  Fields fields(model, where);
  for (Field field; fields.next(field);) {
    if (field.number != kPieces) continue;
    SentencepiecePiece& piece = pieces.emplace_back();
    Fields inner(field.bytes, where);
    for (Field option; inner.next(option);) {
      if (option.number == kText) piece.text = option.bytes;
      if (option.number == kType) piece.type = static_cast<int>(option.value);
      if (option.number == kScore && option.bytes.size() == sizeof piece.score) {
        std::memcpy(&piece.score, option.bytes.data(), sizeof piece.score);
      }
    }
  }
  return pieces;
}

std::string without_space_in_front(std::string_view model) {
  // The last occurrence of a repeated field wins, and messages are merged field by field.
  constexpr char kOption[] = {kNormalizerSpec << 3 | 2, 2, kAddDummyPrefix << 3, 0};
  return std::string(model).append(kOption, sizeof kOption);
}

}  // namespace predgen
