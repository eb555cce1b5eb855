#include "runtime/converse/call_constraint.h"

#include <utility>

#include "core/error.h"
#include "core/log.h"
#include "runtime/generate/token_constraint.h"
#include "text/thoughts.h"

namespace predgen {

std::shared_ptr<const TokenConstraint> call_constraint(GrammarCompiler& grammars, AnswerRules rules,
                                                       const Tokenizer& tokenizer, bool thinks) {
  if (rules.allow_anything()) return nullptr;
  const TokenIds prompt =
      tokenizer.render_chat({{.role = "user", .content = "x"}}, /*add_generation_prompt=*/true,
                            rules.tools, tokenizer.thinking_switch(thinks));
  rules.start = answer_start(tokenizer, prompt);
  const std::shared_ptr<const Grammar> grammar = grammars.compile(rules);
  if (!grammar) return nullptr;
  return std::make_shared<GrammarConstraint>(grammar, tokenizer);
}

std::shared_ptr<const TokenConstraint> held_if_possible(
    const std::function<std::shared_ptr<const TokenConstraint>()>& compile) {
  try {
    return compile();
  } catch (const UserError& error) {
    spdlog::warn("calls are not held to their form: {}", error.what());
    return nullptr;
  }
}

}  // namespace predgen
