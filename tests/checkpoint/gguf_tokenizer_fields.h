#pragma once

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tensors/gguf_metadata.h"
#include "text/tokenize/token_decoder.h"

namespace predgen {

/// What a GGUF file says about its tokenizer, for a test to make and to spoil. Keys without a
/// second dot begin with "tokenizer.ggml.".
class GgufTokenizerFields {
 public:
  void set(const std::string& key, GgufMetadata::Value value) { values_[whole(key)] = value; }
  void set(const std::string& key, const char* text) { set(key, std::string(text)); }
  void set_id(const std::string& key, int64_t id) { set(key, id); }
  void erase(const std::string& key) { values_.erase(whole(key)); }

  void set_strings(const std::string& key, const std::vector<std::string>& strings) {
    std::string bytes;
    for (const std::string& text : strings) {
      append(bytes, static_cast<uint64_t>(text.size()));
      bytes += text;
    }
    set_list(key, 8, strings.size(), bytes);
  }
  void set_integers(const std::string& key, const std::vector<int32_t>& numbers) {
    set_list(key, 5, numbers.size(), bytes_of(numbers));
  }
  void set_floats(const std::string& key, const std::vector<float>& numbers) {
    set_list(key, 6, numbers.size(), bytes_of(numbers));
  }
  /// Tokens and, of the same length, their kinds.
  void set_tokens(const std::vector<std::string>& tokens, const std::vector<int32_t>& types) {
    set_strings("tokens", tokens);
    set_integers("token_type", types);
  }

  GgufMetadata metadata(const std::string& where = "m.gguf") const {
    return GgufMetadata(values_, where, bytes_);
  }

 private:
  static std::string whole(const std::string& key) {
    return key.find('.') == std::string::npos ? "tokenizer.ggml." + key : key;
  }
  template <typename T>
  static void append(std::string& bytes, T value) {
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    bytes.append(raw, sizeof value);
  }
  template <typename T>
  static std::string bytes_of(const std::vector<T>& numbers) {
    std::string bytes;
    for (const T number : numbers) append(bytes, number);
    return bytes;
  }
  void set_list(const std::string& key, uint32_t type, uint64_t count, const std::string& bytes) {
    bytes_->push_back(std::make_unique<const std::string>(bytes));
    set(key, GgufMetadata::List{.type = type, .count = count, .bytes = *bytes_->back()});
  }

  using Bytes = std::vector<std::unique_ptr<const std::string>>;
  std::shared_ptr<Bytes> bytes_ = std::make_shared<Bytes>();
  std::map<std::string, GgufMetadata::Value, std::less<>> values_;
};

/// A byte-level vocabulary: the 256 bytes have their own value as id.
struct GgufByteLevelFields : GgufTokenizerFields {
  static constexpr int64_t kHe = 256, kLl = 257, kHell = 258, k12 = 259, k123 = 260, k1234 = 261,
                           kEAcute = 262, kSpaceHello = 263, kEndOfText = 264, kStart = 265,
                           kEnd = 266, kTool = 267, kMark = 268, kPad = 269;

  std::vector<std::string> tokens, merges{"h e", "l l", "he ll", "1 2", "12 3", "123 4", "Ã ©"};
  std::vector<int32_t> types;

  GgufByteLevelFields() {
    for (int byte = 0; byte < 256; ++byte)
      tokens.push_back(byte_letter(static_cast<uint8_t>(byte)));
    for (const char* token : {"he", "ll", "hell", "12", "123", "1234", "Ã©", "Ġhello"}) {
      tokens.push_back(token);  // no merge leads to the last one
    }
    types.assign(tokens.size(), 1);
    const auto add = [&](const char* token, int32_t type) {
      tokens.push_back(token);
      types.push_back(type);
    };
    add("<|endoftext|>", 3);
    add("<|im_start|>", 3);
    add("<|im_end|>", 3);
    add("<tool>", 4);
    add("mark", 4);
    add("[PAD269]", 5);
    set("model", "gpt2");
    set("pre", "gpt-2");
    set_id("eos_token_id", kEnd);
  }
  GgufMetadata metadata(const std::string& where = "m.gguf") {
    set_tokens(tokens, types);
    set_strings("merges", merges);
    return GgufTokenizerFields::metadata(where);
  }
};

/// Sentencepiece pieces, with tokens for the 256 bytes from id 3 on.
struct GgufPieceFields : GgufTokenizerFields {
  static constexpr int64_t kUnknown = 0, kStart = 1, kEnd = 2, kBytes = 3, kSpaceHi = 259,
                           kHi = 260, kSpace = 261, kH = 262, kI = 263, kTwoSpaces = 264,
                           kTable = 265, kTurn = 266, kInst = 267;

  std::vector<std::string> tokens{"<unk>", "<s>", "</s>"};
  std::vector<int32_t> types{2, 3, 3};
  std::vector<float> scores;

  GgufPieceFields() {
    static constexpr char kDigits[] = "0123456789ABCDEF";
    for (int byte = 0; byte < 256; ++byte) {
      tokens.push_back(std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + ">");
      types.push_back(6);
    }
    const auto add = [&](const char* token, int32_t type) {
      tokens.push_back(token);
      types.push_back(type);
    };
    for (const char* token : {"▁hi", "hi", "▁", "h", "i"}) add(token, 1);
    add("  ", 4);
    add("<table>", 4);
    add("<turn>", 3);
    add("[INST]", 1);
    for (size_t id = 0; id < tokens.size(); ++id) scores.push_back(-static_cast<float>(id));
    set("model", "llama");
    set("pre", "default");
    set_id("bos_token_id", kStart);
    set_id("eos_token_id", kEnd);
  }
  GgufMetadata metadata(const std::string& where = "m.gguf") {
    set_tokens(tokens, types);
    set_floats("scores", scores);
    return GgufTokenizerFields::metadata(where);
  }
};

}  // namespace predgen
