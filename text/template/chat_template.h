#pragma once

#include <ctime>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/json.h"
#include "text/template/control_tokens.h"
#include "text/template/jinja_template.h"
#include "text/template/template_tools.h"
#include "text/tokenizer.h"

namespace predgen {

/// How a conversation becomes one id sequence: the model's Jinja template, run as transformers'
/// apply_chat_template runs it. Control tokens come from the template only: typed ones are text.
///
/// The ids of a history stay a prefix when messages follow, as far as the template is so written.
/// It holds for ChatML, Qwen2, Qwen2.5, Llama 2 and 3, OLMo 2, and Mistral without a system
/// message. Mistral v0.3 and later put the system message into the last user message. Qwen3 and its
/// kin drop the reasoning of earlier turns.
///
/// An answer that is given as ids stands right after the generation prompt and right before the
/// end token, where it was generated: white space or empty reasoning that the template would put
/// around it is left out. If it has text that the template looks into ("</think>"), its text
/// counts.
class ChatTemplate {
 public:
  struct Source {
    std::string jinja;
    std::string where;                     // file, for errors
    Json special_tokens = Json::object();  // bos_token, eos_token, .. for the template
    std::tm today{};                       // for strftime_now
  };
  struct Control {
    TokenId id;  // a control token
  };
  struct Text {
    std::string text;  // encoded as one run
  };
  using Segment = std::variant<Control, Text, TokenIds>;

  /// SOURCE_DATE_EPOCH (seconds, UTC) if the environment has it, else the local time.
  static std::tm today();

  /// `added` holds the tokenizer's added tokens. UserError naming `where` and the way to give
  /// another template if the engine cannot run this one.
  ChatTemplate(Source source, const std::vector<AddedToken>& added);

  /// UserError for roles or an order that the template does not take. A system message that it does
  /// not take goes into the first user message. A system message alone, without the generation
  /// prompt, gives what comes before the first user message's content if the template gives
  /// nothing.
  /// `tools` are shown as the template has it; their texts, too, may hold no control token.
  /// Where the template takes one call a message only, several become a message each; where roles
  /// must alternate, a message without words stands between a function's and the user's.
  std::vector<Segment> render(const std::vector<Message>& messages, bool add_generation_prompt,
                              const ToolSet& tools = {}) const;

  /// How the template shows an assistant's calls, if it shows tools at all.
  ToolFormat tool_format() const { return tool_format_; }

  /// What ends an assistant's answer, if the template says so with one control token.
  std::optional<TokenId> end_token() const { return end_token_; }
  /// Whether an answer stands after what the generation prompt said: not if that begins reasoning
  /// which the template drops when the answer is there.
  bool answers_follow_prompt() const { return answers_follow_prompt_; }

 private:
  std::string run(const Json& messages, bool add_generation_prompt,
                  const Json& tools = nullptr) const;
  std::string run_opening(Json messages, const Json& tools) const;
  Json to_json(const std::vector<Message>& messages) const;
  bool keeps_ids(const Message& message) const;
  void fit_ids(size_t index, const Message& message, std::string& text) const;
  std::vector<Segment> split(std::string_view text, const std::vector<Message>& messages) const;
  void split_text(std::string_view text, const std::vector<Message>& messages,
                  std::vector<Segment>& segments) const;
  void find_visible();
  void probe();

  Source source_;
  ControlTokens tokens_;
  JinjaTemplate template_;
  std::set<TokenId> visible_;  // the template looks for them in an assistant's content
  bool takes_system_ = true, answers_follow_prompt_ = false;
  std::string before_answer_, after_answer_;  // between generation prompt, content and end token
  std::optional<TokenId> end_token_;
  ToolFormat tool_format_ = ToolFormat::kNone;
  CallOrder call_order_;
};

}  // namespace predgen
