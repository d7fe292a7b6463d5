#pragma once

#include <map>
#include <string>
#include <string_view>

#include "tests/support/trace_bytes.hpp"

namespace mcsim::testing {

// A valid file of each format, of a few rows, to start mutations from.
inline const std::map<std::string_view, std::string>& format_seeds() {
  static const std::map<std::string_view, std::string> seeds{
      {"msr",
       "128166372003061629,web,0,Read,7014609920,24576,41286\n"
       "128166372016382155,web,1,Write,1317441536,8192,1963\r\n"
       "128166372026382245,web,0,Read,18446744073709500000,4096,1835\n"},
      {"csv",
       "time_ms,vm,op,offset,length,response_us\n1.5,a,read,0,4096,7\n2,\"b\",W,512,0,-1\n"
       "3,a,trim,0,4096,1\n"},
      {"jsonl", "{\"time_s\": 1.5, \"key\": [\"a\", 7]}\n{\"time_s\": 2, \"key\": \"a\"}\n"},
      {"arc",
       "\xef\xbb\xbf"
       "1 1 0 0\n 3050771\t25 0 1\n4503599627370494 1 0 2\n"},
      {"keys", "5\n*\n7\n-4503599627370494\nab\n"},
      {"oracle-general", oracle_record(1, 2, 3, 5) + oracle_record(2, 1ULL << 63, 3, -1)},
      {"vscsi", vscsi_record({.time = 5}) + vscsi_record({.command = 0x42, .time = 6}) +
                    vscsi_record({.command = 0x35, .time = 6})},
      {"lcs", lcs_header(3, 2) + lcs_record(3, {.time = 1, .op = 9, .next = 2}) +
                  lcs_record(3, {.time = 2, .op = 3})},
      {"twr", twr_record(1, 5, 10, 200, 1) + twr_record(2, 5, 10, 0, 9)},
      {"valpin", TraceBytes().add(5, 8).add(~0ULL, 8).add(5, 8).bytes()},
      {"keys-u64-le", TraceBytes().add(5, 8).add(~0ULL, 8).add(5, 8).bytes()},
      {"keys-u64-be", TraceBytes().add_big(5, 8).add_big(~0ULL, 8).add_big(5, 8).bytes()},
      {"keys-u32-le", TraceBytes().add(5, 4).add(70'000, 4).add(5, 4).bytes()},
      {"keys-u32-be", TraceBytes().add_big(5, 4).add_big(70'000, 4).add_big(5, 4).bytes()},
      {"alibaba", "3,R,126703644672,4096,1577808000000046\n3,W,0,16384,1577808000000046\n"},
  };
  return seeds;
}

}  // namespace mcsim::testing
