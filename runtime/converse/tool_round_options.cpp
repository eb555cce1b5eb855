#include "runtime/converse/tool_round_options.h"

namespace predgen {

Settings settings_of(ToolRoundOptions& options) {
  return {
      {"tool_rounds", options.max_rounds, between(1, 32),
       "with tools: how often an answer may call tools and go on"},
      {"tool_filler", options.filler,
       "with --mcp: said when a tool takes more than 0.7 s, such as \"One moment.\""},
      {"act_within", options.act_within, between(0, 3600),
       "with tools: seconds after your last word; a call with effects that comes later asks first"},
      {"early_calls", options.early_calls, between(0, 100),
       "with tools: calls of those that only read, which may begin while you speak, in a turn"},
      {"early_stable", options.early_stable, between(0, 100),
       "early calls: how many later transcripts, or a pause, must have kept the call in the draft"},
      {"early_seconds", options.early_seconds, between(0, 3600),
       "early calls: how long they may run, all of a turn together"},
      {"early_age", options.early_age, between(0, 86400),
       "early calls: for how many seconds from its beginning a result stands"}};
}

}  // namespace predgen
