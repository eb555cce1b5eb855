#include "model/tokenizer.h"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <variant>

#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"
#include "core/json.h"
#include "model/added_tokens.h"
#include "model/byte_alphabet.h"
#include "model/byte_level_bpe.h"
#include "model/chat_template.h"
#include "model/pretokenizer.h"
#include "model/text_normalizer.h"
#include "model/tokenizer_json.h"
#include "model/utf8.h"

namespace predgen {
namespace fs = std::filesystem;

namespace {

/// The files of the folder; absent ones are null.
struct TokenizerFiles {
  fs::path folder;
  TokenizerJson tokenizer;
  Json tokenizer_config, generation_config, config;
  std::optional<std::string> chat_template;
  std::string hash;
};

Json read_object_if_there(const fs::path& file) {
  if (!fs::exists(file)) return {};
  Json json = read_json(file);
  if (!json.is_object()) throw UserError("{}: must hold a JSON object", file.string());
  return json;
}

/// "chat_template" is the template, or a list of {name, template} of which "default" counts.
std::optional<std::string> configured_template(const Json& config, const std::string& where) {
  if (!config.contains("chat_template") || config["chat_template"].is_null()) return std::nullopt;
  const Json& value = config["chat_template"];
  if (!value.is_array()) return json_get<std::string>(config, "chat_template", where);
  for (const Json& entry : value) {
    if (json_get<std::string>(entry, "name", where) == "default") {
      return json_get<std::string>(entry, "template", where);
    }
  }
  fail_json_key("chat_template", where, "has no template named \"default\"");
}

TokenizerFiles read_files(const fs::path& folder) {
  TokenizerFiles files;
  files.folder = folder;
  if (!fs::is_directory(folder)) throw UserError("{}: no such model folder", folder.string());
  files.tokenizer = read_tokenizer_json(folder / "tokenizer.json");
  files.tokenizer_config = read_object_if_there(folder / "tokenizer_config.json");
  files.generation_config = read_object_if_there(folder / "generation_config.json");
  files.config = read_object_if_there(folder / "config.json");
  files.chat_template =
      configured_template(files.tokenizer_config, (folder / "tokenizer_config.json").string());
  const fs::path jinja = folder / "chat_template.jinja";
  if (fs::exists(jinja)) files.chat_template = read_file(jinja);  // stronger, as in transformers
  Hasher hasher;
  for (const char* name : {"tokenizer.json", "tokenizer_config.json", "chat_template.jinja"}) {
    hasher.add(name);
    if (fs::exists(folder / name)) hasher.add_file(folder / name);
  }
  files.hash = hasher.hex();
  return files;
}

/// The text of a token that tokenizer_config.json names: "x" or {"content": "x"}.
std::optional<std::string> named_token(const Json& config, const char* key,
                                       const std::string& where) {
  if (!config.contains(key) || config[key].is_null()) return std::nullopt;
  if (config[key].is_object()) return json_get<std::string>(config[key], "content", where);
  return json_get<std::string>(config, key, where);
}

class HuggingFaceTokenizer : public Tokenizer {
 public:
  explicit HuggingFaceTokenizer(const TokenizerFiles& files)
      : where_((files.folder / "tokenizer.json").string()),
        hash_(files.hash),
        bpe_(files.tokenizer, where_),
        normalizer_(files.tokenizer.fields.value("normalizer", Json()), where_),
        pretokenizer_(files.tokenizer.fields.value("pre_tokenizer", Json()), where_) {
    check_decoder(files.tokenizer.fields);
    read_tokens(read_added_tokens(files.tokenizer.fields, files.tokenizer_config, where_));
    read_chat_template(files);
    read_stop_tokens(files);
  }

  TokenIds encode(std::string_view text) const override { return encode_with(text_finders_, text); }

  TokenIds encode_special(std::string_view text) const override {
    return encode_with(special_finders_, text);
  }

  std::string decode(TokenSpan tokens, bool keep_special) const override {
    std::string text;
    for (const TokenId id : tokens) {
      if (id < 0 || id >= vocab_size() || !pieces_[static_cast<size_t>(id)].known) {
        throw UserError("{}: there is no token with id {}", where_, id);
      }
      const Piece& piece = pieces_[static_cast<size_t>(id)];
      if (keep_special || !piece.special) text += piece.bytes;
    }
    return text;
  }

  TokenIds render_chat(const std::vector<Message>& messages,
                       bool add_generation_prompt) const override {
    if (!chat_template_) throw UserError(chat_template_problem_);
    TokenIds ids;
    for (const ChatTemplate::Segment& segment :
         chat_template_->render(messages, add_generation_prompt)) {
      append_segment(segment, ids);
    }
    return ids;
  }

  const TokenIds& stop_tokens() const override { return stop_tokens_; }
  int64_t vocab_size() const override { return static_cast<int64_t>(pieces_.size()); }
  std::string content_hash() const override { return hash_; }

 private:
  struct Piece {
    std::string bytes;
    bool known = false, special = false;
  };
  /// Added tokens are looked for twice: in the raw text, and in what normalisation made of it.
  struct Finders {
    AddedTokenFinder raw, normalized;
  };

  void check_decoder(const Json& tokenizer) const {
    const Json decoder = json_get<Json>(tokenizer, "decoder", where_);
    const std::string type =
        decoder.is_null() ? "null" : json_get<std::string>(decoder, "type", where_);
    if (type != "ByteLevel") {
      throw UserError("{}: decoder type \"{}\" is not supported (ByteLevel)", where_, type);
    }
  }

  Finders make_finders(const std::vector<AddedToken>& tokens) const {
    std::vector<AddedToken> raw, normalized;
    for (AddedToken token : tokens) {
      if (token.normalized) token.content = normalizer_.normalize(token.content);
      (token.normalized ? normalized : raw).push_back(token);
    }
    return {AddedTokenFinder(raw), AddedTokenFinder(normalized)};
  }

  void set_piece(TokenId id, const std::string& token) {
    if (id >= vocab_size()) pieces_.resize(static_cast<size_t>(id) + 1);
    Piece& piece = pieces_[static_cast<size_t>(id)];
    piece.bytes = bytes_of_letters(token).value_or(token);
    piece.known = true;
  }

  void read_tokens(const std::vector<AddedToken>& added) {
    pieces_.reserve(bpe_.vocabulary().size() + added.size());
    for (const auto& [token, id] : bpe_.vocabulary()) set_piece(id, token);
    std::vector<AddedToken> harmless;
    for (const AddedToken& token : added) {
      const auto spelled = bpe_.vocabulary().find(token.content);
      if (spelled != bpe_.vocabulary().end() && spelled->second != token.id) {
        throw UserError("{}: added token \"{}\" has id {}, but id {} in vocab", where_,
                        token.content, token.id, spelled->second);
      }
      set_piece(token.id, token.content);
      pieces_[static_cast<size_t>(token.id)].special = token.special;
      added_ids_.emplace(token.content, token.id);
      if (!token.is_control()) harmless.push_back(token);
    }
    text_finders_ = make_finders(harmless);
    special_finders_ = make_finders(added);
  }

  TokenId token_id(const std::string& token, const std::string& where) const {
    if (const auto found = added_ids_.find(token); found != added_ids_.end()) return found->second;
    const auto found = bpe_.vocabulary().find(token);
    if (found == bpe_.vocabulary().end()) {
      throw UserError("{}: the token \"{}\" is not in {}", where, token, where_);
    }
    return found->second;
  }

  void read_chat_template(const TokenizerFiles& files) {
    const std::string folder = files.folder.string();
    if (!files.chat_template) {
      chat_template_problem_ = fmt::format(
          "{}: no chat_template in tokenizer_config.json and no chat_template.jinja", folder);
      return;
    }
    try {  // an unknown template matters only to those who render chats
      chat_template_ = ChatTemplate::recognise(*files.chat_template, folder);
    } catch (const UserError& error) {
      chat_template_problem_ = error.what();
      return;
    }
    for (const ChatTemplate::Segment& segment : chat_template_->render({{"user", ""}}, true)) {
      if (const auto* control = std::get_if<ChatTemplate::Control>(&segment)) {
        token_id(control->token, folder + ": chat_template");
      }
    }
  }

  void add_stop_token(TokenId id) {
    if (std::find(stop_tokens_.begin(), stop_tokens_.end(), id) == stop_tokens_.end()) {
      stop_tokens_.push_back(id);
    }
  }

  void read_stop_tokens(const TokenizerFiles& files) {
    const auto add_ids = [&](const Json& config, const char* file) {
      const char* key = "eos_token_id";
      if (!config.contains(key) || config[key].is_null()) return;
      const std::string where = (files.folder / file).string();
      if (config[key].is_array()) {
        for (const TokenId id : json_get<TokenIds>(config, key, where)) add_stop_token(id);
      } else {
        add_stop_token(json_get<TokenId>(config, key, where));
      }
    };
    add_ids(files.generation_config, "generation_config.json");
    add_ids(files.config, "config.json");
    const std::string where = (files.folder / "tokenizer_config.json").string();
    if (const auto token = named_token(files.tokenizer_config, "eos_token", where)) {
      add_stop_token(token_id(*token, where));
    }
    if (chat_template_) add_stop_token(token_id(chat_template_->end_token(), where));
  }

  void encode_words(std::string_view text, TokenIds& ids) const {
    const Pretokenizer::Words words = pretokenizer_.split(text);
    for (const std::string_view word : words.pieces) bpe_.encode(word, ids);
  }

  TokenIds encode_with(const Finders& finders, std::string_view text) const {
    require_utf8(text, "text");
    TokenIds ids;
    const auto add_id = [&](TokenId id) { ids.push_back(id); };
    finders.raw.split(
        text,
        [&](std::string_view raw) {
          finders.normalized.split(
              normalizer_.normalize(raw),
              [&](std::string_view normalized) { encode_words(normalized, ids); }, add_id);
        },
        add_id);
    return ids;
  }

  void append_segment(const ChatTemplate::Segment& segment, TokenIds& ids) const {
    if (const auto* control = std::get_if<ChatTemplate::Control>(&segment)) {
      ids.push_back(token_id(control->token, where_));
    } else if (const auto* text = std::get_if<ChatTemplate::Text>(&segment)) {
      const TokenIds encoded = encode(text->text);
      ids.insert(ids.end(), encoded.begin(), encoded.end());
    } else {
      // A generated answer may hold the token that stopped it; the template adds its own.
      TokenSpan answer = std::get<TokenIds>(segment);
      const bool stopped =
          std::find(stop_tokens_.begin(), stop_tokens_.end(), answer.back()) != stop_tokens_.end();
      if (stopped) answer = answer.first(answer.size() - 1);
      ids.insert(ids.end(), answer.begin(), answer.end());
    }
  }

  const std::string where_, hash_;
  const ByteLevelBpe bpe_;
  const TextNormalizer normalizer_;
  const Pretokenizer pretokenizer_;
  std::vector<Piece> pieces_;  // by id
  StringMap<TokenId> added_ids_;
  Finders text_finders_, special_finders_;
  std::optional<ChatTemplate> chat_template_;
  std::string chat_template_problem_;
  TokenIds stop_tokens_;
};

}  // namespace

std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& folder) {
  // Truncation, padding and the post-processor's special tokens are left out on purpose, as in
  // transformers' add_special_tokens=False.
  return std::make_unique<HuggingFaceTokenizer>(read_files(folder));
}

}  // namespace predgen
