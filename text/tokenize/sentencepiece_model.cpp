#include "text/tokenize/sentencepiece_model.h"

#include <sentencepiece_processor.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "text/tokenize/token_decoder.h"
#include "text/utf8.h"

namespace predgen {
namespace {

/// A unit of the double-array trie, as the library Darts-clone packs it.
struct Unit {
  uint32_t bits;
  uint32_t label() const { return bits & (1U << 31 | 0xFF); }
  uint32_t offset() const { return (bits >> 10) << ((bits & 1U << 9) >> 6); }
  bool has_leaf() const { return bits >> 8 & 1; }
  uint32_t value() const { return bits & ~(1U << 31); }
};

bool is_sound(const std::vector<Unit>& units, std::string_view texts) {
  std::vector<bool> seen(units.size());
  std::vector<size_t> open;  // bases of the child nodes still to visit
  const auto enter = [&](size_t at) {
    if (at >= units.size()) return false;
    if (!seen[at]) open.push_back(at);
    seen[at] = true;
    return true;
  };
  if (units.empty() || texts.empty() || texts.back() != '\0' || !enter(units[0].offset())) {
    return false;
  }
  while (!open.empty()) {
    const size_t base = open.back();
    open.pop_back();
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const size_t at = base ^ byte;
      if (at >= units.size()) return false;
      if (units[at].label() != byte) continue;
      const size_t next = at ^ units[at].offset();
      if (!enter(next)) return false;
      if (units[at].has_leaf() && units[next].value() >= texts.size()) return false;
    }
  }
  return true;
}

/// Checks a sentencepiece file's precompiled normalisation rules (normalizer_spec's
/// precompiled_charsmap: the trie's size, a double-array trie in 32-bit units, texts that end with
/// a zero byte). The library walks the trie without bounds checks. UserError naming `where` if any
/// text could lead it out of bounds.
void check_charsmap(std::string_view charsmap, const std::string& where) {
  if (charsmap.empty()) return;
  uint32_t size = 0;
  if (charsmap.size() > sizeof size) {
    std::memcpy(&size, charsmap.data(), sizeof size);
    charsmap.remove_prefix(sizeof size);
    if (size < charsmap.size() && size % sizeof(Unit) == 0) {
      std::vector<Unit> units(size / sizeof(Unit));
      std::memcpy(units.data(), charsmap.data(), size);
      if (is_sound(units, charsmap.substr(size))) return;
    }
  }
  throw UserError("{}: its normalisation rules (precompiled_charsmap) are damaged", where);
}

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

namespace {

constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81";  // U+2581
constexpr const char* kUnknownText = " \xE2\x81\x87 ";     // what the library writes for it

std::unique_ptr<sentencepiece::SentencePieceProcessor> load(const std::string& model,
                                                            const std::string& where) {
  auto processor = std::make_unique<sentencepiece::SentencePieceProcessor>();
  std::string problem;
  try {
    const auto status = processor->LoadFromSerializedProto(model);
    if (status.ok()) return processor;
    problem = status.ToString();
  } catch (const std::exception& error) {  // of the trie that holds the pieces
    problem = error.what();
  }
  throw UserError("{}: not a sentencepiece model: {}", where, problem);
}

/// The length of the first word of `text`: it ends before the first space symbol that follows
/// something else.
size_t word_length(std::string_view text) {
  size_t at = 0;
  while (text.substr(at).starts_with(kSpaceSymbol)) at += kSpaceSymbol.size();
  return std::min(text.find(kSpaceSymbol, at), text.size());
}

}  // namespace

SentencepieceModel::SentencepieceModel(const TokenizerFiles::Sentencepiece& source,
                                       const std::string& where,
                                       const TokenizerFiles::Part& tokenizer_config) {
  const auto& [config, config_where] = tokenizer_config;
  const SentencepieceSpec spec = SentencepieceSpec::read(source.model, where);
  adds_space_ =
      spec.adds_space_in_front && json_flag(config, "add_prefix_space", true, config_where);
  const bool legacy = json_flag(config, "legacy", false, config_where);
  after_token_ = source.spaces_after_tokens ? Space::kAlways
                 : legacy                   ? Space::kIfMissing
                                            : Space::kNone;
  if (config.contains("sp_model_kwargs") && !config["sp_model_kwargs"].is_null() &&
      !config["sp_model_kwargs"].empty()) {
    throw UserError("{}: \"sp_model_kwargs\" is not supported", config_where);
  }
  processor_ = load(without_space_in_front(source.model), where);
  for (int id = 0; id < processor_->GetPieceSize(); ++id) {
    const std::string& piece = processor_->IdToPiece(id);
    require_utf8(piece, fmt::format("{}: piece {}", where, id));
    vocabulary_.emplace(piece, id);
    has_words_ = has_words_ && word_length(piece) == piece.size();
  }
  // Else neighbours matter: rules join what spaces separate, unknown spaces become one token with
  // unknown neighbours, and a unigram model's best split can depend on rounding of score sums.
  has_words_ = has_words_ && spec.is_bpe && !spec.has_rules && vocabulary_.contains(kSpaceSymbol);
}

SentencepieceModel::~SentencepieceModel() = default;

bool SentencepieceModel::puts_space_before(std::string_view text, TextPlace place) const {
  if (!adds_space_ || text.empty()) return false;
  if (place == TextPlace::kStart || after_token_ == Space::kAlways) return true;
  const bool has_space = text.starts_with(' ') || text.starts_with(kSpaceSymbol);
  return after_token_ == Space::kIfMissing && !has_space;
}

void SentencepieceModel::encode(std::string_view normalized, TextPlace place, TokenIds& ids) const {
  std::string text = puts_space_before(normalized, place) ? std::string(kSpaceSymbol) : "";
  for (const char c : normalized) c == ' ' ? text.append(kSpaceSymbol) : text.append(1, c);
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view word = rest.substr(0, has_words_ ? word_length(rest) : rest.size());
    cache_.append(word, ids, [this](std::string_view missing) { return encode_whole(missing); });
    rest.remove_prefix(word.size());
  }
}

TokenIds SentencepieceModel::encode_whole(std::string_view text) const {
  std::vector<int> pieces;
  const auto status = processor_->Encode({text.data(), text.size()}, &pieces);
  if (!status.ok()) throw Error("sentencepiece: {}", status.ToString());
  return {pieces.begin(), pieces.end()};
}

std::string SentencepieceModel::text_of(std::string_view token) const {
  const auto found = vocabulary_.find(token);
  if (found == vocabulary_.end()) return std::string(token);
  const auto id = static_cast<int>(found->second);
  if (processor_->IsByte(id)) return std::string(1, static_cast<char>(fallback_byte(token)));
  if (processor_->IsUnknown(id)) return kUnknownText;
  std::string text;
  for (size_t at = 0; at < token.size();) {
    const bool space = token.substr(at).starts_with(kSpaceSymbol);
    text += space ? ' ' : token[at];
    at += space ? kSpaceSymbol.size() : 1;
  }
  return text;
}

std::vector<AddedToken> SentencepieceModel::control_tokens() const {
  std::vector<AddedToken> tokens;
  for (int id = 0; id < processor_->GetPieceSize(); ++id) {
    if (!processor_->IsControl(id) && !processor_->IsUnknown(id)) continue;
    tokens.push_back({.id = id, .content = processor_->IdToPiece(id), .special = true});
  }
  return tokens;
}

}  // namespace predgen
