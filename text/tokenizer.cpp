#include "text/tokenizer.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "core/error.h"
#include "core/json.h"
#include "text/template/chat_template.h"
#include "text/token_ids.h"
#include "text/tokenize/added_tokens.h"
#include "text/tokenize/json_text_model.h"
#include "text/tokenize/sentencepiece_model.h"
#include "text/tokenize/text_model.h"
#include "text/tokenize/tokenizer_files.h"
#include "text/utf8.h"

namespace predgen {
namespace {

class HuggingFaceTokenizer : public Tokenizer {
 public:
  explicit HuggingFaceTokenizer(const TokenizerFiles& files)
      : where_(files.where), hash_(files.hash) {
    const std::vector<AddedToken> added = make_model(files);
    read_tokens(added);
    read_chat_template(files, added);
    read_stop_tokens(files);
    read_text_frame(files);
  }

  TokenIds encode(std::string_view text) const override {
    TokenIds ids;
    encode_text(text, TextPlace::kStart, Control::kPassOver, ids);
    return ids;
  }

  TokenIds encode_special(std::string_view text) const override {
    TokenIds ids;
    encode_text(text, TextPlace::kStart, Control::kFind, ids);
    return ids;
  }

  const TextFrame& text_frame() const override { return text_frame_; }

  std::string decode(TokenSpan tokens, bool keep_special) const override {
    std::string text = decode_next(tokens, keep_special);
    size_t spaces = 0;
    const size_t most = std::min(model_->num_dropped_spaces(), text.size());
    while (spaces < most && text[spaces] == ' ') ++spaces;
    return text.erase(0, spaces);
  }

  std::string decode_next(TokenSpan tokens, bool keep_special) const override {
    std::string text;
    for (const TokenId id : tokens) {
      const Piece& each = piece(id);
      if (keep_special || !each.special) text += each.bytes;
    }
    return text;
  }

  TokenIds render_chat(const std::vector<Message>& messages, bool add_generation_prompt,
                       const ToolSet& tools, const std::string& variables) const override {
    const Template& chosen = tools.empty() ? chat_template_ : for_tools();
    if (!chosen.chat) throw UserError(chosen.problem);
    TokenIds ids;
    for (const ChatTemplate::Segment& segment :
         chosen.chat->render(messages, add_generation_prompt, tools, variables)) {
      append_segment(segment, ids);
    }
    return ids;
  }

  std::string thinking_switch(bool thinks) const override {
    return chat_template_.chat ? chat_template_.chat->thinking_switch(thinks) : "";
  }

  ToolFormat tool_format() const override {
    return for_tools().chat ? for_tools().chat->tool_format() : ToolFormat::kNone;
  }

  const TokenIds& stop_tokens() const override { return stop_tokens_; }

  std::optional<TokenId> answer_end() const override {
    const std::optional<ChatTemplate>& chat = chat_template_.chat;
    return chat && chat->answers_follow_prompt() ? chat->end_token() : std::nullopt;
  }

  int64_t vocab_size() const override { return static_cast<int64_t>(pieces_.size()); }
  std::string content_hash() const override { return hash_; }

 private:
  using Control = AddedTokenFinder::Control;
  struct Piece {
    std::string bytes;
    bool known = false, special = false;
  };
  /// One that cannot be run matters only for rendering chats: then it has a problem.
  struct Template {
    std::optional<ChatTemplate> chat;
    std::string problem;
  };

  const Template& for_tools() const { return tool_template_ ? *tool_template_ : chat_template_; }

  const Piece& piece(TokenId id) const {
    if (id < 0 || id >= vocab_size() || !pieces_[static_cast<size_t>(id)].known) {
      throw UserError("{}: there is no token with id {}", where_, id);
    }
    return pieces_[static_cast<size_t>(id)];
  }

  /// Makes model_; returns the added tokens.
  std::vector<AddedToken> make_model(const TokenizerFiles& files) {
    std::vector<AddedToken> added;
    if (files.tokenizer) {
      added = read_added_tokens(files.tokenizer->fields, files.tokenizer_config.fields, where_);
      add_named_tokens(files, files.tokenizer->vocabulary, added);
      std::vector<std::string> control;
      for (const AddedToken& token : added) {
        if (token.is_control()) control.push_back(token.content);
      }
      model_ = std::make_unique<JsonTextModel>(*files.tokenizer, control, where_);
    } else {
      auto model = std::make_unique<SentencepieceModel>(*files.sentencepiece, where_,
                                                        files.tokenizer_config);
      added = model->control_tokens();
      for (AddedToken& token : read_added_tokens(Json(), files.tokenizer_config.fields, where_)) {
        add_token(added, std::move(token), where_);
      }
      add_named_tokens(files, model->vocabulary(), added);
      model_ = std::move(model);
    }
    return added;
  }

  /// Tokens of added_tokens.json, and those that tokenizer_config.json names: as in transformers
  /// these are special, whatever their source.
  void add_named_tokens(const TokenizerFiles& files, const StringMap<TokenId>& vocabulary,
                        std::vector<AddedToken>& added) const {
    const std::vector<std::string> names = files.special_tokens();
    const auto& [older, older_where] = files.added_tokens;
    for (const auto& [content, id] : older.items()) {
      const bool special = std::find(names.begin(), names.end(), content) != names.end();
      add_token(added,
                {.id = json_get<TokenId>(older, content.c_str(), older_where),
                 .content = content,
                 .special = special,
                 .normalized = !special},
                where_);
    }
    for (const std::string& name : names) {
      const auto known = std::find_if(added.begin(), added.end(),
                                      [&](const auto& token) { return token.content == name; });
      if (known != added.end()) {
        known->special = true;
      } else if (const auto found = vocabulary.find(name); found != vocabulary.end()) {
        add_token(added, {.id = found->second, .content = name, .special = true}, where_);
      }  // A token without an id, like a pad_token that was never trained, occurs nowhere.
    }
  }

  void set_piece(TokenId id, const std::string& token) {
    if (id >= vocab_size()) pieces_.resize(static_cast<size_t>(id) + 1);
    Piece& piece = pieces_[static_cast<size_t>(id)];
    piece.bytes = model_->text_of(token);
    piece.known = true;
  }

  void read_tokens(const std::vector<AddedToken>& added) {
    pieces_.reserve(model_->vocabulary().size() + added.size());
    for (const auto& [token, id] : model_->vocabulary()) set_piece(id, token);
    std::vector<AddedToken> raw, normalized;
    for (AddedToken token : added) {
      const auto spelled = model_->vocabulary().find(token.content);
      if (spelled != model_->vocabulary().end() && spelled->second != token.id) {
        throw UserError("{}: added token \"{}\" has id {}, but id {} in vocab", where_,
                        token.content, token.id, spelled->second);
      }
      added_ids_.emplace(token.content, token.id);
      if (token.normalized) token.content = model_->normalize(token.content);
      set_piece(token.id, token.content);
      pieces_[static_cast<size_t>(token.id)].special = token.special;
      (token.normalized ? normalized : raw).push_back(token);
    }
    raw_finder_ = AddedTokenFinder(raw);
    normalized_finder_ = AddedTokenFinder(normalized);
  }

  TokenId token_id(const std::string& token, const std::string& where) const {
    if (const auto found = added_ids_.find(token); found != added_ids_.end()) return found->second;
    const auto found = model_->vocabulary().find(token);
    if (found == model_->vocabulary().end()) {
      throw UserError("{}: the token \"{}\" is not in {}", where, token, where_);
    }
    return found->second;
  }

  void read_chat_template(const TokenizerFiles& files, const std::vector<AddedToken>& added) {
    if (files.chat_template) {
      read_template({.jinja = *files.chat_template, .where = files.template_where}, files, added,
                    chat_template_);
    } else {
      chat_template_.problem =
          fmt::format("{}; give one with --chat-template FILE", files.template_where);
    }
    if (const auto& own = files.tool_template) {
      read_template({.jinja = own->jinja, .where = own->where, .is_for_tools = true}, files, added,
                    tool_template_.emplace());
    }
  }

  static void read_template(ChatTemplate::Source source, const TokenizerFiles& files,
                            const std::vector<AddedToken>& added, Template& to) {
    source.today = ChatTemplate::today();
    for (const char* key : {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token",
                            "cls_token", "mask_token"}) {
      if (const auto token = files.named_token(key)) {
        source.special_tokens[key] = *token;
      }
    }
    try {
      to.chat.emplace(std::move(source), added);
    } catch (const UserError& error) {
      if (files.is_given_template) throw;
      to.problem = error.what();
    }
  }

  void add_stop_token(TokenId id) {
    if (!is_stop_token(stop_tokens_, id)) stop_tokens_.push_back(id);
  }

  void add_end_of(const Template& one) {
    if (one.chat && one.chat->end_token()) add_stop_token(*one.chat->end_token());
  }

  void read_stop_tokens(const TokenizerFiles& files) {
    const auto add_ids = [&](const TokenizerFiles::Part& part) {
      const char* key = "eos_token_id";
      const auto& [config, where] = part;
      if (!config.contains(key) || config[key].is_null()) return;
      if (config[key].is_array()) {
        for (const TokenId id : json_get<TokenIds>(config, key, where)) add_stop_token(id);
      } else {
        add_stop_token(json_get<TokenId>(config, key, where));
      }
    };
    add_ids(files.generation_config);
    add_ids(files.config);
    if (const auto token = files.named_token("eos_token")) {
      add_stop_token(token_id(*token, files.tokenizer_config.where));
    }
    add_end_of(chat_template_);
    add_end_of(for_tools());
  }

  void read_text_frame(const TokenizerFiles& files) {
    if (files.tokenizer) {
      text_frame_ =
          read_post_processor(files.tokenizer->fields.value("post_processor", Json()), where_);
      for (const TokenId id : text_frame_.before) piece(id);
      for (const TokenId id : text_frame_.after) piece(id);
      return;
    }
    const auto& [config, where] = files.tokenizer_config;
    text_frame_ = read_added_ends(config, where, [&](const char* key) {
      const auto token = files.named_token(key);
      if (!token) fail_json_key(key, files.tokenizer_config.where, "is missing, but asked for");
      return token_id(*token, files.tokenizer_config.where);
    });
  }

  /// Appends the ids. Added tokens are searched twice: in the raw text, and in the normalised
  /// text.
  void encode_text(std::string_view text, TextPlace place, Control control, TokenIds& ids) const {
    require_utf8(text, "text");
    const auto add_id = [&](TokenId id) { ids.push_back(id); };
    const auto place_in = [](std::string_view part, std::string_view whole, TextPlace of_whole) {
      return part.data() == whole.data() ? of_whole : TextPlace::kAfterToken;
    };
    raw_finder_.split(
        text,
        [&](std::string_view raw) {
          const TextPlace raw_place = place_in(raw, text, place);
          const std::string whole = model_->normalize(raw);
          normalized_finder_.split(
              whole,
              [&](std::string_view part) {
                model_->encode(part, place_in(part, whole, raw_place), ids);
              },
              add_id, control);
        },
        add_id, control);
  }

  void append_segment(const ChatTemplate::Segment& segment, TokenIds& ids) const {
    if (const auto* control = std::get_if<ChatTemplate::Control>(&segment)) {
      ids.push_back(control->id);
    } else if (const auto* text = std::get_if<ChatTemplate::Text>(&segment)) {
      encode_text(text->text, ids.empty() ? TextPlace::kStart : TextPlace::kAfterToken,
                  Control::kPassOver, ids);
    } else {
      // A generated answer may include its stop token; the template adds its own.
      const TokenSpan answer = without_stop_token(std::get<TokenIds>(segment), stop_tokens_);
      ids.insert(ids.end(), answer.begin(), answer.end());
    }
  }

  const std::string where_, hash_;
  std::unique_ptr<const TextModel> model_;
  std::vector<Piece> pieces_;  // by id
  StringMap<TokenId> added_ids_;
  AddedTokenFinder raw_finder_, normalized_finder_;
  TextFrame text_frame_;
  Template chat_template_;
  std::optional<Template> tool_template_;
  TokenIds stop_tokens_;
};

}  // namespace

std::unique_ptr<Tokenizer> load_tokenizer(const TokenizerFiles& files) {
  // Truncation and padding are left out on purpose, as in transformers without these options.
  return std::make_unique<HuggingFaceTokenizer>(files);
}

}  // namespace predgen
