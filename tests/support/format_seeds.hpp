#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/base/params.hpp"
#include "tests/support/trace_bytes.hpp"

namespace mcsim::testing {

// Parameters that the seed of a format needs.
inline ParamMap seed_params(std::string_view format) {
  if (format != "binary") return {};
  return {{"record", std::string("<IQIB")}, {"time", std::string("1")},
          {"time_unit", std::string("s")},  {"key", std::string("2")},
          {"length", std::string("3")},     {"op", std::string("4")},
          {"read", std::string("1")},       {"write", std::string("3")}};
}

inline std::string libcachesim_seed(const std::string& format) {
  return libcachesim_record(format, {.time = 1, .id = 7, .next = 3}) +
         libcachesim_record(format, {.time = 2, .id = 9, .op = 3}) +
         libcachesim_record(format, {.time = 3, .id = 7}) +
         libcachesim_record(format, {.time = 3, .id = 8});
}

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
      {"twr-ns", twr_ns_record(1, 5, 10, 200, 1) + twr_ns_record(2, 5, 10, 0, 9)},
      {"standard-iqi", libcachesim_seed("standard-iqi")},
      {"standard-iqq", libcachesim_seed("standard-iqq")},
      {"standard-iii", libcachesim_seed("standard-iii")},
      {"standard-iqibh", libcachesim_seed("standard-iqibh")},
      {"akamai", libcachesim_seed("akamai")},
      {"cf1", libcachesim_seed("cf1")},
      {"wiki16u", libcachesim_seed("wiki16u")},
      {"wiki19u", libcachesim_seed("wiki19u")},
      {"oracle-general-op-ns", libcachesim_seed("oracle-general-op-ns")},
      {"oracle-sys-twr-ns", libcachesim_seed("oracle-sys-twr-ns")},
      {"oracle-akamai", libcachesim_seed("oracle-akamai")},
      {"oracle-sim-twr-ns", libcachesim_seed("oracle-sim-twr-ns")},
      {"oracle-cf1", libcachesim_seed("oracle-cf1")},
      {"oracle-wiki16u", libcachesim_seed("oracle-wiki16u")},
      {"oracle-wiki19u", libcachesim_seed("oracle-wiki19u")},
      {"blktrace", blktrace_event({.time = 5, .data = "ab"}) +
                       blktrace_event({.time = 6, .bytes = 0, .categories = 4 | 16}) +
                       blktrace_event({.time = 4, .event = 2, .categories = 1 << 10})},
      {"binary", libcachesim_record("standard-iqi", {.time = 1, .id = 7}) + "\1" +
                     libcachesim_record("standard-iqi", {.time = 2, .id = 9}) + "\3"},
      {"valpin", TraceBytes().add(5, 8).add(~0ULL, 8).add(5, 8).bytes()},
      {"keys-u64-le", TraceBytes().add(5, 8).add(~0ULL, 8).add(5, 8).bytes()},
      {"keys-u64-be", TraceBytes().add_big(5, 8).add_big(~0ULL, 8).add_big(5, 8).bytes()},
      {"keys-u32-le", TraceBytes().add(5, 4).add(70'000, 4).add(5, 4).bytes()},
      {"keys-u32-be", TraceBytes().add_big(5, 4).add_big(70'000, 4).add_big(5, 4).bytes()},
      {"alibaba", "3,R,126703644672,4096,1577808000000046\n3,W,0,16384,1577808000000046\n"},
      {"tencent", "1538409600,12918952,128,0,21\n1538409600,8,8,1,22\n"},
      {"cloudphysics",
       "version,time,op,size,lbn\n1,5633898368802,2a,512,42932745\n2,5633898368803,35,0,0\n"},
      {"systor17",
       "Timestamp,Response,IOType,LUN,Offset,Size\n1.5,0.001,W,0,4096,4096\n"
       "1.6,,,0,4096,4096\n1.7,,R,4,0,512\n"},
      {"spc", "0,1000,8192,W,0.551,Site/A\n0,1016,4096,r,0.554\n"},
      {"fiu", "1 4253 nfsd 508455704 8 W 6 0 88b9\n2 4253 nfsd 508455712 8 R 6 0 b5e9\n"},
      {"k5cloud", "12,1538323200.1,R,4096,8192\n13,1538323200.2,W,4096,4096\n"},
      {"thesios",
       "filename,file_offset,op_type,request_io_size_bytes,start_time,simulated_latency\n"
       "a1b2,0,READ,4096,1700000100.5,0.0045\na1b2,8192,WRITE,8192,1700000101.5,\n"},
      {"disksim", "0.000000 0 1000 8 1\n0.512000 1 1008 8 0\n"},
      {"mqsim", "11413000 0 657728 16 1\n11565000 1 31244784 64 0\n"},
      {"camelab", "0.000100 R 1000 8 0.1\n0.000200 W 1008 8 0.1\n"},
      {"blkparse",
       "  8,0    1        1     0.000000000   661  Q   R 1000 + 8 [fio]\n"
       "  8,0    1        2     1.200000000   661  Q FWFSM [jbd2/sda1-8]\n"
       "  8,0    1        3     1.300000000   661  Q   D 2000 + 8 [a b]\nCPU0 (8,0):\n"},
      {"biosnoop",
       "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n"
       "0.0 fio 2501 sda R 1000 4096 0.17\n0.1 a b 31 sda FF 0 0 0.60\n"},
      {"fio", "fio version 2 iolog\na add\na write 0 16384\na trim 0 4096\na sync 0 0\n"},
      {"twitter",
       "0,user:17,15,213,4,get,0\n1,user:17,15,213,8,set,86400\n"
       "1,user:17,15,213,4,delete,0\n"},
      {"meta-kv", "key,op,size,op_count,key_size\n1668757755,SET,82,1,40\n7,GET,169,18,78\n"},
      {"ibm-object-store",
       "0 REST.PUT.OBJECT a1 1056\n103 REST.GET.OBJECT a1 1056 0 1055\n"
       "529 REST.DELETE.OBJECT a1\n530 REST.HEAD.OBJECT a1 1056\n"},
      {"mooncake",
       "{\"timestamp\": 0, \"hash_ids\": [0, 1, 2]}\n"
       "{\"timestamp\": 1000, \"hash_ids\": []}\n{\"hash_ids\":[3],\"timestamp\":2000}\n"},
      {"iotrace",
       "{\"header\":{\"sid\":\"1\",\"timestamp\":\"7\"},\"io\":{\"lba\":\"80\",\"len\":8,"
       "\"operation\":"
       "\"Write\"},\"device\":{\"name\":\"sda\"}}\n"
       "{\"header\":{\"timestamp\":\"8\"},\"io\":{\"flush\":true},\"device\":{\"name\":\"sda\"}}\n"
       "{\"header\":{\"timestamp\":\"9\"},\"io\":{\"len\":8},\"device\":{\"name\":\"sda\"}}\n"},
      {"perf",
       "fio 7 [000] 1.5: block:block_rq_issue: 8,0 W 4096 () 80 + 8 [fio]\n"
       "a b 7/7 [000] 1.6: block:block_rq_issue: 8,0 FF 0 () 18446744073709551615 + 0 [a b]\n"
       "fio 7 [000] 1.7: block:block_rq_complete: 8,0 W () 80 + 8 [0]\n"},
      {"rocksdb",
       "1600000000000000,1,9,4096,0,default,2,8,1,0,0,0,0,1,1,10,3,1,20,16,0\n"
       "1600000000000001,2,7,0,0,default,2,8,1,0,0,0,0,0,0,0,3,2,20,0,4096\n"},
      {"lackey", "==7== Lackey\nI  04222c44,3\n S 1ffefff2f8,8\n L 04222c5c,4\n M 1ffefff2f8,8\n"},
      {"strace",
       "7 1.5 openat(AT_FDCWD</>, \"a.db\", O_RDWR) = 3</a.db> <0.000010>\n"
       "7 1.6 read(3</a.db>, \"\\0(\"..., 4096) = 4096 <0.000020>\n"
       "7 1.7 clone(child_stack=NULL, flags=SIGCHLD) = 8\n"
       "8 1.8 pwrite64(3</a.db>, \"x\", 1, 512 <unfinished ...>\n7 1.9 fsync(3</a.db>) = 0\n"
       "8 2.0 <... pwrite64 resumed>) = 1\n8 2.1 +++ exited with 0 +++\n"},
      {"tectonic",
       "# block_id io_offset io_size op_time op_name user_namespace user_name rs_shard_id op_count "
       "host_name\n123 0 131072 1600000000.5 1 10 20 0 3 7\n124 4096 512 1600000001 3 10 20 1 1 "
       "7\n"},
      {"etw",
       "BeginHeader\n  DiskRead,  TimeStamp\nEndHeader\n"
       "  DiskRead, 10, a.exe ( 4), 1, 0xff, 0x1000, 0x00000200, 30, 0, 0x43, 30, Normal\n"
       "  DiskWrite, 20, a.exe ( 4), 1, 0xff, 0x2000, 0x00000200, 30, 1\n"},
      {"wikimedia",
       "relative_unix\thashed_host_path_query\tresponse_size\ttime_firstbyte\n"
       "0\t1714473446\t20546\t2.8E-4\n1\t-889152392\t17446\t0.1\n"},
      {"wikibench",
       "1 1190146243.303 http://en.wikipedia.org/wiki/A -\n"
       "2 1190146243.304 http://en.wikipedia.org/wiki/A save\n"},
      {"tencent-photo",
       "20160201164559 1f5c 0 l 33136 1 PHONE 0\n20160201164600 1f5c 5 a 3263749 0 PC 12\n"},
  };
  return seeds;
}

}  // namespace mcsim::testing
