#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "model/transformer.h"

namespace predgen {

struct LoadOptions {
  std::string device = "auto";  // "auto": CUDA if there is one; "cpu", "cuda", "cuda:1"
  std::string dtype = "auto";   // "auto": float32 on a CPU, bfloat16 on CUDA; "fp32", "bf16"
  Quantization quantization = Quantization::kNone;  // then "auto" is bfloat16 everywhere
  bool width_invariant = false;                     // see Transformer::set_width_invariant()
  /// The weights of the layers' linears stay views of the file, as stored, for who takes them out.
  bool leaves_linears = false;
  bool prepares_passes = true;  // see Transformer::prepare_passes()
};

/// Loads a Hugging Face folder (config.json, safetensors single or sharded) by memory mapping,
/// straight to the device and type. `adapter`: a PEFT folder, or empty.
/// UserError names missing, superfluous and misshapen tensors.
std::unique_ptr<Transformer> load_model(const std::filesystem::path& folder,
                                        const std::filesystem::path& adapter = {},
                                        const LoadOptions& options = {});

/// Writes config.json and model.safetensors (sharded at 5 GB with an index, like huggingface_hub)
/// and copies every other small file (tokenizer, generation_config.json, licence) from
/// `source_folder` unless that is empty. `dtype`: "fp32" or "bf16".
void save_model(const Transformer& model, const std::filesystem::path& folder,
                const std::filesystem::path& source_folder, const std::string& dtype);
/// All of that but the weights. The tokenizer's files come from `tokenizer_folder` instead unless
/// that is empty.
void save_model_files(const std::filesystem::path& folder, const ModelConfig& config,
                      const std::filesystem::path& source_folder, const std::string& dtype,
                      const std::filesystem::path& tokenizer_folder);

/// "fp32" or "bf16" to the tensor type; UserError otherwise.
at::ScalarType parse_dtype(const std::string& name);
/// What LoadOptions says; UserError for other words, or a GPU that is not there.
at::Device parse_device(const std::string& name);
at::ScalarType choose_dtype(const LoadOptions& options, at::Device device);

}  // namespace predgen
