# Bare Debian roots for `./mcsim packages`: layers of overlayfs, cached in build/packages.

# in_root LAYERS COMMAND…: runs a command in a root. LAYERS are folders with colons between them; the
# first is written to. The mounts are private, and end with the command. With OFFLINE=yes there is no
# network, and no variable of the caller.
in_root() {
  local upper=${1%%:*} lower=${1#*:} options=(--mount --fork --kill-child --propagation private)
  rm -rf --one-file-system "$upper.work"
  mkdir -p "$upper" "$upper.work" "$packages/out"
  if [ "${OFFLINE-}" = yes ]; then options+=(--net); fi
  # Objects of before, from this machine's ccache.
  UPPER=$upper LOWER=$lower PACKAGES=$packages OFFLINE=${OFFLINE-} \
    CCACHE=$(ccache --get-config cache_dir) CCACHE_MAXSIZE=$(ccache --get-config max_size) \
    unshare "${options[@]}" bash -euo pipefail -c '
      at=$PACKAGES/root
      mkdir -p "$at"
      mount -t overlay overlay -o "lowerdir=$LOWER,upperdir=$UPPER,workdir=$UPPER.work,volatile" "$at"
      mkdir -p "$at"/{mcsim,out,root/.cache/ccache}
      mount -t proc proc "$at/proc"
      mount --rbind /dev "$at/dev"
      mount --bind "$PACKAGES/source" "$at/mcsim"
      mount --bind "$PACKAGES/out" "$at/out"
      mkdir -p "$CCACHE"
      mount --bind "$CCACHE" "$at/root/.cache/ccache"
      if [ "$OFFLINE" = yes ]; then set -- env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=/root "$@"; fi
      exec chroot "$at" env -u TMPDIR DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"
    ' in_root "${@:2}" </dev/null
}

# cached NAME COMMAND…: makes a folder of the cache, unless it is there.
cached() {
  if [ -e "$packages/$1.made" ]; then return; fi
  rm -rf --one-file-system "${packages:?}/$1" "$packages/$1.work"
  printf 'making %s\n' "$1"
  quietly "$1" "${@:2}"
  touch "$packages/$1.made"
}

# quietly NAME COMMAND…: shows the end of the output if the command fails.
quietly() {
  local log=$packages/$1.log
  "${@:2}" >"$log" 2>&1 || { tail -n 30 "$log" >&2 && printf 'all of it is in %s\n' "$log" >&2 && return 1; }
}

# Debian's smallest root, with the client settings of this machine.
debian() {
  local root=$packages/$1-base
  debootstrap --variant=minbase --include=ca-certificates "$1" "$root"
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
  cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
  if [ -e /etc/pip.conf ]; then cp /etc/pip.conf "$root/etc/"; fi
}

# with_packages CODENAME LAYER PACKAGE…: a layer on the base, with packages of the distribution.
with_packages() {
  in_root "$packages/$1-$2:$packages/$1-base" bash -euc '
    apt-get update
    apt-get install --yes --no-install-recommends "$@"
    apt-get clean' install "${@:3}"
}

# make_roots CODENAME: the root of users, and that of builds.
make_roots() {
  cached "$1-base" debian "$1"
  cached "$1-bare" with_packages "$1" bare python3 python3-venv
  cached "$1-build" with_build_packages "$1" build
}

# with_build_packages CODENAME LAYER PACKAGE…: what `./mcsim` would install, and more.
with_build_packages() {
  local needed
  needed=$(in_root "$packages/run:$packages/$1-base" bash -c 'source <(sed \$d /mcsim/mcsim); missing_packages run')
  # shellcheck disable=SC2086
  with_packages "$1" "$2" $needed "${@:3}"
}
