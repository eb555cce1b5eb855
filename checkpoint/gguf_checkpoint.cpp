#include "checkpoint/gguf_checkpoint.h"

#include <c10/util/accumulate.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <set>

#include "checkpoint/gguf_config.h"
#include "checkpoint/gguf_names.h"
#include "checkpoint/gguf_tokenizer.h"
#include "checkpoint/gguf_vocabulary.h"
#include "checkpoint/tensor_views.h"
#include "core/error.h"
#include "core/files.h"
#include "tensors/safetensors.h"
#include "tensors/stored_tensors.h"

namespace predgen {
namespace {

bool is_rope_factors(const std::string& name) {
  return name == "rope_freqs.weight" || name.ends_with(".attn_rot_embd.weight");
}

/// Whether it is of a layer from `begin` to `end`, of all that the file says to have.
bool is_of_layers(std::string_view name, int64_t begin, int64_t end) {
  constexpr std::string_view kLayer = "blk.";
  int64_t layer = 0;
  return name.starts_with(kLayer) &&
         std::from_chars(name.data() + kLayer.size(), name.data() + name.size(), layer).ec ==
             std::errc() &&
         layer >= begin && layer < end;
}

}  // namespace

GgufTensors::GgufTensors(std::shared_ptr<const GgufFile> file, const ModelConfig& config,
                         const std::string& architecture)
    : file_(std::move(file)) {
  std::set<std::string> taken;
  for (const WeightSpec& weight : weight_layout(config)) {
    if (!weight.stacked.empty()) continue;  // UnstackedTensors
    std::string gguf = weight.gguf;
    auto found = file_->entries().find(gguf);
    if (found == file_->entries().end() && weight.name == kEmbeddingName) {
      gguf = kGgufHeadName;  // the same, if tied
      found = file_->entries().find(gguf);
    }
    if (found == file_->entries().end()) continue;  // ModelWeights names missing ones
    taken.insert(gguf);
    const int64_t head_dim = rows_in_pairs(weight, architecture);
    // ModelWeights rejects one of another shape.
    const bool has_heads = head_dim > 0 && found->second.shape[0] % head_dim == 0;
    tensors_[weight.name] = {.entry = &found->second,
                             .head_dim = has_heads ? head_dim : 0,
                             .norm_offset = added_to(weight, config)};
    if ((weight.grouped && weight.grouped->heads > 1 && weight.grouped->groups > 1) ||
        weight.is_log || gguf_shape(weight) != weight.shape) {
      if (found->second.shape == gguf_shape(weight)) tensors_[weight.name].form = weight;
    }
  }
  // Those behind the model's predict further tokens.
  const auto num_all = file_->metadata().get<int64_t>(architecture + ".block_count");
  for (const auto& [name, entry] : file_->entries()) {
    if (taken.contains(name) || is_rope_factors(name)) continue;
    const bool is_further = is_of_layers(name, config.num_layers(), num_all);
    tensors_[is_further ? "mtp." + name : name] = {
        .entry = &entry, .head_dim = 0, .norm_offset = 0.0};
  }
}

std::vector<std::string> GgufTensors::names() const {
  std::vector<std::string> names;
  for (const auto& [name, stored] : tensors_) names.push_back(name);
  return names;
}

const GgufTensors::Stored& GgufTensors::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    throw UserError("{}: has no tensor {}", file_->metadata().where(), name);
  }
  return found->second;
}

TensorShape GgufTensors::shape(const std::string& name) const {
  const Stored& stored = find(name);
  const GgufFile::Entry& entry = *stored.entry;
  if (stored.form) {
    return {entry.type->is_plain() ? entry.type->plain : at::kFloat, stored.form->shape};
  }
  return {entry.type->is_plain() ? entry.type->plain : at::kFloat, entry.shape};
}

at::Tensor GgufTensors::tensor(const std::string& name) const {
  const Stored& stored = find(name);
  if (stored.entry->type->is_plain() && stored.is_as_it_is()) return file_->view(*stored.entry);
  return read_rows(name, 0, stored.entry->shape.at(0));
}

at::Tensor GgufTensors::load(const std::string& name, at::Device device,
                             at::ScalarType dtype) const {
  const Stored& stored = find(name);
  const GgufFile::Entry& entry = *stored.entry;
  const std::vector<int64_t> own = stored.form ? stored.form->shape : entry.shape;
  at::Tensor loaded = at::empty(own, at::TensorOptions(dtype).device(device));
  if (device.is_cpu() && entry.type->is_plain() && stored.is_as_it_is()) {
    const auto read = [&](char* to, size_t num_bytes, size_t offset) {
      file_->read(entry, to, num_bytes, offset);
    };
    read_converted(read, entry.type->plain, loaded);
    return loaded;
  }
  for_each_block(own, [&](int64_t begin, int64_t end) {
    loaded.narrow(0, begin, end - begin).copy_(read_rows(name, begin, end));
  });
  return loaded;
}

at::Tensor GgufTensors::read_rows(const std::string& name, int64_t begin, int64_t end) const {
  const Stored& stored = find(name);
  if (stored.form) {
    const at::Tensor rows = from_gguf_form(
        *stored.form, begin, end,
        [&](int64_t first, int64_t last) { return file_->read_rows(*stored.entry, first, last); });
    return stored.norm_offset == 0.0 ? rows : rows - stored.norm_offset;
  }
  if (stored.head_dim == 0) {
    const at::Tensor rows = file_->read_rows(*stored.entry, begin, end);
    return stored.norm_offset == 0.0 ? rows : rows - stored.norm_offset;
  }
  const auto [first, last] = whole_heads(begin, end, stored.head_dim);
  return in_halves(file_->read_rows(*stored.entry, first, last), stored.head_dim)
      .narrow(0, begin - first, end - begin);
}

std::optional<CodeLayout> GgufTensors::code_layout(const std::string& name) const {
  const Stored& stored = find(name);
  const bool is_matrix = stored.entry->shape.size() >= 2 && stored.norm_offset == 0.0;
  if (stored.entry->type->is_plain() || !is_matrix) return std::nullopt;
  CodeLayout layout = stored.entry->type->layout;
  if (stored.form) {
    const auto& heads = stored.form->grouped;
    const bool keeps_groups = heads && (!heads->in_columns || heads->size % layout.group == 0);
    if (!keeps_groups || stored.form->shape.size() != 2) return std::nullopt;
    if (heads->in_columns) layout.blocks = BlockScales::kNone;  // heads are shorter than a block
  }
  return layout;
}

CodedRows GgufTensors::read_codes(const std::string& name, int64_t begin, int64_t end) const {
  const Stored& stored = find(name);
  if (stored.form) return regrouped_codes(*stored.entry, *stored.form->grouped, begin, end);
  if (stored.head_dim == 0) {
    GgufFile::Entry matrix = *stored.entry;  // of all rows
    matrix.shape = {c10::multiply_integers(matrix.shape) / matrix.shape.back(),
                    matrix.shape.back()};
    return file_->read_codes(matrix, begin, end);
  }
  const auto [first, last] = whole_heads(begin, end, stored.head_dim);
  const int64_t skipped = begin - first;
  const CodedRows rows = file_->read_codes(*stored.entry, first, last);
  const auto part = [&](const at::Tensor& values) {
    return values.defined() ? in_halves(values, stored.head_dim).narrow(0, skipped, end - begin)
                            : values;
  };
  return {.codes = part(rows.codes),
          .scales = part(rows.scales),
          .offsets = part(rows.offsets),
          .blocks = part(rows.blocks)};
}

CodedRows GgufTensors::regrouped_codes(const GgufFile::Entry& entry, const GroupedHeads& heads,
                                       int64_t begin, int64_t end) const {
  if (heads.in_columns) {
    const CodedRows rows = file_->read_codes(entry, begin, end);
    const auto part = [&](const at::Tensor& values, int64_t unit) {
      return values.defined() ? regrouped_columns(heads, false, values, unit) : values;
    };
    const int64_t group = entry.type->layout.group;
    return {.codes = part(rows.codes, 1),
            .scales = part(rows.scales, group),
            .offsets = part(rows.offsets, group),
            .blocks = {}};
  }
  const auto part = [&](at::Tensor CodedRows::*side) {
    return regrouped_rows(heads, false, begin, end, [&](int64_t first, int64_t last) {
      return file_->read_codes(entry, first, last).*side;
    });
  };
  return {.codes = part(&CodedRows::codes),
          .scales = part(&CodedRows::scales),
          .offsets = part(&CodedRows::offsets),
          .blocks = entry.type->layout.blocks == BlockScales::kNone ? at::Tensor()
                                                                    : part(&CodedRows::blocks)};
}

void GgufTensors::forget(const std::string& name) const { file_->forget(*find(name).entry); }

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
  if (files.tool_template) {
    config["chat_template"] =
        Json::array({{{"name", "default"}, {"template", *files.chat_template}},
                     {{"name", "tool_use"}, {"template", files.tool_template->jinja}}});
  }
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
  } else if (!file_->metadata().contains(kGgufTemplate) &&
             !file_->metadata().contains(kGgufToolTemplate)) {
    files.push_back({std::string(kGgufTemplate), "missing: --chat-template gives one"});
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
