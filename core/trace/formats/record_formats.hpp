#pragma once

#include "core/trace/formats/record_format.hpp"

// The table of formats of binary records, little-endian unless the struct begins with >.
namespace mcsim::record_formats {

inline constexpr const char* kIntegers = "integers without any structure";
inline constexpr const char* kLibCacheSim = "Yang, Yue, Rashmi: libCacheSim, customizedReader";
inline constexpr const char* kTwitterTraces =
    "Yang, Yue, Rashmi: A Large Scale Analysis of Hundreds of In-memory Cache Clusters at "
    "Twitter (OSDI 2020)";

inline constexpr RecordFormat kKeysU64Le{
    .info = {"keys-u64-le", "64-bit little-endian integers, each a key", kIntegers},
    .record = "<Q",
    .fields = {.id = 1}};

inline constexpr RecordFormat kKeysU64Be{
    .info = {"keys-u64-be", "64-bit big-endian integers, each a key", kIntegers},
    .record = ">Q",
    .fields = {.id = 1}};

inline constexpr RecordFormat kKeysU32Le{
    .info = {"keys-u32-le", "32-bit little-endian integers, each a key", kIntegers},
    .record = "<I",
    .fields = {.id = 1}};

inline constexpr RecordFormat kKeysU32Be{
    .info = {"keys-u32-be", "32-bit big-endian integers, each a key", kIntegers},
    .record = ">I",
    .fields = {.id = 1}};

inline constexpr RecordFormat kValpin{
    .info = {"valpin", "libCacheSim's valpin: 64-bit little-endian ids",
             "Yang, Yue, Rashmi: libCacheSim, valpin"},
    .record = "<Q",
    .fields = {.id = 1},
    .other_format = "the same records as those of keys-u64-le"};

// The operation is the high byte of the time to live. Decrement is the last operation.
inline constexpr RecordFormat kTwr{
    .info = {"twr", "libCacheSim binary of Twitter: time (s), object id, sizes, operation",
             kTwitterTraces},
    .record = "<IQI3xB",
    .fields = {.time = 1, .id = 2, .size = 3, .op = 4},
    .has_packed_sizes = true,
    .last_op = 11};

inline constexpr RecordFormat kTwrNs{
    .info = {"twr-ns",
             "libCacheSim binary of Twitter: time (s), object id, sizes, operation, namespace",
             kTwitterTraces},
    .record = "<IQI3xBH",
    .fields = {.time = 1, .id = 2, .size = 3, .op = 4},
    .has_packed_sizes = true,
    .last_op = 11};

inline constexpr RecordFormat kStandardIqi{
    .info = {"standard-iqi", "libCacheSim binary: time (s), object id, size (also its wiki19t)",
             kLibCacheSim},
    .record = "<IQI",
    .fields = {.time = 1, .id = 2, .size = 3}};

inline constexpr RecordFormat kStandardIqq{
    .info = {"standard-iqq", "libCacheSim binary: time (s), object id, size of 64 bits",
             kLibCacheSim},
    .record = "<IQQ",
    .fields = {.time = 1, .id = 2, .size = 3}};

inline constexpr RecordFormat kStandardIii{
    .info = {"standard-iii", "libCacheSim binary: time (s), object id of 32 bits, size",
             kLibCacheSim},
    .record = "<III",
    .fields = {.time = 1, .id = 2, .size = 3}};

inline constexpr RecordFormat kStandardIqibh{
    .info = {"standard-iqibh",
             "libCacheSim binary: time (s), object id, size, operation, namespace", kLibCacheSim},
    .record = "<IQIBH",
    .fields = {.time = 1, .id = 2, .size = 3, .op = 4}};

inline constexpr RecordFormat kAkamai{
    .info = {"akamai",
             "libCacheSim binary of Akamai: time (s), object id, size, tenant, bucket, type",
             kLibCacheSim},
    .record = "<IQIHHH",
    .fields = {.time = 1, .id = 2, .size = 3}};

inline constexpr RecordFormat kCf1{
    .info = {"cf1", "libCacheSim binary of a CDN: time (s), object id, size, and nine other fields",
             kLibCacheSim},
    .record = "<IQQiII3H3B",
    .fields = {.time = 1, .id = 2, .size = 3}};

inline constexpr RecordFormat kWiki16u{
    .info = {"wiki16u", "libCacheSim binary of Wikipedia's uploads, 2016: object id, size, type",
             kLibCacheSim},
    .record = "<QIH",
    .fields = {.id = 1, .size = 2}};

inline constexpr RecordFormat kWiki19u{
    .info = {"wiki19u",
             "libCacheSim binary of Wikipedia's uploads, 2019: time (s), object id, size, type",
             kLibCacheSim},
    .record = "<IQIH",
    .fields = {.time = 1, .id = 2, .size = 3}};

inline constexpr RecordFormat kOracleGeneralOpNs{
    .info = {"oracle-general-op-ns",
             "libCacheSim binary: time (s), object id, size, operation, namespace, next access",
             kLibCacheSim},
    .record = "<IQIBHq",
    .fields = {.time = 1, .id = 2, .size = 3, .op = 4, .next = 6}};

inline constexpr RecordFormat kOracleSysTwrNs{
    .info = {"oracle-sys-twr-ns",
             "libCacheSim binary of Twitter: time (s), object id, sizes, operation, next access",
             kLibCacheSim},
    .record = "<IQHIHHiq",
    .fields = {.time = 1, .id = 2, .size = 3, .value = 4, .op = 5, .next = 8}};

inline constexpr RecordFormat kOracleAkamai{
    .info = {"oracle-akamai",
             "libCacheSim binary of Akamai: time (s), object id, size, next access", kLibCacheSim},
    .record = "<IQI3hq",
    .fields = {.time = 1, .id = 2, .size = 3, .next = 7}};

// Differs from oracle-akamai only in unused fields.
inline constexpr RecordFormat kOracleSimTwrNs{
    .info = {"oracle-sim-twr-ns",
             "libCacheSim binary of Twitter: time (s), object id, size, next access", kLibCacheSim},
    .record = "<IQIiHq",
    .fields = {.time = 1, .id = 2, .size = 3, .next = 6},
    .other_format = "the same fields as those of oracle-akamai"};

inline constexpr RecordFormat kOracleCf1{
    .info = {"oracle-cf1", "libCacheSim binary of a CDN: as cf1, and the next access",
             kLibCacheSim},
    .record = "<IQqiIIq3H3B",
    .fields = {.time = 1, .id = 2, .size = 3, .next = 7}};

inline constexpr RecordFormat kOracleWiki16u{
    .info = {"oracle-wiki16u",
             "libCacheSim binary of Wikipedia, 2016: as wiki16u, and the next access",
             kLibCacheSim},
    .record = "<QIHq",
    .fields = {.id = 1, .size = 2, .next = 4}};

inline constexpr RecordFormat kOracleWiki19u{
    .info = {"oracle-wiki19u",
             "libCacheSim binary of Wikipedia, 2019: as wiki19u, and the next access",
             kLibCacheSim},
    .record = "<IQIHq",
    .fields = {.time = 1, .id = 2, .size = 3, .next = 5}};

}  // namespace mcsim::record_formats
