#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/files.h"
#include "core/json.h"
#include "tests/fakes/temporary_folder.h"
#include "text/tokenize/token_decoder.h"
#include "text/tokenize/tokenizer_files.h"
#include "text/tokenizer.h"

namespace predgen {

inline constexpr const char* kChatMl =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] "
    "+ '<|im_end|>' + '\\n' }}{% endfor %}{% if add_generation_prompt %}"
    "{{ '<|im_start|>assistant\\n' }}{% endif %}";

/// A tokenizer folder that a test makes and may spoil: the 256 bytes have their own value as id,
/// then come the merges below, then the three special tokens.
class TokenizerFolder {
 public:
  static constexpr int64_t kHe = 256, kLl = 257, kHell = 258, kAb = 259, kBc = 260, kSpaceHe = 261,
                           kEAcute = 262, kEndOfText = 263, kStart = 264, kEnd = 265;

  TokenizerFolder() {
    Json vocab = Json::object(), merges = Json::array(), added = Json::array();
    for (int byte = 0; byte < 256; ++byte) vocab[byte_letter(static_cast<uint8_t>(byte))] = byte;
    int64_t id = 256;
    const char* const pairs[][2] = {{"h", "e"}, {"l", "l"},  {"he", "ll"}, {"a", "b"},
                                    {"b", "c"}, {"Ġ", "he"}, {"Ã", "©"}};
    for (const auto& [left, right] : pairs) {
      vocab[std::string(left) + right] = id++;
      merges.push_back(Json::array({left, right}));
    }
    for (const char* token : {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}) {
      added.push_back({{"id", id++}, {"content", token}, {"special", true}});
    }
    tokenizer["added_tokens"] = added;
    tokenizer["normalizer"] = {{"type", "NFC"}};
    tokenizer["pre_tokenizer"] = Json::parse(R"({"type": "Sequence", "pretokenizers": [
      {"type": "Split", "pattern": {"Regex": " ?\\p{L}+|\\s+|[^\\s\\p{L}]+"},
       "behavior": "Isolated", "invert": false},
      {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]})");
    tokenizer["model"] = {{"type", "BPE"}, {"vocab", vocab}, {"merges", merges}};
    tokenizer["decoder"] = {{"type", "ByteLevel"}};
    config = {{"eos_token", "<|im_end|>"}, {"chat_template", kChatMl}};
  }

  /// Writes tokenizer.json and tokenizer_config.json; returns the folder.
  const std::filesystem::path& write() const {
    write_file("tokenizer.json", tokenizer.dump());
    write_file("tokenizer_config.json", config.dump());
    return folder_.path();
  }
  void write_file(const std::string& name, const std::string& contents) const {
    predgen::write_file(folder_ / name, contents);
  }

  Json tokenizer, config;  // change them before write()

 private:
  TemporaryFolder folder_;
};

inline std::unique_ptr<Tokenizer> tokenizer_with_template(const std::string& chat_template) {
  TokenizerFolder folder;
  folder.config["chat_template"] = chat_template;
  return load_tokenizer(TokenizerFiles::read(folder.write()));
}

}  // namespace predgen
