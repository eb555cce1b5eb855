#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/syntax_tree.h"

namespace predgen::jinja {

/// The names that statements see. A macro keeps the scope that it was defined in.
struct Scope {
  std::shared_ptr<Scope> parent;
  std::vector<std::pair<std::string, Value>> values{};
  Budget::Held held{};
  bool is_kept = false;  // until the end

  explicit Scope(std::shared_ptr<Scope> outer = nullptr) : parent(std::move(outer)) {}
  const Value* find(std::string_view name) const;
  void set(Budget& budget, std::string_view name, Value value);
};
using ScopePtr = std::shared_ptr<Scope>;

/// Computes expressions.
class Evaluator {
 public:
  explicit Evaluator(Runtime& runtime) : runtime_(runtime) {}

  Value evaluate(const Expression& expression, const ScopePtr& scope);
  /// `caller`: what the function may call by this name, if it is not null.
  Value call_function(const Expression& expression, const ScopePtr& scope,
                      const Value* caller = nullptr);
  /// The filters of `expression` on `text`.
  Value apply_filters(const Expression& expression, const ScopePtr& scope, const Value& text);
  /// To a name, several, or an attribute of a namespace.
  void assign(const Expression& target, const ScopePtr& scope, const Value& value);

 private:
  Value evaluate_type(const Expression& expression, const ScopePtr& scope);
  std::vector<Value> evaluate_all(const Expression& expression, const ScopePtr& scope);
  Value make_dict(const Expression& expression, const ScopePtr& scope);
  Value concatenate(const Expression& expression, const ScopePtr& scope);
  Value compare_all(const Expression& expression, const ScopePtr& scope);
  Value get_slice(const Expression& expression, const ScopePtr& scope);
  Value conditional(const Expression& expression, const ScopePtr& scope);
  Arguments evaluate(const CallArguments& arguments, const ScopePtr& scope);
  void assign_attribute(const Expression& target, const ScopePtr& scope, const Value& value);

  Runtime& runtime_;
};

}  // namespace predgen::jinja
