#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja/operations.h"

namespace predgen::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<const Expression>;

struct CallArguments {
  std::vector<ExpressionPtr> positional{};
  std::vector<std::pair<std::string, ExpressionPtr>> named{};
  ExpressionPtr list{}, dict{};  // *list, **dict
};

enum class Comparison { kEqual, kUnequal, kLess, kLessEqual, kGreater, kGreaterEqual, kIn, kNotIn };

struct Expression {
  enum class Type {
    kConstant,
    kName,
    kTuple,
    kList,
    kDict,         // children: key, value, key, ..
    kConcatenate,  // a ~ b ~ ..
    kAnd,
    kOr,
    kNot,
    kCompare,    // children: one more than comparisons
    kCalculate,  // two children
    kNegative,
    kPositive,
    kAttribute,            // child.name
    kItem,                 // child[child]
    kSlice,                // child[child:child:child]; null where nothing is given
    kCall,                 // child(arguments)
    kFilter,               // child | name(arguments); without a child, what a block holds
    kTest,                 // child is name(arguments)
    kConditional,          // children: then, condition, else or null
    kAttributeOfNamespace  // target of an assignment: name.attribute
  };
  Type type;
  int line = 0, depth = 1;
  std::string name{}, attribute{};
  Value constant{};
  Operator what{};
  std::vector<ExpressionPtr> children{};
  std::vector<Comparison> comparisons{};
  CallArguments arguments{};
};

using ExpressionType = Expression::Type;

struct Statement;
using Body = std::vector<Statement>;

/// What a macro or a call block takes.
struct Signature {
  std::string name{};
  std::vector<std::string> parameters{};
  std::vector<ExpressionPtr> defaults{};                               // of the last parameters
  bool takes_caller = false, takes_more = false, takes_named = false;  // its body names them
};

struct Statement {
  enum class Type {
    kData,
    kPrint,     // expressions
    kIf,        // expressions: a condition for each body; one body more for else
    kFor,       // expressions: target, items, filter or null; bodies: each, else
    kSet,       // expressions: target, value
    kSetBlock,  // expressions: target, filter or null
    kMacro,
    kCall,    // expressions: the call
    kFilter,  // expressions: the filter
    kWith,    // expressions: target, value, target, ..
    kScope,   // a body with names of its own
    kBlock,   // likewise, and without those around it
    kBreak,
    kContinue
  };
  Type type;
  int line = 0;
  std::string text{};
  std::vector<ExpressionPtr> expressions{};
  std::vector<Body> bodies{};
  bool is_recursive = false;
  Signature signature{};
};

using StatementType = Statement::Type;

struct Program {
  Body body;
};

/// Failure that names the line for what is no template or not supported.
Program parse(std::string_view source);

}  // namespace predgen::jinja
