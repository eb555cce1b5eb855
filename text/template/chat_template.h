#pragma once

#include <ctime>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/json.h"
#include "text/template/jinja_template.h"
#include "text/template/template_tools.h"
#include "text/tokenize/added_tokens.h"
#include "text/tokenizer.h"

namespace predgen {

/// How a conversation becomes one id sequence: the model's Jinja template, run as transformers'
/// apply_chat_template runs it. Control tokens come only from the template: typed ones are text.
///
/// The ids of a history stay a prefix when messages follow, if the template is written that way.
/// This holds for ChatML, Qwen2, Qwen2.5, Llama 2 and 3, OLMo 2, and Mistral without a system
/// message. Mistral v0.3 and later put the system message into the last user message. Qwen3 and its
/// kin drop the reasoning of earlier turns.
///
/// An answer given as ids is placed directly between the generation prompt and the end token,
/// where it was generated: white space or empty reasoning that the template would add around it
/// is left out. If it has text that the template inspects ("</think>"), its text is used
/// instead.
class ChatTemplate {
 public:
  struct Source {
    std::string jinja;
    std::string where;                     // file, for errors
    Json special_tokens = Json::object();  // bos_token, eos_token, .. for the template
    std::tm today{};                       // for strftime_now
    bool is_for_tools = false;             // rendered only with some
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

  /// `added` holds the tokenizer's added tokens. UserError naming `where`, and how to give another
  /// template, if the engine cannot run this one.
  ChatTemplate(Source source, const std::vector<AddedToken>& added);

  /// The template gets the messages as they are. If it rejects their order, or, with the generation
  /// prompt, leaves out what a system or a function says, it gets them in another
  /// (message_order.h); UserError if it takes none. If the template gives nothing for a system
  /// message alone without the generation prompt, the result is what precedes the first user
  /// message's content. `tools` are shown as the template does it; their texts, too, may hold no
  /// control token. If the template takes only one call per message, several become one message
  /// each; if roles must alternate, an empty message separates a function's from the user's; if it
  /// shows tools but no calls, calls are written into the content as it tells the model to; if it
  /// shows no tools, the system message does (with_told_tools()).
  /// `variables`: more of the template's, as a JSON object; empty: none. They replace none that the
  /// template always has, and their texts may hold no control token.
  std::vector<Segment> render(const std::vector<Message>& messages, bool add_generation_prompt,
                              const ToolSet& tools = {}, const std::string& variables = {}) const;

  /// Variables for render() that switch thinking on or off; empty: the template has no switch.
  std::string thinking_switch(bool thinks) const;

  /// How the model writes calls: as the template shows them or, if it shows no tools, as it is told
  /// in the system message.
  ToolFormat tool_format() const { return dialect_.format; }

  /// The token that ends an assistant's answer, if the template does so with one control token.
  std::optional<TokenId> end_token() const { return end_token_; }
  /// Whether an answer follows the generation prompt's text: not if that text begins reasoning
  /// which the template drops once there is an answer.
  bool answers_follow_prompt() const { return answers_follow_prompt_; }

 private:
  std::string run(const Json& messages, bool add_generation_prompt, const Json& tools,
                  jinja::Budget& budget, const Json& variables = Json::object()) const;
  std::string run_opening(Json messages, const Json& tools, jinja::Budget& budget,
                          const Json& variables) const;
  Json to_json(const std::vector<Message>& messages) const;
  bool keeps_ids(const Message& message) const;
  void fit_ids(size_t index, const Message& message, std::string& text) const;
  std::vector<Segment> split(std::string_view text, const std::vector<Message>& messages) const;
  void split_text(std::string_view text, const std::vector<Message>& messages,
                  std::vector<Segment>& segments) const;
  void find_visible();
  Json probe_tools() const;
  void probe(jinja::Budget& budget);
  void find_thinking_switch(jinja::Budget& budget);

  Source source_;
  ControlTokens tokens_;
  JinjaTemplate template_;
  std::set<TokenId> visible_;      // the template looks for them in an assistant's content
  const bool has_xml_tools_;       // it takes tools under this name, too (SmolLM3)
  bool leaves_out_tools_ = false;  // it loops over tools, whether there are any or not (Hermes)
  bool takes_system_ = true, answers_follow_prompt_ = false;
  std::string before_answer_, after_answer_;  // between generation prompt, content and end token
  std::optional<TokenId> end_token_;
  std::string thinking_switch_;  // a variable; empty: none
  ToolDialect dialect_;
  CallOrder call_order_;
};

}  // namespace predgen
