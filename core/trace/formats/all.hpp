#pragma once

#include "core/base/registry.hpp"
#include "core/trace/formats/alibaba.hpp"
#include "core/trace/formats/arc.hpp"
#include "core/trace/formats/binary.hpp"
#include "core/trace/formats/biosnoop.hpp"
#include "core/trace/formats/blkparse.hpp"
#include "core/trace/formats/blktrace.hpp"
#include "core/trace/formats/camelab.hpp"
#include "core/trace/formats/cloudphysics.hpp"
#include "core/trace/formats/csv.hpp"
#include "core/trace/formats/disksim.hpp"
#include "core/trace/formats/etw.hpp"
#include "core/trace/formats/fio.hpp"
#include "core/trace/formats/fiu.hpp"
#include "core/trace/formats/ibm_object_store.hpp"
#include "core/trace/formats/iotrace.hpp"
#include "core/trace/formats/jsonl.hpp"
#include "core/trace/formats/k5cloud.hpp"
#include "core/trace/formats/key_integers.hpp"
#include "core/trace/formats/keys.hpp"
#include "core/trace/formats/lackey.hpp"
#include "core/trace/formats/lcs.hpp"
#include "core/trace/formats/libcachesim_records.hpp"
#include "core/trace/formats/meta_kv.hpp"
#include "core/trace/formats/mooncake.hpp"
#include "core/trace/formats/mqsim.hpp"
#include "core/trace/formats/msr.hpp"
#include "core/trace/formats/oracle_general.hpp"
#include "core/trace/formats/perf.hpp"
#include "core/trace/formats/rocksdb.hpp"
#include "core/trace/formats/spc.hpp"
#include "core/trace/formats/strace.hpp"
#include "core/trace/formats/systor17.hpp"
#include "core/trace/formats/tectonic.hpp"
#include "core/trace/formats/tencent.hpp"
#include "core/trace/formats/tencent_photo.hpp"
#include "core/trace/formats/thesios.hpp"
#include "core/trace/formats/twitter.hpp"
#include "core/trace/formats/twr.hpp"
#include "core/trace/formats/valpin.hpp"
#include "core/trace/formats/vscsi.hpp"
#include "core/trace/formats/wikibench.hpp"
#include "core/trace/formats/wikimedia.hpp"

namespace mcsim {

// The list of all trace formats. A format derives from RequestReader, or from TextReader if it
// consists of lines, and in addition to the members required by registry.hpp has
//
//   static Guess guess(const Head&);   // whether a file is of this format
using AllFormats =
    TypeList<MsrReader, CsvReader, JsonlReader, ArcReader, KeysReader, OracleGeneralReader,
             VscsiReader, LcsReader, TwrReader, ValpinReader, KeysU64LeReader, KeysU64BeReader,
             KeysU32LeReader, KeysU32BeReader, AlibabaReader, TencentReader, CloudPhysicsReader,
             Systor17Reader, SpcReader, FiuReader, K5cloudReader, ThesiosReader, DisksimReader,
             MqsimReader, CamelabReader, BlkparseReader, BiosnoopReader, FioReader, TwitterReader,
             MetaKvReader, IbmObjectStoreReader, MooncakeReader, BlktraceReader, BinaryReader,
             TwrNsReader, StandardIqiReader, StandardIqqReader, StandardIiiReader,
             StandardIqibhReader, AkamaiReader, Cf1Reader, Wiki16uReader, Wiki19uReader,
             OracleGeneralOpNsReader, OracleSysTwrNsReader, OracleAkamaiReader,
             OracleSimTwrNsReader, OracleCf1Reader, OracleWiki16uReader, OracleWiki19uReader,
             LackeyReader, StraceReader, TectonicReader, EtwReader, IotraceReader, PerfReader,
             RocksdbReader, WikimediaReader, WikibenchReader, TencentPhotoReader>;

}  // namespace mcsim
