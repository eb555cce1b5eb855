#include "tests/fuzz/targets.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "checkpoint/gguf_tokenizer.h"
#include "core/error.h"
#include "core/json.h"
#include "model/memory_estimate.h"
#include "model/model_config.h"
#include "model/weights/adapter_config.h"
#include "tensors/four_bit_tensors.h"
#include "tensors/gguf_file.h"
#include "tensors/safetensors.h"
#include "tests/fakes/temporary_folder.h"
#include "text/template/chat_template.h"
#include "text/tokenize/tokenizer_files.h"
#include "text/tokenizer.h"

namespace predgen {
namespace {

/// A folder of this process; files in it need not survive a power cut, so they are not synced.
class Scratch {
 public:
  std::filesystem::path write(const char* name, std::string_view contents) const {
    std::ofstream stream(folder_ / name, std::ios::binary | std::ios::trunc);
    stream.write(contents.data(), static_cast<std::streamsize>(contents.size()));
    return folder_ / name;
  }
  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

const Scratch& scratch(const char* target) {
  static std::map<std::string, Scratch> all;
  return all[target];
}

constexpr const char* kTokenizer = R"({
  "added_tokens": [{"id": 6, "content": "<s>", "special": true}, {"id": 7, "content": "</s>"}],
  "normalizer": null,
  "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"},
  "decoder": {"type": "Sequence", "decoders": [
    {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "Fuse"}]},
  "model": {"type": "BPE", "unk_token": "?", "merges": [["h", "i"], ["▁", "hi"]],
            "vocab": {"?": 0, "▁": 1, "h": 2, "i": 3, "hi": 4, "▁hi": 5}}})";

constexpr const char* kTokenizerConfig =
    R"({"chat_template": "{% for m in messages %}{{ m.role + m.content }}{% endfor %}"})";

std::string container(std::string_view header, size_t num_bytes) {
  const uint64_t size = header.size();
  std::string file(reinterpret_cast<const char*>(&size), sizeof size);
  return file.append(header).append(num_bytes, '\0');
}

/// Looks at every tensor in both ways that there are.
template <typename File>
void read_tensor(const File& file, const std::string& name) {
  const at::Tensor tensor = file.tensor(name);
  const int64_t num_rows = tensor.dim() == 0 ? 1 : tensor.size(0);
  const int64_t few = std::min<int64_t>(num_rows, 3);
  const at::Tensor first = file.read_rows(name, 0, few);
  const at::Tensor head = tensor.dim() == 0 ? tensor : tensor.narrow(0, 0, few);
  if (at::isFloatingType(tensor.scalar_type())) {
    PREDGEN_CHECK(at::equal(first.isnan(), head.isnan()), "{}: two ways of reading differ", name);
  } else {
    PREDGEN_CHECK(at::equal(first, head), "{}: two ways of reading differ", name);
  }
  file.read_rows(name, num_rows - few, num_rows);
}

void read_safetensors(std::string_view input) {
  const std::filesystem::path path = scratch("safetensors").write("model.safetensors", input);
  const SafetensorsFile file(path);
  for (const auto& [name, entry] : file.entries()) read_tensor(file, name);
  const FourBitTensors tensors(std::make_unique<SafetensorsFolder>(path.parent_path()), "folder");
  for (const std::string& name : tensors.names()) read_tensor(tensors, name);
}

void read_safetensors_index(std::string_view input) {
  const Scratch& folder = scratch("safetensors_index");
  static const bool written = [&] {
    folder.write("a.safetensors",
                 container(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                           R"("y":{"dtype":"I8","shape":[],"data_offsets":[8,9]}})",
                           9));
    folder.write("b.safetensors",
                 container(R"({"z":{"dtype":"BF16","shape":[1,3],"data_offsets":[0,6]}})", 6));
    return true;
  }();
  PREDGEN_CHECK(written, "no files");
  folder.write("model.safetensors.index.json", input);
  const SafetensorsFolder opened(folder.path());
  for (const std::string& name : opened.names()) read_tensor(opened, name);
}

/// What `get` asks for may be of another type, or missing.
template <typename Get>
void may_find(const Get& get) {
  try {
    get();
  } catch (const UserError&) {
  }
}

void read_gguf(std::string_view input) {
  const GgufFile file(scratch("gguf").write("a.gguf", input));
  for (const auto& [name, entry] : file.entries()) {
    const int64_t few = std::min<int64_t>(entry.shape[0], 3);
    const at::Tensor first = file.read_rows(entry, 0, few);
    file.read_rows(entry, entry.shape[0] - few, entry.shape[0]);
    at::Tensor again = first;
    if (entry.type->is_plain()) {
      again = file.view(entry).narrow(0, 0, few);
    } else if (entry.shape.size() == 2) {
      const CodedRows coded = file.read_codes(entry, 0, few);
      again = widen(coded, entry.type->layout);
    }
    PREDGEN_CHECK(at::equal(first.nan_to_num(), again.nan_to_num()),
                  "{}: two ways of reading differ", name);
  }
  const GgufMetadata& found = file.metadata();
  for (const char* key : {"general.architecture", "tokenizer.ggml.tokens", "a", "b"}) {
    may_find([&] { found.get<bool>(key); });
    may_find([&] { found.get<int64_t>(key); });
    may_find([&] { found.get<double>(key); });
    may_find([&] { found.get<std::string>(key); });
    may_find([&] { found.get<std::vector<int64_t>>(key); });
    may_find([&] { found.get<std::vector<double>>(key); });
    may_find([&] { found.get<std::vector<std::string>>(key); });
  }
}

void use_tokenizer(const Tokenizer& tokenizer) {
  for (const std::string_view text :
       {"", " hi hi\n\n\t 12345", "<s>héllo wörld</s>",
        "\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x9A\x80 aaaaaaaaaaaaaaaaaaaa"}) {
    for (const TokenIds& ids : {tokenizer.encode(text), tokenizer.encode_special(text)}) {
      tokenizer.decode(ids, true);
      tokenizer.decode_next(ids);
    }
  }
  tokenizer.text_frame();
  tokenizer.stop_tokens();
  tokenizer.answer_end();
  for (const bool prompt : {false, true}) {
    tokenizer.render_chat({{"system", "be <s>"}, {"user", "hi"}, {"assistant", "", {0}}}, prompt);
  }
}

void read_tokenizer_json(std::string_view input) {
  const Scratch& folder = scratch("tokenizer_json");
  folder.write("tokenizer_config.json", kTokenizerConfig);
  folder.write("tokenizer.json", input);
  use_tokenizer(*load_tokenizer(TokenizerFiles::read(folder.path())));
}

void read_tokenizer_config(std::string_view input) {
  const Scratch& folder = scratch("tokenizer_config");
  folder.write("tokenizer.json", kTokenizer);
  folder.write("tokenizer_config.json", input);
  use_tokenizer(*load_tokenizer(TokenizerFiles::read(folder.path())));
}

void read_tokenizer_model(std::string_view input) {
  const Scratch& folder = scratch("tokenizer_model");
  folder.write("tokenizer_config.json", kTokenizerConfig);
  folder.write("tokenizer.model", input);
  use_tokenizer(*load_tokenizer(TokenizerFiles::read(folder.path())));
}

void read_tokenizer_of_gguf(std::string_view input) {
  const auto file = scratch("gguf_tokenizer").write("model.gguf", input);
  use_tokenizer(*load_tokenizer(read_gguf_tokenizer(read_gguf_metadata(file))));
}

void read_config(std::string_view input) {
  const ModelConfig config =
      ModelConfig::from_json(parse_json(input, "config.json"), "config.json");
  const ModelConfig again = ModelConfig::from_json(config.to_json(), "written config.json");
  PREDGEN_CHECK(again.num_parameters() == config.num_parameters() &&
                    again.context_length() == config.context_length(),
                "a written configuration differs");
  for (const Quantization kind : {Quantization::kNone, Quantization::kInt8, Quantization::kInt4}) {
    weight_bytes(config, kind);
  }
  kv_bytes_per_token(config);
  config.inverse_frequencies();
}

void read_adapter_config(std::string_view input) {
  const AdapterConfig config =
      AdapterConfig::from_json(parse_json(input, "adapter_config.json"), "adapter_config.json");
  for (const char* module : {"model.layers.0.self_attn.q_proj", "model.layers.11.mlp.down_proj"}) {
    if (!config.matches(module)) continue;
    config.rank(module);
    config.scaling(module);
  }
  AdapterConfig::from_json(config.to_json(), "written adapter_config.json");
}

void read_chat_template(std::string_view input) {
  const ChatTemplate chat({.jinja = std::string(input), .where = "chat_template.jinja"},
                          {{.id = 1, .content = "<s>", .special = true},
                           {.id = 2, .content = "</s>", .special = true}});
  for (const bool prompt : {false, true}) {
    chat.render({{"system", "Be \xC2\xA0 brief.<s>"},
                 {"user", " hi </s>\n"},
                 {"assistant", "yes", {7, 8}},
                 {"user", "and\vnow?"}},
                prompt);
    chat.render({{"system", "x"}}, prompt);
  }
}

constexpr FuzzTarget kTargets[] = {
    {"safetensors", read_safetensors},
    {"safetensors_index", read_safetensors_index},
    {"gguf", read_gguf},
    {"tokenizer_json", read_tokenizer_json},
    {"tokenizer_config", read_tokenizer_config},
    {"tokenizer_model", read_tokenizer_model},
    {"gguf_tokenizer", read_tokenizer_of_gguf},
    {"config", read_config},
    {"adapter_config", read_adapter_config},
    {"chat_template", read_chat_template},
    {"http", read_http},
    {"web_socket", read_web_socket},
    {"access", read_access},
    {"request", read_request},
    {"transcripts", read_transcripts},
    {"realtime", read_realtime},
    {"wyoming", read_wyoming},
};

}  // namespace

std::span<const FuzzTarget> fuzz_targets() { return kTargets; }

void require(bool is_so, const char* what) {
  if (is_so) return;
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

bool takes(const FuzzTarget& target, std::string_view input) {
  try {
    target.read(input);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

}  // namespace predgen
