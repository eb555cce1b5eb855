#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "evaluate/report.h"
#include "evaluate/run_methods.h"
#include "evaluate/turn_rows.h"

namespace predgen::evaluate {

/// All turns, by one worker.
inline EvalRun run_methods(const EvalConfig& config, const RunCost& cost, const EvalModels& models,
                           const std::vector<EvalTurn>& turns) {
  MethodRunner runner(config, cost, models, turns.front());
  const std::vector<size_t> bounds = conversation_bounds(turns);
  EvalRun all;
  for (size_t i = 0; i + 1 < bounds.size(); ++i) {
    EvalRun run = runner.run(turns, bounds[i], bounds[i + 1]);
    std::ranges::move(run.rows, std::back_inserter(all.rows));
    std::ranges::move(run.failed, std::back_inserter(all.failed));
  }
  return all;
}

inline Json report_of(const std::vector<std::string>& methods, const TurnSet& turns,
                      const EvalRun& run) {
  const Json rows = to_json(run, turns);
  const std::vector<ReportRun> runs{{"m", to_json(RunCost{}), rows["rows"], rows["failed"]}};
  return make_report({methods, turns, runs, "", Json::object()});
}

}  // namespace predgen::evaluate
