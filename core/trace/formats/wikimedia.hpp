#pragma once

#include <algorithm>

#include "core/trace/formats/csv.hpp"

namespace mcsim {

// Wikimedia CDN traces of 2019. The first line names the columns of pages or of images, separated
// by tabs:
//
//   relative_unix (s), hashed_host_path_query, response_size (bytes), time_firstbyte (s)
//   relative_unix (s), hashed_path_query, image_type, response_size (bytes), time_firstbyte (s)
//
// The key is the hash, and the response time is that of the first byte.
class WikimediaReader final : public CsvReader {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{
      "wikimedia",
      "Wikimedia CDN of 2019: relative_unix, hashed_path_query, response_size, time_firstbyte",
      "wikitech.wikimedia.org: Analytics/Data Lake/Traffic/Caching"};

  WikimediaReader(NoParams, ReaderContext context)
      : CsvReader(columns(kImageKey), std::move(context)) {}

  static Guess guess(const Head& head) {
    return guess_by_lines<WikimediaReader>(Fit::kCertain, head);
  }

 private:
  static constexpr const char* kImageKey = "hashed_path_query";
  static constexpr const char* kPageKey = "hashed_host_path_query";

  void prepare(const std::vector<std::string>& names) override {
    if (std::ranges::find(names, kPageKey) != names.end()) {
      mapper_ = RowMapper(columns(kPageKey), this);
    }
  }

  static CsvReader::Params columns(const char* key) {
    return {{.time = "relative_unix",
             .time_unit = TimeUnit::kSeconds,
             .length = "response_size",
             .key = key,
             .response = "time_firstbyte",
             .response_unit = TimeUnit::kSeconds,
             .has_own_names = false},
            "\t"};
  }
};

}  // namespace mcsim
