#pragma once

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "core/files.h"
#include "tensors/safetensors.h"
#include "voice/zonos/zonos_model.h"

namespace predgen {

/// config.json of a Zonos transformer that fits in a test: two layers of width 32, four heads that
/// share two, and every kind of conditioner.
inline Json small_zonos_config() {
  return parse_json(R"({
    "backbone": {"d_model": 32, "d_intermediate": 0, "attn_mlp_d_intermediate": 48, "n_layer": 2,
      "ssm_cfg": {}, "attn_layer_idx": [0, 1], "rms_norm": false, "residual_in_fp32": false,
      "norm_epsilon": 1e-5,
      "attn_cfg": {"causal": true, "num_heads": 4, "num_heads_kv": 2, "rotary_emb_dim": 8,
        "rotary_emb_interleaved": true, "qkv_proj_bias": false, "out_proj_bias": false}},
    "prefix_conditioner": {"projection": "linear", "conditioners": [
      {"type": "EspeakPhonemeConditioner", "name": "espeak"},
      {"type": "PassthroughConditioner", "name": "speaker", "cond_dim": 128,
       "uncond_type": "learned", "projection": "linear"},
      {"type": "FourierConditioner", "name": "emotion", "input_dim": 8, "uncond_type": "learned"},
      {"type": "FourierConditioner", "name": "fmax", "min_val": 0, "max_val": 24000,
       "uncond_type": "learned"},
      {"type": "IntegerConditioner", "name": "language_id", "min_val": -1, "max_val": 126,
       "uncond_type": "learned"}]},
    "eos_token_id": 1024, "masked_token_id": 1025})",
                    "small config");
}

/// Random weights for `config` as a model folder. `edit` may change what is written.
inline void write_small_transformer(
    const std::filesystem::path& folder, const Json& config = small_zonos_config(),
    const std::function<void(std::map<std::string, at::Tensor>&)>& edit = {}) {
  at::Generator generator = at::detail::createCPUGenerator(1);
  std::map<std::string, at::Tensor> tensors;
  for (const WeightSpec& weight : ZonosConfig::read(config, "small config").weight_layout()) {
    const bool is_scale =
        weight.name.find("norm") != std::string::npos && weight.name.ends_with(".weight");
    tensors[weight.name] =
        at::empty(weight.shape, at::kFloat).normal_(is_scale ? 1.0 : 0.0, 0.3, generator);
  }
  if (edit) edit(tensors);
  write_file(folder / "config.json", config.dump());
  write_safetensors(folder / "model.safetensors", tensors);
}

/// Everything that small_zonos_config() has a place for.
inline ZonosConditioning small_zonos_conditioning() {
  ZonosConditioning conditioning;
  conditioning.phoneme_ids = {2, 61, 94, 65, 187, 3};
  conditioning.speaker = at::linspace(-1, 1, 128, at::kFloat);
  conditioning.emotion = {0.3f, 0.1f, 0.1f, 0.1f, 0.1f, 0.1f, 0.2f, 0.3f};
  conditioning.fmax = 22050.0f;
  conditioning.language_id = 24;
  return conditioning;
}

}  // namespace predgen
