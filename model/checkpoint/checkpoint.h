#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/json.h"
#include "model/model_config.h"
#include "tensors/stored_tensors.h"
#include "text/token_ids.h"
#include "text/tokenize/tokenizer_files.h"

namespace predgen {

/// What a checkpoint says about generating.
struct GenerationSettings {
  Json fields;           // those of a generation_config.json; null if it says nothing
  std::string where;     // they are written, for messages
  TokenIds stop_tokens;  // end an answer
};

/// A file that a checkpoint has, or should have.
struct CheckpointFile {
  std::string name;
  std::string state;        // "ok", or what is missing and how it is had
  bool is_missing = false;  // and nothing works without it
};

/// Files that are copied beside configuration and weights: the tokenizer's, generation_config.json,
/// and what else there is (licence, model card).
enum class CopiedFiles { kTokenizer, kGeneration, kOther };

/// What a person wants to know before choosing a model. A text is empty where the checkpoint does
/// not say.
struct CheckpointLabel {
  std::string architecture;  // "llama"
  std::string name;          // "SmolLM2 135M Instruct"
  int64_t num_parameters = 0;
  int64_t num_bytes = 0;  // of its files
  std::string type;       // of most of its values: "bf16", "Q4_1"
  std::string licence;    // "apache-2.0"
  int64_t context = 0;    // positions
};

/// A model as it is stored: what it is made of, how it reads and writes text, how it wants to be
/// run. Each part is read when it is asked for, so that who needs only the tokenizer needs no
/// weights, and the other way round. UserError names the file, and what is wrong with it. For
/// several threads at once.
class Checkpoint {
 public:
  virtual ~Checkpoint() = default;

  /// The path that it lies at, for messages.
  virtual std::string name() const = 0;

  virtual ModelConfig read_config() const = 0;
  /// The same as a config.json, with fields that ModelConfig does not know.
  virtual Json read_config_json() const = 0;
  /// Named and shaped as weight_layout() has them, which ModelWeights checks.
  virtual std::unique_ptr<const StoredTensors> open_tensors() const = 0;

  virtual bool has_tokenizer() const = 0;
  /// With the chat template in the file `chat_template` in place of its own, unless that is empty.
  virtual TokenizerFiles read_tokenizer(const std::filesystem::path& chat_template) const = 0;
  virtual GenerationSettings read_generation() const = 0;

  /// Those that decide what the model computes, sorted: their hash_weights() stands for it. None
  /// if it lies in memory.
  virtual std::vector<std::filesystem::path> weight_files() const = 0;
  /// All that are read, for who wants to know what is missing.
  virtual std::vector<CheckpointFile> check_files() const = 0;
  /// Writes them into `folder`, which exists, as Hugging Face names them.
  virtual void copy_files(CopiedFiles files, const std::filesystem::path& folder) const = 0;
  /// Reads no tensors. UserError as those of read_config() and open_tensors().
  virtual CheckpointLabel read_label() const = 0;
};

/// Opens a checkpoint of a known format: a Hugging Face folder or a GGUF file. `path` may be a name
/// (find_model() of model_names.h). UserError for what is none; what is in it is checked when it is
/// read.
std::unique_ptr<const Checkpoint> open_checkpoint(const std::filesystem::path& path);

}  // namespace predgen
