#include "evaluate/page/paper_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text.h"
#include "evaluate/page/quality_measure.h"
#include "evaluate/page/run_set.h"

namespace predgen::evaluate {
namespace {

struct PublishedRow {
  const char* method;  // as predgen calls it
  double ttfs_ms, nfe, latency_ms, score, speedup;
};

struct PublishedSet {
  const char *kind, *name, *score;
  std::array<PublishedRow, 5> rows;
};

/// Table 1 of arXiv 2506.15556: Qwen2.5-7B-Instruct on its authors' machine.
constexpr std::array<PublishedSet, 4> kPublished{{
    {"lmsys",
     "Lmsys",
     "GPT-4 grade",
     {{{"baseline", 488, 17.9, 726, 8.23, 1},
       {"greedy", 248, 9.7, 374, 8.23, 1.9},
       {"top3", 171, 6.4, 263, 8.23, 2.8},
       {"reflection", 224, 6.2, 311, 8.23, 2.3},
       {"cllm", 295, 9.8, 410, 8.79, 1.8}}}},
    {"mt_bench",
     "MT-Bench",
     "GPT-4 grade",
     {{{"baseline", 992, 35.0, 1233, 8.27, 1},
       {"greedy", 623, 24.4, 764, 8.27, 1.6},
       {"top3", 511, 20.0, 612, 8.22, 2.0},
       {"reflection", 405, 15.0, 497, 8.07, 2.6},
       {"cllm", 386, 14.3, 529, 8.51, 2.3}}}},
    {"gsm8k",
     "GSM8K",
     "accuracy",
     {{{"baseline", 1320, 42.8, 1559, 0.83, 1},
       {"greedy", 1174, 38.7, 1371, 0.83, 1.1},
       {"top3", 544, 14.7, 627, 0.80, 2.5},
       {"reflection", 736, 12.4, 779, 0.80, 2.0},
       {"cllm", 1023, 29.7, 1194, 0.83, 1.3}}}},
    {"mmlu_pro",
     "MMLU-Pro",
     "accuracy",
     {{{"baseline", 1421, 51.6, 1670, 0.50, 1},
       {"greedy", 984, 35.7, 1120, 0.50, 1.5},
       {"top3", 302, 10.0, 361, 0.50, 4.6},
       {"reflection", 994, 40.5, 1107, 0.50, 1.5},
       {"cllm", 665, 22.7, 805, 0.50, 2.1}}}},
}};

std::string cell(const std::string& text) { return "<td>" + escape_html(text); }

std::string scaled(const std::optional<double>& value, double scale, int digits) {
  return fixed(value ? std::optional(scale * *value) : std::nullopt, digits);
}

std::string own_cells(const RunView& run, const std::string& method,
                      const std::optional<QualityMeasure>& measure) {
  const Json& found = run.method(method);
  const auto quality = measure ? measure->of(method) : std::nullopt;
  std::string html = cell(scaled(number_at(found, {"ttfs", "mean"}), 1e3, 0)) +
                     cell(fixed(number_at(found, {"nfe_paper", "mean"}), 1)) +
                     cell(scaled(number_at(found, {"audio_latency", "mean"}), 1e3, 0)) +
                     cell(quality ? fixed(quality->value, measure->digits) : "–") + "<td>";
  if (const auto sooner = run.ms_sooner(method)) {
    html += fmt::format("{:.0f} <small>{:.0f}–{:.0f}</small>", sooner->value, sooner->low,
                        sooner->high);
  }
  return html;
}

/// Beside the paper's: the ratio of the latencies.
std::string ratio_cell(const RunView& run, const std::string& method) {
  const auto speedup = number_at(run.method(method), {"speedup"});
  return "<td>" + (speedup && !run.is_baseline(method) ? escape_html(times(speedup, 1)) : "");
}

std::string published_cells(const PublishedSet& set, const std::string& method) {
  const auto* row = std::ranges::find(set.rows, method, &PublishedRow::method);
  if (row == set.rows.end()) return "<td class=paper>–<td>–<td>–<td>–<td>";
  const std::string speed = row->speedup > 1 ? fmt::format("{:.1f}×", row->speedup) : "";
  return fmt::format("<td class=paper>{:.0f}<td>{:.1f}<td>{:.0f}<td>{:.2f}<td>{}", row->ttfs_ms,
                     row->nfe, row->latency_ms, row->score, speed);
}

std::string own_head(const std::string& quality) {
  return "<th>TTFS, ms<th>NFE<th>First sound, ms<th>" + quality + "<th>Sooner, ms";
}

}  // namespace

std::string paper_table(const RunView& run) {
  const std::string kind = paper_set_of(run.report());
  const auto* set = std::ranges::find(kPublished, kind, &PublishedSet::kind);
  const bool has_paper = set != kPublished.end();
  const auto measure = quality_measure(run);
  const std::string own = escape_html(measure ? measure->short_name : "quality");
  std::string html = fmt::format(
      "<h2 id=table1>{}</h2>\n<div class=scroll tabindex=0><table class=figures>\n<thead>",
      has_paper ? "Table 1, beside the paper's" : "Summary");
  if (has_paper) {
    html += fmt::format(
        "<tr><th rowspan=2>Method<th colspan=6>This run: {}<th colspan=5 class=paper>The paper: "
        "Qwen2.5-7B-Instruct, {}\n<tr>{}<th>Speed-up<th class=paper>TTFS, ms<th>NFE<th>Latency, "
        "ms<th>{}<th>Speed-up",
        escape_html(run.model() + ", price " + run.price()), set->name, own_head(own), set->score);
  } else {
    html += "<tr><th>Method" + own_head(own);
  }
  html += "</thead>\n<tbody>\n";
  for (const std::string& method : run.methods()) {
    html += "<tr><th scope=row>" + escape_html(method) + own_cells(run, method, measure);
    if (has_paper) html += ratio_cell(run, method) + published_cells(*set, method);
    html += "\n";
  }
  html += "</tbody></table></div>\n<p class=note>";
  if (has_paper) {
    html +=
        "Right: Table 1 of arXiv 2506.15556, as its authors measured it with their model on their "
        "machine. Left: this run. Compare the ratios, not the milliseconds. ";
  }
  return html +
         "TTFS: from the end of the turn to the first sentence. NFE: forward passes in that time, "
         "at least one. Sooner: than the baseline's first sound, with the 95 % interval.</p>\n";
}

}  // namespace predgen::evaluate
