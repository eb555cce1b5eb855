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

/// A checkpoint's settings for text generation.
struct GenerationSettings {
  Json fields;           // of a generation_config.json; null if there are none
  std::string where;     // where they are written, for messages
  TokenIds stop_tokens;  // those that end an answer
};

/// A file that a checkpoint has, or should have.
struct CheckpointFile {
  std::string name;
  std::string state;        // "ok", or what is missing and how to get it
  bool is_missing = false;  // and the checkpoint is unusable without it
};

/// Files that are copied along with configuration and weights: the tokenizer's,
/// generation_config.json, and all others (licence, model card).
enum class CopiedFiles { kTokenizer, kGeneration, kOther };

/// What a person wants to know before choosing a model. A text is empty if the checkpoint does not
/// give it.
struct CheckpointLabel {
  std::string architecture;  // "llama"
  std::string name;          // "SmolLM2 135M Instruct"
  int64_t num_parameters = 0;
  int64_t num_bytes = 0;  // size of its files
  std::string type;       // type of most values: "bf16", "Q4_1"
  std::string licence;    // "apache-2.0"
  int64_t context = 0;    // in positions
};

/// A stored model: its configuration and weights, its tokenizer, and its generation
/// settings. Each part is read on request, so a caller that needs only the tokenizer needs
/// no weights, and vice versa. UserError names the file and what is wrong with it.
/// Thread-safe.
class Checkpoint {
 public:
  virtual ~Checkpoint() = default;

  /// Its path, for messages.
  virtual std::string name() const = 0;

  virtual ModelConfig read_config() const = 0;
  /// The same as a config.json, including fields that ModelConfig does not know.
  virtual Json read_config_json() const = 0;
  /// Names and shapes are those of weight_layout(), which ModelWeights checks.
  virtual std::unique_ptr<const StoredTensors> open_tensors() const = 0;

  virtual bool has_tokenizer() const = 0;
  /// The chat template in the file `chat_template`, unless that path is empty, replaces its own.
  virtual TokenizerFiles read_tokenizer(const std::filesystem::path& chat_template) const = 0;
  virtual GenerationSettings read_generation() const = 0;

  /// The files that decide what the model computes, sorted: hash_weights() of them identifies it.
  /// None if the checkpoint is in memory.
  virtual std::vector<std::filesystem::path> weight_files() const = 0;
  /// All files that are read, to show which are missing.
  virtual std::vector<CheckpointFile> check_files() const = 0;
  /// Writes these files into `folder`, which must exist, under their Hugging Face names.
  virtual void copy_files(CopiedFiles files, const std::filesystem::path& folder) const = 0;
  /// Reads no tensors. Throws the UserErrors of read_config() and open_tensors().
  virtual CheckpointLabel read_label() const = 0;
};

/// Opens a checkpoint of a known format: a Hugging Face folder or a GGUF file. `path` may be a name
/// (find_model() of model_names.h). UserError if it is neither; the contents are checked when they
/// are read.
std::unique_ptr<const Checkpoint> open_checkpoint(const std::filesystem::path& path);

}  // namespace predgen
