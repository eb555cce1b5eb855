#include "evaluate/page/run_set.h"

#include <filesystem>

#include "core/config.h"
#include "core/error.h"
#include "evaluate/page/run_view.h"

namespace predgen::evaluate {

RunSet run_set(const Json& report) {
  RunSet set;
  try {
    ConfigReader reader = ConfigReader::parse(text_at(report, {"config"}), "config");
    ConfigReader turns = reader.section("turns");
    turns.optional("kind", set.kind);
    turns.optional("file", set.file);
  } catch (const UserError&) {  // the page says what it can
    return {};
  }
  return set;
}

std::string paper_set_of(const Json& report) {
  const RunSet set = run_set(report);
  if (set.kind == "mt_bench" || set.kind == "gsm8k" || set.kind == "mmlu_pro") return set.kind;
  return set.file.find("lmsys") == std::string::npos ? "" : "lmsys";
}

}  // namespace predgen::evaluate
