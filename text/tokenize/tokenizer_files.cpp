#include "text/tokenize/tokenizer_files.h"

#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"
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

namespace {

/// {"SpecialToken": {"id": "<s>"}} stands for ids in "special_tokens"; {"Sequence": {"id": "A"}}
/// for the text.
TextFrame read_template(const Json& processor, const std::string& where) {
  const Json special = json_get<Json>(processor, "special_tokens", where);
  TextFrame frame;
  bool has_text = false;
  for (const Json& part : json_get<Json>(processor, "single", where)) {
    if (part.contains("Sequence")) {
      const std::string name = json_get<std::string>(part["Sequence"], "id", where);
      if (has_text || name != "A") {
        throw UserError("{}: \"single\" of the post_processor must hold the text A once", where);
      }
      has_text = true;
      continue;
    }
    const std::string name =
        json_get<std::string>(json_get<Json>(part, "SpecialToken", where), "id", where);
    TokenIds& ids = has_text ? frame.after : frame.before;
    for (const TokenId id :
         json_get<TokenIds>(json_get<Json>(special, name.c_str(), where), "ids", where)) {
      ids.push_back(id);
    }
  }
  if (!has_text) {
    throw UserError("{}: \"single\" of the post_processor must hold the text A once", where);
  }
  return frame;
}

TokenIds read_end(const Json& processor, const char* key, const std::string& where) {
  const Json pair = json_get<Json>(processor, key, where);
  if (!pair.is_array() || pair.size() != 2 || !pair[1].is_number_integer()) {
    fail_json_key(key, where, "must be [token, id]");
  }
  return {pair[1].get<TokenId>()};
}

}  // namespace

TextFrame read_post_processor(const Json& post_processor, const std::string& where) {
  if (post_processor.is_null()) return {};
  const std::string type = json_get<std::string>(post_processor, "type", where);
  if (type == "ByteLevel") return {};  // affects offsets only
  if (type == "TemplateProcessing") return read_template(post_processor, where);
  if (type == "BertProcessing" || type == "RobertaProcessing") {
    return {read_end(post_processor, "cls", where), read_end(post_processor, "sep", where)};
  }
  if (type != "Sequence") {
    throw UserError(
        "{}: post_processor type \"{}\" is not supported (ByteLevel, TemplateProcessing, "
        "BertProcessing, RobertaProcessing, Sequence)",
        where, type);
  }
  TextFrame frame;
  for (const Json& step : json_get<Json>(post_processor, "processors", where)) {
    const TextFrame added = read_post_processor(step, where);
    frame.before.insert(frame.before.begin(), added.before.begin(), added.before.end());
    frame.after.insert(frame.after.end(), added.after.begin(), added.after.end());
  }
  return frame;
}

TextFrame read_added_ends(const Json& tokenizer_config, const std::string& where,
                          const std::function<TokenId(const char* key)>& id_of) {
  const auto asks = [&](const char* key) {
    return tokenizer_config.contains(key) && !tokenizer_config[key].is_null() &&
           json_get<bool>(tokenizer_config, key, where);
  };
  TextFrame frame;
  if (asks("add_bos_token")) frame.before = {id_of("bos_token")};
  if (asks("add_eos_token")) frame.after = {id_of("eos_token")};
  return frame;
}

namespace fs = std::filesystem;

namespace {

Json read_object_if_there(const fs::path& file) {
  if (!fs::exists(file)) return {};
  Json json = read_json(file);
  if (!json.is_object()) throw UserError("{}: must hold a JSON object", file.string());
  return json;
}

/// "chat_template" is the template, or a list of {name, template} of which "default" and "tool_use"
/// are used.
void read_configured_templates(TokenizerFiles& files) {
  const auto& [config, where] = files.tokenizer_config;
  files.template_where = fmt::format("{}: chat_template", where);
  if (!config.contains("chat_template") || config["chat_template"].is_null()) return;
  const Json& value = config["chat_template"];
  if (!value.is_array()) {
    files.chat_template = json_get<std::string>(config, "chat_template", where);
    return;
  }
  for (const Json& entry : value) {
    const auto name = json_get<std::string>(entry, "name", where);
    if (name != "default" && name != "tool_use") continue;
    auto text = json_get<std::string>(entry, "template", where);
    if (name == "default") {
      files.chat_template = std::move(text);
    } else {
      files.tool_template = {std::move(text), fmt::format("{} \"{}\"", files.template_where, name)};
    }
  }
  if (!files.chat_template) {
    fail_json_key("chat_template", where, "has no template named \"default\"");
  }
}

/// "x" or {"content": "x"}.
std::string token_text(const Json& object, const char* key, const std::string& where) {
  const Json& value = object.at(key);
  return value.is_object() ? json_get<std::string>(value, "content", where)
                           : json_get<std::string>(object, key, where);
}

TokenizerFiles::Part read_part(const fs::path& file) {
  return {.fields = read_object_if_there(file), .where = file.string()};
}

void read_model(TokenizerFiles& files, const fs::path& folder) {
  const fs::path json = folder / "tokenizer.json", model = folder / "tokenizer.model";
  if (fs::exists(json)) {
    files.where = json.string();
    files.tokenizer = read_tokenizer_json(json);
  } else if (fs::exists(model)) {
    files.where = model.string();
    files.sentencepiece = {.model = read_file(model)};
  } else {
    throw UserError("{}: no such file, and no tokenizer.model beside it{}", json.string(),
                    std::filesystem::exists(json.parent_path() / "config.json")
                        ? ""
                        : ", nor config.json: the folder is no model");
  }
}

/// Folders without "added_tokens_decoder" may have files of an older format, which transformers
/// then reads instead.
void read_older_files(TokenizerFiles& files, const fs::path& folder) {
  files.added_tokens.where = (folder / "added_tokens.json").string();
  Json& config = files.tokenizer_config.fields;
  if (config.contains("added_tokens_decoder")) return;
  const Json map = read_object_if_there(folder / "special_tokens_map.json");
  for (const auto& [key, value] : map.items()) config[key] = value;
  files.added_tokens = read_part(folder / "added_tokens.json");
}

void set_template(TokenizerFiles& files, const fs::path& jinja) {
  files.template_where = fmt::format("{}: chat_template", jinja.string());
  files.chat_template = read_file(jinja);
  files.tool_template.reset();
}

constexpr const char* kToolTemplate = "additional_chat_templates/tool_use.jinja";

void read_chat_template(TokenizerFiles& files, const fs::path& folder) {
  read_configured_templates(files);
  // Files take precedence over all that the configuration has, as in transformers.
  const fs::path jinja = folder / "chat_template.jinja", for_tools = folder / kToolTemplate;
  if (fs::exists(jinja)) {
    set_template(files, jinja);
  } else if (!files.chat_template) {
    files.template_where =
        fmt::format("{}: no chat_template in tokenizer_config.json and no chat_template.jinja",
                    folder.string());
  }
  if (fs::exists(for_tools)) {
    files.tool_template = {read_file(for_tools),
                           fmt::format("{}: chat_template", for_tools.string())};
  }
}

/// `given` is the caller's template.
std::string hash_of(const TokenizerFiles& files, const fs::path& folder,
                    const std::optional<std::string>& given) {
  Hasher hasher;
  std::vector<std::string> names{"tokenizer.json", "tokenizer_config.json", "chat_template.jinja"};
  if (files.sentencepiece) names.push_back("tokenizer.model");
  if (!files.tokenizer_config.fields.contains("added_tokens_decoder")) {
    for (const char* name : {"special_tokens_map.json", "added_tokens.json"}) {
      if (fs::exists(folder / name)) names.push_back(name);
    }
  }
  if (fs::exists(folder / kToolTemplate)) names.push_back(kToolTemplate);
  for (const std::string& name : names) {
    hasher.add(name);
    if (fs::exists(folder / name)) hasher.add_file(folder / name);
  }
  if (given) hasher.add(*given);
  return hasher.hex();
}

}  // namespace

std::span<const std::string_view> tokenizer_file_names() {
  static constexpr std::string_view kNames[] = {"tokenizer.json",
                                                "tokenizer_config.json",
                                                "special_tokens_map.json",
                                                "added_tokens.json",
                                                "vocab.json",
                                                "merges.txt",
                                                "tokenizer.model",
                                                "chat_template.jinja"};
  return kNames;
}

bool has_tokenizer(const fs::path& folder) {
  return fs::exists(folder / "tokenizer.json") || fs::exists(folder / "tokenizer.model");
}

TokenizerFiles TokenizerFiles::read(const fs::path& folder, const fs::path& chat_template) {
  TokenizerFiles files;
  if (!fs::is_directory(folder)) throw UserError("{}: no such model folder", folder.string());
  read_model(files, folder);
  files.tokenizer_config = read_part(folder / "tokenizer_config.json");
  files.generation_config = read_part(folder / "generation_config.json");
  files.config = read_part(folder / "config.json");
  read_older_files(files, folder);
  read_chat_template(files, folder);
  if (chat_template.empty()) {
    files.hash = hash_of(files, folder, std::nullopt);
  } else {  // the hash in manifests of data sets made with their own template
    files.give_template(chat_template);
    files.hash = hash_of(files, folder, files.chat_template);
  }
  return files;
}

void TokenizerFiles::give_template(const fs::path& file) {
  is_given_template = true;
  set_template(*this, file);
  hash = Hasher().add(hash).add(*chat_template).hex();
}

std::optional<std::string> TokenizerFiles::named_token(const char* key) const {
  const Json& fields = tokenizer_config.fields;
  if (!fields.contains(key) || fields[key].is_null()) return std::nullopt;
  return token_text(fields, key, tokenizer_config.where);
}

std::vector<std::string> TokenizerFiles::special_tokens() const {
  std::vector<std::string> tokens;
  for (const char* key : {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token",
                          "cls_token", "mask_token"}) {
    if (const auto token = named_token(key)) tokens.push_back(*token);
  }
  const Json& fields = tokenizer_config.fields;
  for (const char* key : {"additional_special_tokens", "extra_special_tokens"}) {
    if (!fields.contains(key) || fields[key].is_null()) continue;
    for (const auto& [name, value] : fields[key].items()) {
      tokens.push_back(token_text(Json{{"token", value}}, "token", tokenizer_config.where));
    }
  }
  return tokens;
}

}  // namespace predgen
