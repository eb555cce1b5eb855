#include "checkpoint/model_weights.h"

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/log.h"
#include "tensors/safetensors.h"

namespace predgen {
namespace {

/// Buffers in old checkpoints that every reader computes for itself.
bool is_computed(const std::string& name) { return name.ends_with(".rotary_emb.inv_freq"); }

/// Whether it belongs to a part beside the text model, in a GGUF file or a folder.
bool is_of_other_part(std::string_view name) {
  constexpr std::string_view kOfModel = "model.";
  if (name.starts_with(kOfModel)) name.remove_prefix(kOfModel.size());
  constexpr std::string_view kParts[] = {"v.",
                                         "mm.",
                                         "a.",
                                         "vision_tower.",
                                         "vision_model.",
                                         "visual.",
                                         "audio_tower.",
                                         "embed_vision.",
                                         "multi_modal_projector.",
                                         "embed_audio.",
                                         "mtp.",
                                         "vision_embedder."};
  const auto begins = [&](std::string_view part) { return name.starts_with(part); };
  return std::ranges::any_of(kParts, begins) ||
         (name.starts_with("blk.") && name.find(".nextn.") != std::string_view::npos);
}

/// Of layers that read another one's keys and values: what would make their own, which some
/// checkpoints have.
std::set<std::string> unused_names(const ModelConfig& config) {
  std::set<std::string> names;
  for (int64_t i = 0; i < config.num_layers(); ++i) {
    if (config.layer(i).attention.shares < 0) continue;
    for (const char* part : {"k_proj", "v_proj", "k_norm", "v_norm"}) {
      names.insert(fmt::format("model.layers.{}.self_attn.{}.weight", i, part));
    }
    for (const char* part : {"attn_k", "attn_v", "attn_k_norm"}) {
      names.insert(fmt::format("blk.{}.{}.weight", i, part));
    }
  }
  return names;
}

}  // namespace

bool has_mtp_weights(const StoredTensors& tensors, const ModelConfig& config) {
  const auto is_own = [](const std::string& name) {
    return name.starts_with("mtp.") && !name.starts_with("mtp.blk.");
  };
  return config.mtp() && std::ranges::any_of(tensors.names(), is_own);
}

ModelWeights::ModelWeights(const Checkpoint& checkpoint,
                           std::shared_ptr<const AdapterFolder> adapter)
    : name_(checkpoint.name()),
      adapter_(std::move(adapter)),
      config_(checkpoint.read_config()),
      stored_(checkpoint.open_tensors()) {
  if (adapter_ && !adapter_->embeddings().empty()) take_embeddings_of_adapter();
  std::set<std::string> used;
  for (const WeightSpec& weight : weight_layout(config_)) {
    check_tensor(weight);
    used.insert(stored_name(weight.name));
  }
  used.merge(unused_names(config_));
  has_mtp_ = has_mtp_weights(*stored_, config_);
  for (const WeightSpec& weight : has_mtp_ ? mtp_weights(config_) : std::vector<WeightSpec>()) {
    check_tensor(weight);
    used.insert(weight.name);
  }
  std::vector<std::string> left_out;
  for (const std::string& name : stored_->names()) {
    if (used.contains(name) || is_computed(name)) continue;
    if (is_of_other_part(name)) {
      left_out.push_back(name);
      continue;
    }
    if (name != kHeadName || !config_.tie_word_embeddings) {
      throw UserError("{}: tensor {} belongs to no part of a {}", name_, name,
                      config_.architecture);
    }
    check_tied_head();
  }
  if (!left_out.empty()) {
    spdlog::warn("{}: left out {} tensors that are not of the text model, such as {}", name_,
                 left_out.size(), left_out.front());
  }
}

const std::string& ModelWeights::stored_name(const std::string& name) const {
  const bool is_head = name == kEmbeddingName && config_.tie_word_embeddings &&
                       !stored_->contains(name) && stored_->contains(kHeadName);
  return is_head ? head_name_ : name;
}

void ModelWeights::take_embeddings_of_adapter() {
  const std::map<std::string, at::Tensor>& replaced = adapter_->embeddings();
  const std::string where = adapter_->path().string();
  const int64_t vocab_size = replaced.begin()->second.size(0);
  for (const auto& [name, tensor] : replaced) {
    if (name != kEmbeddingName && name != kHeadName) {
      throw UserError("{}: tensor {} belongs to no part of a {}", where, name,
                      config_.architecture);
    }
    if (tensor.size(0) != vocab_size) {
      throw UserError("{}: {} has {} rows, but {} has {}", where, name, tensor.size(0),
                      replaced.begin()->first, vocab_size);
    }
  }
  const bool has_embedding = replaced.contains(kEmbeddingName),
             has_head = replaced.contains(kHeadName);
  if (config_.tie_word_embeddings) {
    if (!has_embedding) throw UserError("{}: has {} but no {}", where, kHeadName, kEmbeddingName);
    const AdapterConfig& trained = adapter_->config();
    if (!has_head && !trained.whole_modules.empty() && !trained.ensures_tying) {
      throw UserError(
          "{}: \"modules_to_save\" changes embeddings that are this model's head too, and only as "
          "embeddings: not supported; train with \"ensure_weight_tying\"",
          where);
    }
    if (has_head && !at::equal(replaced.at(kEmbeddingName), replaced.at(kHeadName))) {
      throw UserError("{}: {} and {} differ, but the model's \"tie_word_embeddings\" is true",
                      where, kEmbeddingName, kHeadName);
    }
  } else if (vocab_size != config_.vocab_size && !(has_embedding && has_head)) {
    throw UserError("{}: resizes the vocabulary from {} to {}, but has no {}", where,
                    config_.vocab_size, vocab_size, has_embedding ? kHeadName : kEmbeddingName);
  }
  config_.vocab_size = vocab_size;
}

void ModelWeights::check_tensor(const WeightSpec& weight) const {
  const bool replaced = adapter_ && adapter_->embeddings().contains(weight.name);
  const std::string where = replaced ? adapter_->path().string() : name_;
  if (!replaced && !stored_->contains(stored_name(weight.name))) {
    throw UserError("{}: tensor {} is missing", where,
                    weight.folder.empty() ? weight.name : weight.folder);
  }
  const TensorShape found = shape(weight.name);
  if (weight.is_index ? found.dtype != at::kLong : !at::isFloatingType(found.dtype)) {
    throw UserError("{}: tensor {} has type {}; quantised weights are not supported", where,
                    weight.name, at::toString(found.dtype));
  }
  if (found.shape != weight.shape) {
    throw UserError("{}: tensor {} has shape {}, the configuration wants {}", where, weight.name,
                    c10::str(at::IntArrayRef(found.shape)),
                    c10::str(at::IntArrayRef(weight.shape)));
  }
}

/// A tied head may be stored too, but only as a copy of the embeddings.
void ModelWeights::check_tied_head() const {
  const std::vector<int64_t> sizes = stored_->shape(kEmbeddingName).shape;
  bool same = stored_->shape(kHeadName).shape == sizes;
  for_each_block(same ? sizes : std::vector<int64_t>{0}, [&](int64_t begin, int64_t end) {
    same = same && at::equal(stored_->read_rows(kHeadName, begin, end),
                             stored_->read_rows(kEmbeddingName, begin, end));
  });
  if (!same) {
    throw UserError("{}: \"tie_word_embeddings\" is true, but {} differs from {}", name_, kHeadName,
                    kEmbeddingName);
  }
}

TensorShape ModelWeights::shape(const std::string& name) const {
  if (adapter_) {
    const auto found = adapter_->embeddings().find(name);
    if (found != adapter_->embeddings().end()) {
      return {found->second.scalar_type(), found->second.sizes().vec()};
    }
  }
  return stored_->shape(stored_name(name));
}

at::Tensor ModelWeights::tensor(const std::string& name) const {
  if (adapter_) {
    const auto found = adapter_->embeddings().find(name);
    if (found != adapter_->embeddings().end()) return found->second;
  }
  return stored_->tensor(stored_name(name));
}

at::Tensor ModelWeights::load(const std::string& name, at::Device device,
                              at::ScalarType dtype) const {
  if (adapter_ && adapter_->embeddings().contains(name)) {
    return adapter_->load_embedding(name, device, dtype);
  }
  return stored_->load(stored_name(name), device, dtype);
}

at::Tensor ModelWeights::read_rows(const std::string& name, int64_t begin, int64_t end) const {
  if (adapter_ && adapter_->embeddings().contains(name)) {
    return adapter_->read_embedding(name, begin, end);
  }
  return stored_->read_rows(stored_name(name), begin, end);
}

std::optional<CodeLayout> ModelWeights::code_layout(const std::string& name) const {
  if (adapter_ && adapter_->embeddings().contains(name)) return {};
  return stored_->code_layout(stored_name(name));
}

CodedRows ModelWeights::read_codes(const std::string& name, int64_t begin, int64_t end) const {
  return stored_->read_codes(stored_name(name), begin, end);
}

void ModelWeights::forget(const std::string& name) const {
  if (name == kHeadName && config_.tie_word_embeddings) return;  // tied: the embeddings stay
  if (!adapter_ || !adapter_->embeddings().contains(name)) stored_->forget(stored_name(name));
}

}  // namespace predgen
