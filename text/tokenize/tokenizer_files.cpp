#include "text/tokenize/tokenizer_files.h"

#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"

namespace predgen {
namespace fs = std::filesystem;

namespace {

Json read_object_if_there(const fs::path& file) {
  if (!fs::exists(file)) return {};
  Json json = read_json(file);
  if (!json.is_object()) throw UserError("{}: must hold a JSON object", file.string());
  return json;
}

/// "chat_template" is the template, or a list of {name, template} whose "default" is used.
std::optional<std::string> configured_template(const Json& config, const std::string& where) {
  if (!config.contains("chat_template") || config["chat_template"].is_null()) return std::nullopt;
  const Json& value = config["chat_template"];
  if (!value.is_array()) return json_get<std::string>(config, "chat_template", where);
  for (const Json& entry : value) {
    if (json_get<std::string>(entry, "name", where) == "default") {
      return json_get<std::string>(entry, "template", where);
    }
  }
  fail_json_key("chat_template", where, "has no template named \"default\"");
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
}

void read_chat_template(TokenizerFiles& files, const fs::path& folder) {
  const auto& [config, where] = files.tokenizer_config;
  files.chat_template = configured_template(config, where);
  files.template_where = fmt::format("{}: chat_template", where);
  const fs::path jinja = folder / "chat_template.jinja";  // takes precedence, as in transformers
  if (fs::exists(jinja)) {
    set_template(files, jinja);
  } else if (!files.chat_template) {
    files.template_where =
        fmt::format("{}: no chat_template in tokenizer_config.json and no chat_template.jinja",
                    folder.string());
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
