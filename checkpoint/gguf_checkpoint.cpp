#include "checkpoint/gguf_checkpoint.h"

#include <algorithm>
#include <fstream>
#include <map>

#include "checkpoint/gguf_config.h"
#include "checkpoint/gguf_tensors.h"
#include "checkpoint/gguf_tokenizer.h"
#include "checkpoint/stacked_tensors.h"
#include "core/error.h"
#include "core/files.h"

namespace predgen {
namespace fs = std::filesystem;

namespace {

/// The type that most values are stored in.
std::string main_type(const GgufFile& file) {
  std::map<std::string, int64_t> values;
  for (const auto& [name, entry] : file.entries()) {
    values[std::string(entry.type->name)] += c10::multiply_integers(entry.shape);
  }
  const auto most = std::ranges::max_element(
      values, {}, [](const auto& type_and_count) { return type_and_count.second; });
  return most == values.end() ? "" : most->first;
}

/// The file's sampling recommendations, in the form of a generation_config.json.
Json sampling_fields(const GgufMetadata& metadata) {
  constexpr std::pair<const char*, const char*> kNames[] = {
      {"temp", "temperature"},
      {"top_k", "top_k"},
      {"top_p", "top_p"},
      {"min_p", "min_p"},
      {"mirostat", "mirostat"},
      {"xtc_probability", "xtc_probability"},
      {"penalty_repeat", "repetition_penalty"}};
  Json fields;
  for (const auto& [name, field] : kNames) {
    const std::string key = fmt::format("general.sampling.{}", name);
    if (!metadata.contains(key)) continue;
    const bool is_whole = std::string_view(name) == "top_k";
    fields[field] = is_whole ? Json(metadata.get<int64_t>(key)) : Json(metadata.decimal(key));
  }
  return fields;
}

void write_json(const fs::path& file, const Json& json) { write_file(file, json.dump(2) + "\n"); }

/// In order of ids, as such files are written.
Json vocabulary_json(const StringMap<TokenId>& vocabulary) {
  std::vector<std::pair<TokenId, std::string_view>> order;
  for (const auto& [token, id] : vocabulary) order.emplace_back(id, token);
  std::ranges::sort(order);
  Json::object_t json;
  // Appending directly avoids comparing each key with all earlier ones.
  auto& pairs = static_cast<Json::object_t::Container&>(json);
  for (const auto& [id, token] : order) pairs.emplace_back(std::string(token), id);
  return json;
}

void write_tokenizer(const TokenizerFiles& files, const fs::path& folder) {
  if (files.tokenizer) {
    Json json = files.tokenizer->fields;
    json["model"]["vocab"] = vocabulary_json(files.tokenizer->vocabulary);
    write_json(folder / "tokenizer.json", json);
  } else {
    write_file(folder / "tokenizer.model", files.sentencepiece->model);
  }
  Json config = files.tokenizer_config.fields;
  if (!config.contains("tokenizer_class")) {
    config["tokenizer_class"] = files.tokenizer ? "PreTrainedTokenizerFast" : "LlamaTokenizer";
  }
  if (files.chat_template) config["chat_template"] = *files.chat_template;
  write_json(folder / "tokenizer_config.json", config);
}

}  // namespace

bool GgufCheckpoint::is_at(const fs::path& path) {
  std::error_code unusable;  // a name that is too long, for example
  if (!fs::is_regular_file(path, unusable)) return false;
  if (path.extension() == ".gguf") return true;
  char magic[4] = {};
  std::ifstream(path, std::ios::binary).read(magic, sizeof magic);
  return std::string_view(magic, sizeof magic) == "GGUF";
}

GgufCheckpoint::GgufCheckpoint(const fs::path& path)
    : path_(path), file_(std::make_shared<const GgufFile>(path)) {}

CheckpointLabel GgufCheckpoint::read_label() const {
  const GgufMetadata& metadata = file_->metadata();
  const auto text = [&](const char* key) { return metadata.get_or(key, std::string()); };
  CheckpointLabel label{.architecture = metadata.get<std::string>("general.architecture"),
                        .name = text("general.name"),
                        .type = main_type(*file_),
                        .licence = text("general.license")};
  for (const auto& [name, entry] : file_->entries()) {
    label.num_parameters += c10::multiply_integers(entry.shape);
  }
  for (const fs::path& part : file_->files()) {
    label.num_bytes += static_cast<int64_t>(fs::file_size(part));
  }
  label.context = metadata.get_or(label.architecture + ".context_length", int64_t{0});
  return label;
}

Json GgufCheckpoint::read_config_json() const { return read_gguf_config(*file_); }

ModelConfig GgufCheckpoint::read_config() const {
  return ModelConfig::from_json(read_config_json(), name());
}

std::unique_ptr<const StoredTensors> GgufCheckpoint::open_tensors() const {
  const ModelConfig config = read_config();
  return std::make_unique<const UnstackedTensors>(
      std::make_unique<const GgufTensors>(
          file_, config, file_->metadata().get<std::string>("general.architecture")),
      config, name());
}

bool GgufCheckpoint::has_tokenizer() const { return has_gguf_tokenizer(file_->metadata()); }

TokenizerFiles GgufCheckpoint::read_tokenizer(const fs::path& chat_template) const {
  TokenizerFiles files = read_gguf_tokenizer(file_->metadata());
  if (!chat_template.empty()) files.give_template(chat_template);
  return files;
}

GenerationSettings GgufCheckpoint::read_generation() const {
  return {.fields = sampling_fields(file_->metadata()),
          .where = name(),
          .stop_tokens = gguf_stop_tokens(file_->metadata())};
}

std::vector<CheckpointFile> GgufCheckpoint::check_files() const {
  std::vector<CheckpointFile> files;
  for (const fs::path& part : file_->files()) files.push_back({part.filename().string(), "ok"});
  if (!has_tokenizer()) {
    files.push_back(
        {"tokenizer.ggml.*", "MISSING: convert the model again, with its tokenizer", true});
  } else if (!file_->metadata().contains("tokenizer.chat_template")) {
    files.push_back({"tokenizer.chat_template", "missing: --chat-template gives one"});
  }
  return files;
}

void GgufCheckpoint::copy_files(CopiedFiles files, const fs::path& folder) const {
  if (!has_tokenizer() || files == CopiedFiles::kOther) return;
  const TokenizerFiles tokenizer = read_gguf_tokenizer(file_->metadata());
  if (files == CopiedFiles::kTokenizer) write_tokenizer(tokenizer, folder);
  if (files == CopiedFiles::kGeneration && tokenizer.generation_config.fields.is_object()) {
    Json fields = sampling_fields(file_->metadata());
    if (!fields.empty()) fields["do_sample"] = true;
    fields.update(tokenizer.generation_config.fields);
    write_json(folder / "generation_config.json", fields);
  }
}

}  // namespace predgen
