#include "evaluate/set_name.h"

#include <filesystem>

#include "core/config.h"
#include "core/error.h"

namespace predgen::evaluate {
namespace {

std::string name_of(const std::string& paper, const std::filesystem::path& file) {
  if (paper == "mt_bench") return "MT-Bench";
  if (paper == "gsm8k") return "GSM8K";
  if (paper == "mmlu_pro") return "MMLU-Pro";
  if (paper == "lmsys") return "Lmsys";
  if (file.empty()) return "An evaluation";
  const std::string folder = file.parent_path().filename().string();
  return (folder.empty() ? "" : folder + "/") + file.filename().string();
}

}  // namespace

Json describe_set(const std::string& config) {
  std::string kind, file, paper;
  try {
    ConfigReader reader = ConfigReader::parse(config, "config");
    ConfigReader turns = reader.section("turns");
    turns.optional("kind", kind);
    turns.optional("file", file);
  } catch (const UserError&) {  // results that were edited: the page says what it can
    kind = file = "";
  }
  if (kind == "mt_bench" || kind == "gsm8k" || kind == "mmlu_pro") {
    paper = kind;
  } else if (file.find("lmsys") != std::string::npos) {
    paper = "lmsys";
  }
  return {{"kind", kind}, {"file", file}, {"paper", paper}, {"name", name_of(paper, file)}};
}

}  // namespace predgen::evaluate
