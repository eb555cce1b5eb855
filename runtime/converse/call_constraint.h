#pragma once

#include <memory>

#include "runtime/generate/token_constraint.h"
#include "text/grammar/grammar_compiler.h"
#include "text/tokenizer.h"

namespace predgen {

/// Holds every answer of a conversation to `rules`, which name tools; null: nothing can be held to
/// them. Compiling takes long. `thinks`: as SessionConfig. UserError as GrammarCompiler::compile().
/// Borrows the tokenizer.
std::shared_ptr<const TokenConstraint> call_constraint(GrammarCompiler& grammars, AnswerRules rules,
                                                       const Tokenizer& tokenizer, bool thinks);

}  // namespace predgen
