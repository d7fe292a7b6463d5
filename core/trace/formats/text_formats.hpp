#pragma once

#include "core/trace/formats/scsi_commands.hpp"
#include "core/trace/formats/text_format.hpp"

// The table of text formats. Files have no header, unless `header` is set or columns have names.
// Without a column of the VM, the VM is that of the file. A sector has 512 B.
namespace mcsim::text_formats {

using enum ColumnRole;
using LengthUnit::kBytes, LengthUnit::kSectors;
using TimeUnit::kMicroseconds, TimeUnit::kMilliseconds, TimeUnit::kNanoseconds, TimeUnit::kSeconds;

// Alibaba Cloud, io_traces.csv.
inline constexpr TextFormat kAlibaba{
    .info = {"alibaba", "Alibaba block traces: device, R or W, offset, length, time in us",
             "Li et al.: An In-Depth Analysis of Cloud Block Storage Workloads (IISWC 2020)"},
    .columns = {kVm, kOp, kOffset, kLength, {kTime, kMicroseconds}},
    .read = "R",
    .write = "W",
    .has_whole_times = true};

inline constexpr TextFormat kTencent{
    .info = {"tencent", "Tencent block traces: time in s, offset, size in sectors, 0 or 1, volume",
             "Zhang et al.: OSCA (USENIX ATC 2020); SNIA IOTTA 27917"},
    .columns = {{kTime, kSeconds}, {kOffset, kSectors}, {kLength, kSectors}, kOp, kVm},
    .read = "0",
    .write = "1"};

// Disk traces as text. The first column is a version.
inline constexpr TextFormat kCloudPhysics{
    .info = {"cloudphysics",
             "CloudPhysics as CSV: version, time in us, SCSI operation, size, sector",
             "Waldspurger et al.: SHARDS (FAST 2015); data/trace.csv of PyMimircache"},
    .columns = {kIgnored, {kTime, kMicroseconds}, kOp, kLength, {kOffset, kSectors}},
    .read = kScsiReads,
    .write = kScsiWrites,
    .discard = kScsiDiscards,
    .flush = kScsiFlushes,
    .ignored = kScsiIgnored,
    .header = "version,time,op"};

// A virtual desktop infrastructure. Rows without R or W are not requests. The response time may be
// missing. The VM is the LUN.
inline constexpr TextFormat kSystor17{
    .info = {"systor17", "SYSTOR '17: Timestamp, Response, IOType, LUN, Offset, Size",
             "Lee et al.: Understanding Storage Traffic Characteristics on Enterprise Virtual "
             "Desktop Infrastructure (SYSTOR 2017)"},
    .columns = {{kTime, kSeconds}, {kResponse, kSeconds}, kOp, kVm, kOffset, kLength},
    .read = "R",
    .write = "W",
    .where = "3=?*",
    .header = "Timestamp,Response,IOType,"};

// The Storage Performance Council, such as the OLTP and search-engine traces of the UMass Trace
// Repository. The VM is the application storage unit. R and W are in either case.
inline constexpr TextFormat kSpc{
    .info = {"spc", "SPC-1 (UMass): ASU, LBA, size, R or W, time in s",
             "Storage Performance Council: SPC Trace File Format Specification, revision 1.0.1"},
    .columns = {kVm, {kOffset, kSectors}, kLength, kOp, {kTime, kSeconds}},
    .allows_more = true,
    .read = "R",
    .write = "W"};

// FIU SyLab: the process and an MD5 are not used, and the VM is major_minor. In files written by
// pandas, a header numbers the columns and each row begins with its number.
inline constexpr TextFormat kFiu{
    .info = {"fiu",
             "FIU: time in ns, pid, process, sector, size in sectors, R or W, major, minor, MD5",
             "Koller, Rangaswami: I/O Deduplication (FAST 2010)"},
    .delimiter = ' ',
    .columns = {{kTime, kNanoseconds},
                kIgnored,
                kIgnored,
                {kOffset, kSectors},
                {kLength, kSectors},
                kOp,
                kVm,
                kVm,
                kIgnored},
    .read = "R",
    .write = "W",
    .numbered_header = "\t0\t1\t2\t3\t4\t5\t6\t7\t8",
    .has_whole_times = true};

// The Fujitsu K5 cloud service. The VM is the volume.
inline constexpr TextFormat kK5cloud{
    .info = {"k5cloud", "Fujitsu K5: volume, time in s, R or W, offset, length",
             "SNIA IOTTA 26930"},
    .columns = {kVm, {kTime, kSeconds}, kOp, kOffset, kLength},
    .read = "R",
    .write = "W"};

// Synthesized traces of Google's storage servers. start_time is the arrival time of a request.
inline constexpr TextFormat kThesios{
    .info = {"thesios",
             "Google Thesios: filename, file_offset, op_type, request_io_size_bytes, start_time",
             "Phothilimthana et al.: Thesios (ASPLOS 2024); "
             "github.com/google-research-datasets/thesios"},
    .columns = {{kVm, "filename"},
                {kOffset, kBytes, "file_offset"},
                {kOp, "op_type"},
                {kLength, kBytes, "request_io_size_bytes"},
                {kTime, kSeconds, "start_time"},
                {kResponse, kSeconds, "simulated_latency"}},
    .read = "READ",
    .write = "WRITE"};

// DiskSim 4.0: the VM is the device, and bit 0 of the flags is set for reads. Integer times more
// likely come from MQSim.
inline constexpr TextFormat kDisksim{
    .info = {"disksim", "DiskSim ASCII: time in ms, device, block, size in blocks, flags",
             "Bucy et al.: The DiskSim Simulation Environment Version 4.0 Reference Manual (2008)"},
    .delimiter = ' ',
    .columns = {{kTime, kMilliseconds}, kVm, {kOffset, kSectors}, {kLength, kSectors}, kOp},
    .read = "1,3,5,7",
    .write = "0,2,4,6",
    .fit_without_point = Fit::kPossible};

// The VM is the device.
inline constexpr TextFormat kMqsim{
    .info = {"mqsim", "MQSim ASCII: time in ns, device, sector, size in sectors, 0 (write) or 1",
             "Tavakkol et al.: MQSim (FAST 2018); src/exec/ASCII_Trace_Definition.h"},
    .delimiter = ' ',
    .columns = {{kTime, kNanoseconds}, kVm, {kOffset, kSectors}, {kLength, kSectors}, kOp},
    .read = "1",
    .write = "0",
    .has_whole_times = true,
    .has_integer_times = true};

// Block traces reconstructed by TraceTracker, trace.camelab.org.
inline constexpr TextFormat kCamelab{
    .info = {"camelab", "CAMELab: time in s, R or W, sector, size in sectors, response time",
             "Kwon et al.: TraceTracker (IISWC 2017); CamelabTraceReader of Caffeine"},
    .delimiter = ' ',
    .columns = {{kTime, kSeconds}, kOp, {kOffset, kSectors}, {kLength, kSectors}, kIgnored},
    .read = "R",
    .write = "W"};

// The size of an object is that of its key and value.
inline constexpr TextFormat kTwitter{
    .info = {"twitter",
             "Twitter: time in s, key, key size, value size, client, operation, time to live",
             "Yang, Yue, Rashmi: A Large Scale Analysis of Hundreds of In-memory Cache Clusters at "
             "Twitter (OSDI 2020); github.com/twitter/cache-trace"},
    .columns = {{kTime, kSeconds}, kKey, kLength, kLength, kIgnored, kOp, kIgnored},
    .read = "get,gets",
    .write = "set,add,replace,cas,append,prepend,incr,decr",
    .discard = "delete"};

// CacheLib. A row represents op_count requests. The size of an object is that of its key and value.
// Only later traces have times.
inline constexpr TextFormat kMetaKv{
    .info = {"meta-kv", "Meta key-value cache: key, op, size, op_count, key_size",
             "cachelib.org, Cachebench_FB_HW_eval: kvcache traces"},
    .columns = {{kTime, kSeconds, "op_time", ""},
                {kOp, "op"},
                {kLength, "size"},
                {kLength, "key_size"},
                {kKey, "key"},
                {kRepeat, "op_count"}},
    .read = "GET,GET_LEASE",
    .write = "SET,SET_LEASE",
    .discard = "DELETE"};

// The last two columns are a range, but a request is for the whole object. HEAD requests read no
// data and are filtered.
inline constexpr TextFormat kIbmObjectStore{
    .info = {"ibm-object-store", "IBM object store: time in ms, REST request, key, size, range",
             "Eytan et al.: It's Time to Revisit LRU vs. FIFO (HotStorage 2020); SNIA IOTTA 36305"},
    .delimiter = ' ',
    .columns = {{kTime, kMilliseconds}, kOp, kKey, kLength, kIgnored, kIgnored},
    .optional = 3,
    .read = "REST.GET.OBJECT",
    .write = "REST.PUT.OBJECT,REST.COPY.OBJECT",
    .discard = "REST.DELETE.OBJECT",
    .ignored = "REST.HEAD.OBJECT"};

// Accesses to the block cache, as block_cache_trace_analyzer writes them with
// -human_readable_trace_file_path. All lookups are reads of objects, whatever their column family,
// level and caller. A size of 0 is unknown.
inline constexpr TextFormat kRocksdb{
    .info = {"rocksdb",
             "RocksDB block cache trace as CSV: time in us, block id, type, size, and 17 others",
             "github.com/facebook/rocksdb/wiki: Block cache analysis and simulation tools"},
    .columns = {{kTime, kMicroseconds}, kKey, kIgnored, kLength},
    .column_count = 21,
    .has_whole_times = true};

// Traces of images, or of pages: their key is hashed_host_path_query. The response time is that of
// the first byte.
inline constexpr TextFormat kWikimedia{
    .info = {"wikimedia",
             "Wikimedia CDN of 2019: relative_unix, hashed_path_query, response_size, "
             "time_firstbyte",
             "wikitech.wikimedia.org: Analytics/Data Lake/Traffic/Caching"},
    .delimiter = '\t',
    .columns = {{kTime, kSeconds, "relative_unix"},
                {kLength, "response_size"},
                {kKey, "hashed_host_path_query", "hashed_path_query"},
                {kResponse, kSeconds, "time_firstbyte"}}};

// Wikipedia from 2007, with ISO times from 2009. The key is the URL. There are no sizes.
inline constexpr TextFormat kWikibench{
    .info = {"wikibench", "WikiBench: counter, time in s or ISO 8601, URL, - or save",
             "Urdaneta, Pierre, van Steen: Wikipedia Workload Analysis (2009); wikibench.eu"},
    .delimiter = ' ',
    .columns = {kIgnored, {kTime, kSeconds}, kKey, kOp},
    .read = "-",
    .write = "save",
    .may_have_iso_times = true};

}  // namespace mcsim::text_formats
