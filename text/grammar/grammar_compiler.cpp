#include "text/grammar/grammar_compiler.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <optional>
#include <thread>
#include <variant>

#include "core/error.h"
#include "core/log.h"
#include "core/text.h"
#include "text/grammar/argument_grammar.h"
#include "text/grammar/call_grammar.h"
#include "text/grammar/compiled_grammar.h"
#include "text/grammar/promised_schema.h"
#include "text/thoughts.h"
#include "text/token_ids.h"
#include "text/tools/tool_call_parser.h"

namespace predgen {
namespace {

/// Of Grammar::ToString(): what a form of the largest size takes when it is written out.
constexpr size_t kMostGrammarBytes = 512 << 10;

/// The texts of a tokenizer's tokens; empty: it has none, so that no grammar allows it.
/// `with_marks`: those of the marks around calls and thoughts, which other texts omit. Control
/// characters are in no answer, tabs in none of JSON: XGrammar has them in strings that are
/// bounded.
std::vector<std::string> token_texts(const Tokenizer& tokenizer, bool with_marks, bool is_json) {
  const auto is_control = [&](char byte) {
    const bool is_space = byte == '\n' || byte == '\r' || (byte == '\t' && !is_json);
    return byte >= 0 && byte < ' ' && !is_space;
  };
  const ThoughtParser thoughts;
  const ToolFormat format = tokenizer.tool_format();
  std::vector<std::string> texts(static_cast<size_t>(tokenizer.vocab_size()));
  for (TokenId token = 0; token < tokenizer.vocab_size(); ++token) {
    std::string& text = texts[static_cast<size_t>(token)];
    try {
      text = tokenizer.decode_next({&token, 1});
      if (std::ranges::any_of(text, is_control)) text.clear();
      if (!text.empty() || !with_marks) continue;
      text = tokenizer.decode_next({&token, 1}, /*keep_special=*/true);
    } catch (const UserError&) {  // an id that no token has
      continue;
    }
    const bool is_mark = format == ToolFormat::kHarmony
                             ? ChannelParser::is_marker(text)
                             : thoughts.is_marker(text) || ToolCallParser::is_marker(format, text);
    const bool is_end = is_stop_token(tokenizer.stop_tokens(), token);
    // Llama's calls are made without it.
    if (!is_mark || is_end || text == "<|python_tag|>") text.clear();
  }
  return texts;
}

std::string name_of(const AnswerRules& rules) {
  return rules.form ? rules.form->name : std::string("the calls of functions");
}

/// What a thread has computed: on a busy machine much less than the time that has passed.
double processor_seconds(std::jthread& thread) {
  clockid_t clock{};
  timespec spent{};
  if (pthread_getcpuclockid(thread.native_handle(), &clock) != 0) return 0;  // it has ended
  if (clock_gettime(clock, &spent) != 0) return 0;
  return static_cast<double>(spent.tv_sec) + 1e-9 * static_cast<double>(spent.tv_nsec);
}

}  // namespace

/// What XGrammar has for a tokenizer: made when it is needed, used by one thread at a time.
class GrammarCompiler::Builder {
 public:
  explicit Builder(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  std::shared_ptr<const Grammar> build(const AnswerRules& rules) {
    try {
      const xgrammar::Grammar grammar = grammar_of(rules);
      if (grammar.ToString().size() > kMostGrammarBytes) {
        throw UserError("{} is too large: written out as a grammar it has more than {} bytes",
                        name_of(rules), kMostGrammarBytes);
      }
      const bool with_marks = !rules.tools.empty() || is_of_parts(rules);
      const bool is_json = rules.form && rules.form->kind == AnswerForm::Kind::kJsonSchema;
      return std::make_shared<Grammar>(
          name_of(rules),
          std::make_shared<Grammar::Compiled>(Grammar::Compiled{
              compiler(with_marks, is_json, rules.is_passing).CompileGrammar(grammar)}));
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      throw UserError("{} cannot be compiled: {}", name_of(rules),
                      shortened(first_line(error.what()), 300));
    }
  }

 private:
  xgrammar::GrammarCompiler& compiler(bool with_marks, bool is_json, bool is_passing) {
    const int of_texts = (with_marks ? 1 : 0) + (is_json ? 2 : 0);
    std::optional<xgrammar::GrammarCompiler>& made = compilers_[of_texts + (is_passing ? 4 : 0)];
    if (!made) {
      std::optional<xgrammar::TokenizerInfo>& vocabulary = vocabularies_[of_texts];
      if (!vocabulary) {
        const TokenIds& ends = tokenizer_.stop_tokens();
        vocabulary.emplace(token_texts(tokenizer_, with_marks, is_json), xgrammar::VocabType::RAW,
                           static_cast<int>(tokenizer_.vocab_size()),
                           std::vector<int32_t>(ends.begin(), ends.end()));
      }
      made.emplace(*vocabulary, /*max_threads=*/1, /*cache_enabled=*/true, kMostKeptBytes,
                   /*enable_dynamic_compilation=*/is_passing);
    }
    return *made;
  }

  /// Whether an answer has more parts than what is said.
  static bool is_of_parts(const AnswerRules& rules) {
    return rules.start == AnswerStart::kThought || rules.start == AnswerStart::kChannels;
  }

  xgrammar::Grammar grammar_of(const AnswerRules& rules) {
    if (rules.tools.empty() && !is_of_parts(rules)) return form_grammar(rules.form.value());
    const ArgumentsOf arguments = [&](const Json& function) {
      return this->arguments(rules, function);
    };
    Json format;
    if (rules.form) {
      format = {{"type", "grammar"}, {"grammar", form_grammar(*rules.form).ToString()}};
    }
    if (rules.start == AnswerStart::kChannels) {
      format = channel_format(rules, arguments, format);
    } else if (!rules.tools.empty()) {
      format = call_format(rules, tokenizer_, arguments, format);
    }
    if (rules.start == AnswerStart::kThought) format = after_thought(format);
    const auto made = xgrammar::Grammar::FromStructuralTag(
        to_text({{"type", "structural_tag"}, {"format", format}}));
    if (const auto* grammar = std::get_if<xgrammar::Grammar>(&made)) return *grammar;
    throw UserError("{} cannot be compiled: {}", name_of(rules),
                    std::visit([](const auto& error) { return std::string(error.what()); },
                               std::get<xgrammar::StructuralTagError>(made)));
  }

  static xgrammar::Grammar form_grammar(const AnswerForm& form) {
    if (form.kind == AnswerForm::Kind::kJsonSchema) {
      const Json schema = parse_json(form.text, form.name);
      return schema_grammar(promised_schema(schema, form.name, form.is_strict), form.name,
                            form.is_strict);
    }
    check_form_text(form.text, form.name);
    const GrammarWarnings warnings;
    xgrammar::Grammar grammar = form.kind == AnswerForm::Kind::kRegex
                                    ? xgrammar::Grammar::FromRegex(form.text)
                                    : xgrammar::Grammar::FromEBNF(form.text);
    if (warnings.lines().empty()) return grammar;
    throw UserError("{}: {}", form.name, shortened(first_line(warnings.lines().front()), 300));
  }

  /// Runs make(), which turns a schema into a grammar, and refuses what it leaves out.
  template <typename Make>
  static auto without_warnings(const std::string& name, bool is_strict, const Make& make) {
    const GrammarWarnings warnings;
    auto made = make();
    if (!is_strict || warnings.lines().empty()) return made;
    throw UserError("{}: {}: no grammar of this server can hold an answer to it", name,
                    shortened(first_line(warnings.lines().front()), 300));
  }

  /// Of a promised_schema().
  static xgrammar::Grammar schema_grammar(const Json& schema, const std::string& name,
                                          bool is_strict) {
    return without_warnings(name, is_strict, [&] {
      return xgrammar::Grammar::FromJSONSchema(to_text(schema), /*any_whitespace=*/false,
                                               std::nullopt, std::nullopt,
                                               /*strict_mode=*/is_strict);
    });
  }

  std::string arguments(const AnswerRules& rules, const Json& function) const {
    const std::string tool = function["name"].get<std::string>();
    const bool is_strict = std::ranges::count(rules.tools.strict, tool) > 0;
    const std::string name = fmt::format("the parameters of function '{}'", tool);
    const ToolFormat format = tokenizer_.tool_format();
    const bool has_marks = format == ToolFormat::kXml || format == ToolFormat::kGemma ||
                           format == ToolFormat::kPython || format == ToolFormat::kHarmony;
    const Json kept = only_named(promised_schema(function["parameters"], name, is_strict));
    if (!has_marks) return schema_grammar(kept, name, is_strict).ToString();
    return without_warnings(name, is_strict,
                            [&] { return argument_grammar(kept, is_strict, format); });
  }

  const Tokenizer& tokenizer_;
  std::optional<xgrammar::TokenizerInfo> vocabularies_[4];  // by with_marks and is_json
  std::optional<xgrammar::GrammarCompiler> compilers_[8];   // by the arguments of compiler()
};

GrammarCompiler::GrammarCompiler(const Tokenizer& tokenizer)
    : builder_(std::make_unique<Builder>(tokenizer)) {}
GrammarCompiler::~GrammarCompiler() = default;

std::shared_ptr<const Grammar> GrammarCompiler::find(const AnswerRules& rules) {
  const Lock lock(kept_mutex_);
  const auto known = std::ranges::find(kept_, rules, &Made::first);
  if (known == kept_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, known);
  return known->second;
}

void GrammarCompiler::keep(const AnswerRules& rules, std::shared_ptr<const Grammar> grammar) {
  const Lock lock(kept_mutex_);
  kept_.emplace_front(rules, std::move(grammar));
  int64_t bytes = 0;
  size_t num_kept = 0;
  kept_.remove_if([&](const Made& made) {
    bytes += made.second->num_bytes();
    return ++num_kept > kMostKept || (num_kept > 1 && bytes > kMostKeptBytes);
  });
}

std::shared_ptr<const Grammar> GrammarCompiler::compile(const AnswerRules& rules) {
  PREDGEN_CHECK(!rules.allow_anything(), "nothing to compile");
  if (auto known = find(rules)) return known;
  const Lock lock(work_mutex_);
  if (auto known = find(rules)) return known;
  const auto is_done = [&]() REQUIRES(work_mutex_) {
    while (work_.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready) {
      if (processor_seconds(thread_) > kMostSeconds) return false;
    }
    return true;
  };
  if (work_.valid() && !is_done()) {
    throw UserError("{} cannot be compiled now: another form takes long", name_of(rules));
  }
  std::packaged_task<std::shared_ptr<const Grammar>()> task(
      [builder = builder_.get(), rules] { return builder->build(rules); });
  work_ = task.get_future();
  thread_ = std::jthread(std::move(task));
  if (!is_done()) {
    throw UserError("{} takes more than {} s of a processor to compile: make it smaller",
                    name_of(rules), kMostSeconds);
  }
  thread_.join();  // an error is then this thread's alone
  std::shared_ptr<const Grammar> grammar = work_.get();
  keep(rules, grammar);
  return grammar;
}

}  // namespace predgen
