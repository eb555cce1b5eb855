#include "text/template/jinja_template.h"

#include "text/jinja/functions.h"
#include "text/jinja/interpreter.h"

namespace predgen {

struct JinjaTemplate::Program {
  std::string where;
  jinja::Program program;
};

JinjaTemplate::JinjaTemplate(const std::string& source, const std::string& where) {
  try {
    program_ = std::make_shared<const Program>(Program{where, jinja::parse(source)});
  } catch (const jinja::Failure& failure) {
    throw UserError("{}: {}", where, failure.what());
  }
}

std::string JinjaTemplate::render(const Json& variables, const std::tm& now,
                                  jinja::Budget& budget) const {
  const std::string& where = program_->where;
  try {
    jinja::Runtime runtime(budget);
    const auto globals = std::make_shared<jinja::Scope>();
    globals->values = jinja::global_functions(runtime, now);
    const auto scope = std::make_shared<jinja::Scope>(globals);
    for (const auto& [name, value] : variables.items()) {
      scope->set(budget, name, runtime.from_json(value));
    }
    return jinja::Interpreter(runtime).render(program_->program, scope);
  } catch (const jinja::Raised& raised) {
    throw TemplateRaised("{} says: {}", where, raised.what());
  } catch (const jinja::TooMuch& failure) {
    throw TemplateTooCostly("{}: {}", where, failure.what());
  } catch (const jinja::Failure& failure) {
    throw UserError("{}: {}", where, failure.what());
  }
}

}  // namespace predgen
