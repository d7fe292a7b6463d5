#pragma once

#include "core/trace/formats/csv.hpp"

namespace mcsim {

// Key-value cache traces of Meta, from CacheLib. The first line names the columns, among them
//
//   key, op, size (of the value), op_count, key_size
//
// and in later traces op_time (s). A row represents op_count requests. The size of an object is
// that of its key and value.
class MetaKvReader final : public CsvReader {
 public:
  using Params = NoParams;
  static constexpr ComponentInfo kInfo{"meta-kv",
                                       "Meta key-value cache: key, op, size, op_count, key_size",
                                       "cachelib.org, Cachebench_FB_HW_eval: kvcache traces"};

  MetaKvReader(NoParams, ReaderContext context) : CsvReader(columns(""), std::move(context)) {}

  static Guess guess(const Head& head) { return guess_by_lines<MetaKvReader>(Fit::kCertain, head); }

 private:
  void prepare(const std::vector<std::string>& names) override {
    constexpr const char* kTime = "op_time";
    if (std::ranges::find(names, kTime) != names.end()) mapper_ = RowMapper(columns(kTime), this);
  }

  static CsvReader::Params columns(const char* time) {
    return {{.time = time,
             .time_unit = TimeUnit::kSeconds,
             .op = "op",
             .read = "GET,GET_LEASE",
             .write = "SET,SET_LEASE",
             .discard = "DELETE",
             .flush = "",
             .length = "size+key_size",
             .key = "key",
             .repeat = "op_count",
             .has_own_names = false}};
  }
};

}  // namespace mcsim
