#include "text/tokenize/tokenizer_json.h"

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"

namespace predgen {
namespace {

StringMap<TokenId> read_vocabulary(const nlohmann::json& vocab, const std::string& where) {
  StringMap<TokenId> vocabulary;
  vocabulary.reserve(vocab.size());
  for (const auto& [token, id] : vocab.items()) {
    if (!id.is_number_integer() || id.get<int64_t>() < 0 || id.get<int64_t>() > kMaxTokenId) {
      fail_json_key("vocab", where, fmt::format("gives \"{}\" the id {}", token, id.dump()));
    }
    vocabulary.emplace(token, id.get<TokenId>());
  }
  return vocabulary;
}

}  // namespace

TokenizerJson read_tokenizer_json(const std::filesystem::path& file) {
  const std::string where = file.string();
  const std::string text = read_file(file);
  check_json_depth(text, where);
  nlohmann::json json =
      checked_json(where + ": not valid JSON", [&] { return nlohmann::json::parse(text); });
  if (!json.is_object()) throw UserError("{}: must hold a JSON object", where);
  if (!json.contains("model") || !json["model"].is_object()) {
    fail_json_key("model", where, "must be an object");
  }
  nlohmann::json& model = json["model"];
  // The type first: other types store other things in "vocab".
  const nlohmann::json type = model.value("type", nlohmann::json("BPE"));
  if (type != "BPE") {
    throw UserError("{}: model type {} is not supported (\"BPE\")", where, type.dump());
  }
  if (!model.contains("vocab") || !model["vocab"].is_object()) {
    fail_json_key("vocab", where, "must map tokens to ids");
  }
  TokenizerJson result;
  result.vocabulary = read_vocabulary(model["vocab"], where);
  model.erase("vocab");
  result.fields = json;
  return result;
}

void check_growth(std::string_view text, std::string_view original) {
  constexpr size_t kMaxTimes = 64, kMaxMore = 65'536;
  if (text.size() > kMaxTimes * original.size() + kMaxMore) {
    throw UserError("the tokenizer's replacements make {} bytes of {}: more than {} times as many",
                    text.size(), original.size(), kMaxTimes);
  }
}

Regex read_pattern(const Json& step, const std::string& where) {
  const Json pattern = json_get<Json>(step, "pattern", where);
  const bool is_regex = pattern.is_object() && pattern.contains("Regex");
  return Regex(json_get<std::string>(pattern, is_regex ? "Regex" : "String", where),
               is_regex ? Regex::Syntax::kPattern : Regex::Syntax::kLiteral, where);
}

}  // namespace predgen
