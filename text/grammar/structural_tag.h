#pragma once

#include <string>

#include "core/json.h"

namespace predgen {

// Formats of XGrammar's structural tags, which formats of answers are made of.

inline Json literal(const std::string& text) { return {{"type", "const_string"}, {"value", text}}; }
/// `ebnf`: a grammar as XGrammar writes it.
inline Json by_grammar(const std::string& ebnf) { return {{"type", "grammar"}, {"grammar", ebnf}}; }
inline Json sequence(const Json& elements) {
  return {{"type", "sequence"}, {"elements", elements}};
}
/// Any number of times.
inline Json repeated(const Json& content) { return {{"type", "star"}, {"content", content}}; }
inline Json maybe(const std::string& text) {
  return {{"type", "optional"}, {"content", literal(text)}};
}
inline Json any_of(const Json& elements) {
  return elements.size() == 1 ? elements.front() : Json{{"type", "or"}, {"elements", elements}};
}

}  // namespace predgen
