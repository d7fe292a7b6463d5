"""Rules of systems that reproduce a deployed cache, with the files of its source."""

from __future__ import annotations

from collections.abc import Mapping

RULES: Mapping[str, str] = {
    "dm-cache": """\
Rules, and the files of drivers/md that they are from
  dm-cache-target.c      A miss is served by the origin. If it is promoted, the whole block is
                         copied after it. In write-back, a write makes its block dirty.
  dm-cache-target.c      A write of a whole block in write-back, with free space, goes to the
                         cache alone: a promotion, here counted as a miss.
  dm-cache-target.c      A waker comes about once a second. After a second without misses and
                         writes to the origin, it writes all dirty blocks back.
  dm-cache-policy-smq.c  64 levels of blocks. The first hit in a minute raises a block by one.
  dm-cache-policy-smq.c  64 levels of regions of up to 16 blocks, for misses. A miss is promoted
                         if its region reaches level 48, 32 or 0: by the share of misses in
                         regions of level 48 or more, below 1/16, below 1/8, or above.
  dm-cache-policy-smq.c  Without free space, a miss demotes a clean block of levels 0 to 31, or
                         writes back a dirty block untouched for 10 to 20 s. It is not promoted.
  dm-cache-policy-smq.c  Regions are redistributed over their levels every second, blocks every
                         minute.
Not modelled
  Several requests in flight: a machine under load differs. Work in the background ends before
  the next request. A request over several blocks is served block by block. Discards change
  nothing. Reloads, and the traffic of the metadata device, are left out.""",
}
"""By name; `mcsim list` groups these systems as deployed, `mcsim describe` prints the rules."""

ALIASES: Mapping[str, str] = {"lvmcache": "dm-cache"}
"""Other names under which `mcsim describe` finds deployed systems, in lower case."""
