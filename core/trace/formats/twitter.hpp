#pragma once

#include "core/trace/formats/layout.hpp"

namespace mcsim {

// Cache traces of Twitter (Yang et al., OSDI'20). Seven columns, no header:
//
//   time (s), key, size of the key, size of the value, client, operation, time to live
//
// The size of an object is that of its key and value.
class TwitterReader final : public LayoutReader<TwitterReader> {
 public:
  static constexpr ComponentInfo kInfo{
      "twitter", "Twitter: time in s, key, key size, value size, client, operation, time to live",
      "Yang, Yue, Rashmi: A Large Scale Analysis of Hundreds of In-memory Cache Clusters at "
      "Twitter (OSDI 2020); github.com/twitter/cache-trace"};

  using LayoutReader::LayoutReader;

  static TextLayout layout() {
    return {.columns = 7,
            .mapping = {.time = "1",
                        .time_unit = TimeUnit::kSeconds,
                        .op = "6",
                        .read = "get,gets",
                        .write = "set,add,replace,cas,append,prepend,incr,decr",
                        .discard = "delete",
                        .flush = "",
                        .length = "3+4",
                        .key = "2"}};
  }
};

}  // namespace mcsim
