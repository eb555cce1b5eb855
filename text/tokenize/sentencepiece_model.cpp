#include "text/tokenize/sentencepiece_model.h"

#include <sentencepiece_processor.h>

#include "core/error.h"
#include "text/tokenize/sentencepiece_spec.h"
#include "text/tokenize/token_decoder.h"
#include "text/utf8.h"

namespace predgen {
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
