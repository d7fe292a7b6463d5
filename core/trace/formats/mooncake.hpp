#pragma once

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "core/trace/formats/jsonl.hpp"

namespace mcsim {

// Traces of Mooncake (Qin et al., FAST'25), a serving system for language models. One JSON object a
// line, with the fields
//
//   timestamp (ms), hash_ids: an array of the blocks of 512 tokens of the prompt
//
// Other fields are ignored. Each block is a reference to an object. Hits are of single blocks: a
// cache of prefixes uses a block only if all blocks before it in its request hit. Traces of
// Qwen-Bailian have timestamps in seconds; their field chat_id shows it. Times in milliseconds are
// whole.
class MooncakeReader final : public JsonlReader {
 public:
  struct Params {
    TimeUnit time_unit = TimeUnit::kByName;
    static constexpr auto fields() {
      return std::tuple{Field{"time_unit", &Params::time_unit,
                              "what the timestamp counts; by default ms, and s beside chat_id"}};
    }
  };
  static constexpr ComponentInfo kInfo{
      "mooncake",
      "Mooncake JSONL: timestamp in ms (Qwen-Bailian: s), hash_ids as objects; hits are of blocks, "
      "not of prefixes",
      "Qin et al.: Mooncake (FAST 2025); github.com/kvcache-ai/Mooncake"};

  MooncakeReader(Params params, ReaderContext context)
      : JsonlReader(fields(params.time_unit), std::move(context)) {}

  static Guess guess(const Head& head) {
    return guess_by_lines<MooncakeReader>(Fit::kCertain, head);
  }

 private:
  static JsonlReader::Params fields(TimeUnit time_unit) {
    return {
        {.time = "timestamp", .time_unit = time_unit, .key = "hash_ids", .has_own_names = false}};
  }

  void prepare(std::vector<std::string>& names) override {
    ColumnMapping& mapping = mapper_.mapping();
    if (mapping.time_unit != TimeUnit::kByName) return;
    const bool is_qwen = std::ranges::count(names, "chat_id") > 0;
    mapping.time_unit = is_qwen ? TimeUnit::kSeconds : TimeUnit::kMilliseconds;
    mapping.has_whole_times = !is_qwen;
  }
};

}  // namespace mcsim
