/* Preloaded into a process, lets the n-th of some calls fail: those on files below a folder, or
 * allocations between two moments. tests/faults/faults.py says which by `mcsim_fail`. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static char kind[16];
static char below[4096];
static int error_number;
static atomic_long left; /* the call that fails, from 1; below 1 none does any more */
static atomic_long calls;

/* Lets the n-th call of a kind ("write", "fsync", "rename", "open", "mkdir", "malloc") fail. */
void mcsim_fail(const char* which, long n, const char* folder, int number) {
  atomic_store(&left, 0);
  snprintf(kind, sizeof kind, "%s", which);
  snprintf(below, sizeof below, "%s", folder);
  error_number = number;
  atomic_store(&calls, 0);
  atomic_store(&left, n);
}

long mcsim_calls(void) { return atomic_load(&calls); }

static int fails(const char* which) {
  if (kind[0] != which[0] || strcmp(kind, which) != 0) return 0;
  atomic_fetch_add(&calls, 1);
  if (atomic_fetch_sub(&left, 1) != 1) return 0;
  errno = error_number;
  return 1;
}

static int is_below(const char* path) {
  return kind[0] && path && strncmp(path, below, strlen(below)) == 0;
}

static int file_fails(const char* which, int file) {
  char link[64], path[4096];
  if (strcmp(kind, which) != 0) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return is_below(path) && fails(which);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int file, const void* data, size_t size) {
  return file_fails("write", file) ? -1 : NEXT(write)(file, data, size);
}

ssize_t pwrite(int file, const void* data, size_t size, off_t at) {
  return file_fails("write", file) ? -1 : NEXT(pwrite)(file, data, size, at);
}

ssize_t pwrite64(int file, const void* data, size_t size, off64_t at) {
  return file_fails("write", file) ? -1 : NEXT(pwrite64)(file, data, size, at);
}

ssize_t writev(int file, const struct iovec* pieces, int count) {
  return file_fails("write", file) ? -1 : NEXT(writev)(file, pieces, count);
}

int fsync(int file) { return file_fails("fsync", file) ? -1 : NEXT(fsync)(file); }

int fdatasync(int file) { return file_fails("fsync", file) ? -1 : NEXT(fdatasync)(file); }

int rename(const char* from, const char* to) {
  return is_below(from) && fails("rename") ? -1 : NEXT(rename)(from, to);
}

int mkdir(const char* path, mode_t mode) {
  return is_below(path) && fails("mkdir") ? -1 : NEXT(mkdir)(path, mode);
}

static int open_fails(const char* path, int flags) {
  return (flags & O_CREAT) && is_below(path) && fails("open");
}

int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
  va_end(more);
  return open_fails(path, flags) ? -1 : NEXT(open64)(path, flags, mode);
}

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
  va_end(more);
  return open_fails(path, flags) ? -1 : NEXT(open)(path, flags, mode);
}

/* Nothing of mcsim's locks a file: file systems that hosts share may refuse to. */
int flock(int file, int operation) {
  (void)operation;
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length > 0) path[length] = 0;
  fprintf(stderr, "flock of %s\n", length > 0 ? path : "?");
  errno = ENOLCK;
  return -1;
}

/* glibc's own: dlsym allocates, and would come back here. */
extern void* __libc_malloc(size_t size);
extern void* __libc_calloc(size_t count, size_t size);
extern void* __libc_realloc(void* of, size_t size);

void* malloc(size_t size) { return fails("malloc") ? NULL : __libc_malloc(size); }

void* calloc(size_t count, size_t size) {
  return fails("malloc") ? NULL : __libc_calloc(count, size);
}

void* realloc(void* of, size_t size) { return fails("malloc") ? NULL : __libc_realloc(of, size); }
