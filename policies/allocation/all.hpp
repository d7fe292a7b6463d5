#pragma once

#include "policies/allocation/baa.hpp"
#include "policies/allocation/bcache.hpp"
#include "policies/allocation/cachecow.hpp"
#include "policies/allocation/centaur.hpp"
#include "policies/allocation/clairvoyant.hpp"
#include "policies/allocation/cloudcache.hpp"
#include "policies/allocation/dm_cache.hpp"
#include "policies/allocation/dm_writecache.hpp"
#include "policies/allocation/dss.hpp"
#include "policies/allocation/eci_cache.hpp"
#include "policies/allocation/edt.hpp"
#include "policies/allocation/exclusive.hpp"
#include "policies/allocation/global_lru.hpp"
#include "policies/allocation/hierarchy.hpp"
#include "policies/allocation/hindsight.hpp"
#include "policies/allocation/hystor.hpp"
#include "policies/allocation/karma.hpp"
#include "policies/allocation/maxperf.hpp"
#include "policies/allocation/mixed_caching.hpp"
#include "policies/allocation/multicache/multicache.hpp"
#include "policies/allocation/multicache/multicache_joint.hpp"
#include "policies/allocation/open_cas.hpp"
#include "policies/allocation/registry.hpp"
#include "policies/allocation/remoca.hpp"
#include "policies/allocation/ri_shares.hpp"
#include "policies/allocation/s_cave.hpp"
#include "policies/allocation/slo.hpp"
#include "policies/allocation/static_partition.hpp"
#include "policies/allocation/steady.hpp"
#include "policies/allocation/thin.hpp"
#include "policies/allocation/vcacheshare.hpp"
#include "policies/allocation/vfrm.hpp"
#include "policies/allocation/zfs_arc.hpp"

namespace mcsim {

// All systems. The registry, the YAML check, the command line, Python, the tests and the
// documentation are derived from this list.
using AllSystems =
    TypeList<GlobalLru, SingleTierLru, Hierarchy, StaticPartition, MultiCache, MultiCacheJoint,
             VCacheShare, RiShares, Centaur, EciCache, Slo, Maxperf, Exclusive, SCave, CloudCache,
             ThinProvisioning, Karma, CacheCow, Baa, Dss, Remoca, MixedCaching, Hystor, Vfrm, Edt,
             Steady, DmCache, DmWritecache, Bcache, OpenCasSystem, ZfsArcSystem, Hindsight,
             Clairvoyant>;

}  // namespace mcsim
