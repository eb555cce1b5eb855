#pragma once

#include <xgrammar/xgrammar.h>

#include <string>
#include <vector>

#include "text/grammar/grammar.h"

namespace predgen {

/// XGrammar's form of a Grammar.
struct Grammar::Compiled {
  xgrammar::CompiledGrammar grammar;
};

/// What XGrammar warns about on this thread while this lives: parts of a form that it ignores.
class GrammarWarnings {
 public:
  GrammarWarnings();
  ~GrammarWarnings();
  GrammarWarnings(const GrammarWarnings&) = delete;
  GrammarWarnings& operator=(const GrammarWarnings&) = delete;

  const std::vector<std::string>& lines() const { return lines_; }

 private:
  friend struct GrammarLog;
  std::vector<std::string> lines_;
};

}  // namespace predgen
