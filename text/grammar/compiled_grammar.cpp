#include "text/grammar/compiled_grammar.h"

#include <stdexcept>
#include <string>

namespace predgen {

/// Where XGrammar's messages on this thread go.
struct GrammarLog {
  static void add(const std::string& line) {
    if (open != nullptr) open->lines_.push_back(line);
  }
  static thread_local GrammarWarnings* open;
};

thread_local GrammarWarnings* GrammarLog::open = nullptr;

GrammarWarnings::GrammarWarnings() { GrammarLog::open = this; }
GrammarWarnings::~GrammarWarnings() { GrammarLog::open = nullptr; }

}  // namespace predgen

// XGrammar calls these, as it is compiled with XGRAMMAR_LOG_CUSTOMIZE.
namespace xgrammar {

[[noreturn]] void LogFatalImpl(const std::string& file, int lineno, const std::string& message);
void LogMessageImpl(const std::string& file, int lineno, int level, const std::string& message);

void LogFatalImpl(const std::string& /*file*/, int /*lineno*/, const std::string& message) {
  throw std::runtime_error(message);
}

void LogMessageImpl(const std::string& /*file*/, int /*lineno*/, int /*level*/,
                    const std::string& message) {
  predgen::GrammarLog::add(message);
}

}  // namespace xgrammar
