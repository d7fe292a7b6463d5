#pragma once

#include "core/trace/formats/jsonl.hpp"

namespace mcsim {

// Traces of Mooncake (Qin et al., FAST'25), a serving system for language models. One JSON object a
// line, with the fields
//
//   timestamp (ms), hash_ids: an array of the blocks of 512 tokens of the prompt
//
// Other fields are ignored. Each block is a reference to an object. Hits are of single blocks: a
// cache of prefixes uses a block only if all blocks before it in its request hit.
class MooncakeReader final : public JsonlReader {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{
      "mooncake",
      "Mooncake JSONL: timestamp in ms, hash_ids as objects; hits are of blocks, not of prefixes",
      "Qin et al.: Mooncake (FAST 2025); github.com/kvcache-ai/Mooncake"};

  MooncakeReader(NoParams, ReaderContext context) : JsonlReader(fields(), std::move(context)) {}

  static Guess guess(const Head& head) {
    return guess_by_lines<MooncakeReader>(Fit::kCertain, head);
  }

 private:
  static JsonlReader::Params fields() {
    return {{.time = "timestamp",
             .time_unit = TimeUnit::kMilliseconds,
             .key = "hash_ids",
             .has_own_names = false}};
  }
};

}  // namespace mcsim
