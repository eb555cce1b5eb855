#pragma once

#include <functional>
#include <memory>

#include "runtime/generate/token_constraint.h"
#include "text/grammar/grammar_compiler.h"
#include "text/tokenizer.h"

namespace predgen {

/// Holds every answer of a conversation to `rules`; null: they allow anything, or nothing can be
/// held to them. Compiling takes long. `thinks`: as SessionConfig. UserError as
/// GrammarCompiler::compile(). Borrows the tokenizer.
std::shared_ptr<const TokenConstraint> call_constraint(GrammarCompiler& grammars, AnswerRules rules,
                                                       const Tokenizer& tokenizer, bool thinks);

/// What `compile` gives, which is a call_constraint(). A UserError is a line in the log, and null:
/// tools of a server may be anything.
std::shared_ptr<const TokenConstraint> held_if_possible(
    const std::function<std::shared_ptr<const TokenConstraint>()>& compile);

}  // namespace predgen
