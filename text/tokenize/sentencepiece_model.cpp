#include "text/tokenize/sentencepiece_model.h"

#include <sentencepiece_processor.h>

#include "core/error.h"
#include "core/files.h"
#include "text/tokenize/sentencepiece_spec.h"
#include "text/tokenize/token_decoder.h"

namespace predgen {
namespace {

constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81";  // U+2581
constexpr const char* kUnknownText = " \xE2\x81\x87 ";     // what the library writes for it

bool flag(const Json& config, const char* key, bool otherwise, const std::string& where) {
  return config.contains(key) && !config[key].is_null() ? json_get<bool>(config, key, where)
                                                        : otherwise;
}

void load(sentencepiece::SentencePieceProcessor& processor, const std::string& model,
          const std::string& where) {
  std::string problem;
  try {
    const auto status = processor.LoadFromSerializedProto(model);
    if (status.ok()) return;
    problem = status.ToString();
  } catch (const std::exception& error) {  // of the trie that holds the pieces
    problem = error.what();
  }
  throw UserError("{}: not a sentencepiece model: {}", where, problem);
}

}  // namespace

struct SentencepieceModel::Processors {
  sentencepiece::SentencePieceProcessor whole;       // as the file asks
  sentencepiece::SentencePieceProcessor continuing;  // without a space in front
};

SentencepieceModel::SentencepieceModel(const std::filesystem::path& file,
                                       const Json& tokenizer_config) {
  const std::string where = file.string();
  const std::string config = (file.parent_path() / "tokenizer_config.json").string();
  const std::string model = read_file(file);
  const SentencepieceSpec spec = SentencepieceSpec::read(model, where);
  adds_space_ =
      spec.adds_space_in_front && flag(tokenizer_config, "add_prefix_space", true, config);
  legacy_ = flag(tokenizer_config, "legacy", false, config);
  if (tokenizer_config.contains("sp_model_kwargs") &&
      !tokenizer_config["sp_model_kwargs"].is_null() &&
      !tokenizer_config["sp_model_kwargs"].empty()) {
    throw UserError("{}: \"sp_model_kwargs\" is not supported", config);
  }
  auto processors = std::make_unique<Processors>();
  const std::string continuing = without_space_in_front(model);
  load(processors->whole, adds_space_ ? model : continuing, where);
  load(processors->continuing, continuing, where);
  for (int id = 0; id < processors->whole.GetPieceSize(); ++id) {
    vocabulary_.emplace(processors->whole.IdToPiece(id), id);
  }
  if (spec.is_bpe && !spec.has_rules && !spec.has_symbols)
    bpe_ = SentencepieceBpe::make(processors->whole);
  processors_ = std::move(processors);
}

SentencepieceModel::~SentencepieceModel() = default;

void SentencepieceModel::encode(std::string_view normalized, TextPlace place, TokenIds& ids) const {
  const bool has_space = normalized.starts_with(' ') || normalized.starts_with(kSpaceSymbol);
  const bool opens = place == TextPlace::kStart || (legacy_ && !has_space);
  if (bpe_) {
    std::string text = opens && adds_space_ && !normalized.empty() ? std::string(kSpaceSymbol) : "";
    for (const char c : normalized) c == ' ' ? text.append(kSpaceSymbol) : text.append(1, c);
    return bpe_->encode(text, ids);
  }
  std::vector<int> pieces;
  const auto status = (opens ? processors_->whole : processors_->continuing)
                          .Encode({normalized.data(), normalized.size()}, &pieces);
  if (!status.ok()) throw Error("sentencepiece: {}", status.ToString());
  ids.insert(ids.end(), pieces.begin(), pieces.end());
}

std::string SentencepieceModel::text_of(std::string_view token) const {
  const auto found = vocabulary_.find(token);
  if (found == vocabulary_.end()) return std::string(token);
  const auto id = static_cast<int>(found->second);
  if (processors_->whole.IsByte(id)) return std::string(1, static_cast<char>(fallback_byte(token)));
  if (processors_->whole.IsUnknown(id)) return kUnknownText;
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
  const auto& processor = processors_->whole;
  for (int id = 0; id < processor.GetPieceSize(); ++id) {
    if (!processor.IsControl(id) && !processor.IsUnknown(id)) continue;
    tokens.push_back({.id = id, .content = processor.IdToPiece(id), .special = true});
  }
  return tokens;
}

}  // namespace predgen
