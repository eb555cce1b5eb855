#include "checkpoint/gguf_sentencepiece.h"

#include <bit>
#include <cmath>

#include "core/error.h"
#include "text/tokenize/added_tokens.h"

namespace predgen {
namespace {

using Type = GgufVocabulary::Type;

constexpr const char* kScores = "tokenizer.ggml.scores";
constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81";  // U+2581

/// Builds a protobuf message.
class ProtoMessage {
 public:
  ProtoMessage& number(uint64_t field, uint64_t value) {
    varint(field << 3);
    return varint(value);
  }
  ProtoMessage& bytes(uint64_t field, std::string_view value) {
    varint(field << 3 | 2).varint(value.size());
    bytes_.append(value);
    return *this;
  }
  ProtoMessage& real(uint64_t field, float value) {
    varint(field << 3 | 5);
    const auto bits = std::bit_cast<uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8) bytes_ += static_cast<char>(bits >> shift);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  ProtoMessage& varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
    return *this;
  }

  std::string bytes_;
};

// Field numbers in sentencepiece_model.proto.
constexpr uint64_t kPieces = 1, kTrainerSpec = 2, kNormalizerSpec = 3;
constexpr uint64_t kPiece = 1, kScore = 2, kType = 3;
constexpr uint64_t kModelType = 3, kBpe = 2, kByteFallback = 35;  // of trainer_spec
constexpr uint64_t kAddDummyPrefix = 3, kRemoveSpaces = 4, kEscapeSpaces = 5;

/// Converters write the spaces of user-defined tokens as spaces.
std::string with_space_symbols(std::string_view token) {
  std::string result;
  for (const char c : token) c == ' ' ? result.append(kSpaceSymbol) : result.append(1, c);
  return result;
}

/// The types of the pieces, with exactly one unknown, as sentencepiece requires.
std::vector<Type> piece_types(const GgufMetadata& metadata, const GgufVocabulary& vocabulary) {
  std::vector<Type> types;
  for (size_t id = 0; id < vocabulary.size(); ++id) {
    types.push_back(vocabulary.type(static_cast<TokenId>(id)));
  }
  const auto find = [&] {
    const auto found = std::ranges::find(types, Type::kUnknown);
    return found == types.end() ? 0 : found - types.begin();  // llama.cpp's default, too
  };
  const auto unknown = static_cast<size_t>(
      vocabulary.named(metadata, "tokenizer.ggml.unknown_token_id").value_or(find()));
  std::ranges::replace(types, Type::kUnknown, Type::kControl);
  if (types[unknown] != Type::kControl) {
    throw UserError(
        "{}: token {}, {}, is to stand for what is unknown, but tokenizer.ggml.token_type says "
        "that it is an ordinary one",
        metadata.where(), unknown, in_quotes(vocabulary.token(static_cast<TokenId>(unknown))));
  }
  types[unknown] = Type::kUnknown;
  return types;
}

/// Whether byte pieces replace characters that have no piece.
bool has_bytes(const GgufMetadata& metadata, const std::vector<Type>& types) {
  const auto count = std::ranges::count(types, Type::kByte);
  if (count == 0 || count == 256) return count != 0;
  throw UserError("{}: tokenizer.ggml.token_type has {} tokens for bytes, not 256 or none",
                  metadata.where(), count);
}

/// False for Mistral tokenizers whose turn marks are tokens, which put no space after a token. The
/// format does not say so.
bool puts_spaces_after_tokens(const GgufVocabulary& vocabulary) {
  const auto mark = vocabulary.find("[INST]");
  return !mark || vocabulary.type(*mark) != Type::kControl;
}

}  // namespace

GgufSentencepiece read_gguf_sentencepiece(const GgufMetadata& metadata,
                                          const GgufVocabulary& vocabulary) {
  const std::string& where = metadata.where();
  const auto scores = metadata.get<std::vector<double>>(kScores);
  if (scores.size() != vocabulary.size()) {
    throw UserError("{}: {} has {} values for {} tokens", where, kScores, scores.size(),
                    vocabulary.size());
  }
  if (!vocabulary.has_types()) throw UserError("{}: tokenizer.ggml.token_type is missing", where);
  const std::vector<Type> types = piece_types(metadata, vocabulary);
  GgufSentencepiece result{.source = {.model = {}}, .added_tokens = Json::object()};
  ProtoMessage model;
  for (size_t id = 0; id < types.size(); ++id) {
    if (!std::isfinite(scores[id])) throw UserError("{}: {}[{}] is not finite", where, kScores, id);
    const std::string& token = vocabulary.token(static_cast<TokenId>(id));
    Type type = types[id];
    if (type == Type::kUserDefined && AddedToken{.content = token}.is_control()) {
      result.added_tokens[std::to_string(id)] = {{"content", token}};
      type = Type::kUnused;
    }
    const bool has_spaces = type == Type::kUserDefined;
    ProtoMessage piece;
    piece.bytes(kPiece, has_spaces ? with_space_symbols(token) : token)
        .real(kScore, static_cast<float>(scores[id]))
        .number(kType, static_cast<uint64_t>(type));
    model.bytes(kPieces, piece.bytes());
  }
  ProtoMessage trainer, normalizer;
  trainer.number(kModelType, kBpe).number(kByteFallback, has_bytes(metadata, types));
  normalizer.number(kAddDummyPrefix, metadata.get_or<bool>("tokenizer.ggml.add_space_prefix", true))
      .number(kRemoveSpaces,
              metadata.get_or<bool>("tokenizer.ggml.remove_extra_whitespaces", false))
      .number(kEscapeSpaces, 1);
  model.bytes(kTrainerSpec, trainer.bytes()).bytes(kNormalizerSpec, normalizer.bytes());
  result.source.model = model.bytes();
  result.source.spaces_after_tokens = puts_spaces_after_tokens(vocabulary);
  return result;
}

}  // namespace predgen
