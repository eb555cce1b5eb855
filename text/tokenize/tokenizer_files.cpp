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

/// "chat_template" is the template, or a list of {name, template} of which "default" counts.
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

void read_model(TokenizerFiles& files) {
  const fs::path json = files.folder / "tokenizer.json", model = files.folder / "tokenizer.model";
  if (fs::exists(json)) {
    files.tokenizer = read_tokenizer_json(json);
  } else if (fs::exists(model)) {
    files.sentencepiece = model;
  } else {
    throw UserError("{}: no such file, and no tokenizer.model beside it", json.string());
  }
}

/// Folders without "added_tokens_decoder" may have files of an older form, which transformers then
/// reads instead.
void read_older_files(TokenizerFiles& files) {
  if (files.tokenizer_config.contains("added_tokens_decoder")) return;
  const Json map = read_object_if_there(files.folder / "special_tokens_map.json");
  for (const auto& [key, value] : map.items()) files.tokenizer_config[key] = value;
  files.added_tokens = read_object_if_there(files.folder / "added_tokens.json");
}

void read_chat_template(TokenizerFiles& files, const fs::path& chat_template) {
  files.is_given_template = !chat_template.empty();
  files.chat_template_file = files.path_of("tokenizer_config.json");
  files.chat_template = configured_template(files.tokenizer_config, files.chat_template_file);
  fs::path jinja = files.folder / "chat_template.jinja";  // stronger, as in transformers
  if (!chat_template.empty()) jinja = chat_template;
  if (!chat_template.empty() || fs::exists(jinja)) {
    files.chat_template_file = jinja.string();
    files.chat_template = read_file(jinja);
  }
}

std::string hash_of(const TokenizerFiles& files, const fs::path& chat_template) {
  Hasher hasher;
  std::vector<std::string> names{"tokenizer.json", "tokenizer_config.json", "chat_template.jinja"};
  if (files.sentencepiece) names.push_back("tokenizer.model");
  if (!files.tokenizer_config.contains("added_tokens_decoder")) {
    for (const char* name : {"special_tokens_map.json", "added_tokens.json"}) {
      if (fs::exists(files.folder / name)) names.push_back(name);
    }
  }
  for (const std::string& name : names) {
    hasher.add(name);
    if (fs::exists(files.folder / name)) hasher.add_file(files.folder / name);
  }
  if (!chat_template.empty()) hasher.add(*files.chat_template);
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
  files.folder = folder;
  if (!fs::is_directory(folder)) throw UserError("{}: no such model folder", folder.string());
  read_model(files);
  files.tokenizer_config = read_object_if_there(folder / "tokenizer_config.json");
  files.generation_config = read_object_if_there(folder / "generation_config.json");
  files.config = read_object_if_there(folder / "config.json");
  read_older_files(files);
  read_chat_template(files, chat_template);
  files.hash = hash_of(files, chat_template);
  return files;
}

std::optional<std::string> TokenizerFiles::named_token(const char* key) const {
  if (!tokenizer_config.contains(key) || tokenizer_config[key].is_null()) return std::nullopt;
  return token_text(tokenizer_config, key, path_of("tokenizer_config.json"));
}

std::vector<std::string> TokenizerFiles::special_tokens() const {
  std::vector<std::string> tokens;
  for (const char* key : {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token",
                          "cls_token", "mask_token"}) {
    if (const auto token = named_token(key)) tokens.push_back(*token);
  }
  for (const char* key : {"additional_special_tokens", "extra_special_tokens"}) {
    if (!tokenizer_config.contains(key) || tokenizer_config[key].is_null()) continue;
    for (const auto& [name, value] : tokenizer_config[key].items()) {
      tokens.push_back(
          token_text(Json{{"token", value}}, "token", path_of("tokenizer_config.json")));
    }
  }
  return tokens;
}

}  // namespace predgen
