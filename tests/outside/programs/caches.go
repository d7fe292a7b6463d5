// Command caches replays keys through caches of Go. Each line of standard input has a library, a
// capacity and a file of keys (64 bits each, little-endian); the answer is a line with the hits.
package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"

	"github.com/Yiling-J/theine-go"
	"github.com/dgraph-io/ristretto/v2"
	"github.com/golang/groupcache/lru"
	"github.com/hashicorp/golang-lru/arc/v2"
	golang "github.com/hashicorp/golang-lru/v2"
	"github.com/maypok86/otter/v2"
)

type cache interface {
	has(key uint64) bool
	put(key uint64)
}

type lruCache struct{ *golang.Cache[uint64, bool] }

func (c lruCache) has(key uint64) bool { _, found := c.Get(key); return found }
func (c lruCache) put(key uint64)      { c.Add(key, true) }

type twoQueues struct {
	*golang.TwoQueueCache[uint64, bool]
}

func (c twoQueues) has(key uint64) bool { _, found := c.Get(key); return found }
func (c twoQueues) put(key uint64)      { c.Add(key, true) }

type arcCache struct{ *arc.ARCCache[uint64, bool] }

func (c arcCache) has(key uint64) bool { _, found := c.Get(key); return found }
func (c arcCache) put(key uint64)      { c.Add(key, true) }

type group struct{ *lru.Cache }

func (c group) has(key uint64) bool { _, found := c.Get(key); return found }
func (c group) put(key uint64)      { c.Add(key, true) }

type otterCache struct{ *otter.Cache[uint64, bool] }

func (c otterCache) has(key uint64) bool { _, found := c.GetIfPresent(key); return found }
func (c otterCache) put(key uint64)      { c.Set(key, true) }

// Waits until the policy has been notified of each insertion.
type theineCache struct {
	*theine.Cache[uint64, bool]
}

func (c theineCache) has(key uint64) bool { _, found := c.Get(key); return found }
func (c theineCache) put(key uint64) {
	c.Set(key, true, 1)
	c.Wait()
}

// Waits until the policy has been notified of each insertion.
type ristrettoCache struct {
	*ristretto.Cache[uint64, bool]
}

func (c ristrettoCache) has(key uint64) bool { _, found := c.Get(key); return found }
func (c ristrettoCache) put(key uint64) {
	c.Set(key, true, 1)
	c.Wait()
}

func made(library string, size int) (cache, error) {
	switch library {
	case "golang-lru":
		c, err := golang.New[uint64, bool](size)
		return lruCache{c}, err
	case "golang-lru-2q":
		c, err := golang.New2Q[uint64, bool](size)
		return twoQueues{c}, err
	case "golang-lru-arc":
		c, err := arc.NewARC[uint64, bool](size)
		return arcCache{c}, err
	case "groupcache":
		return group{lru.New(size)}, nil
	case "otter":
		c, err := otter.New(&otter.Options[uint64, bool]{
			MaximumSize: size,
			Executor:    func(task func()) { task() },
		})
		return otterCache{c}, err
	case "theine-go":
		c, err := theine.NewBuilder[uint64, bool](int64(size)).Build()
		return theineCache{c}, err
	case "ristretto":
		c, err := ristretto.NewCache(&ristretto.Config[uint64, bool]{
			NumCounters:        10 * int64(size),
			MaxCost:            int64(size),
			BufferItems:        64,
			IgnoreInternalCost: true,
		})
		return ristrettoCache{c}, err
	}
	return nil, fmt.Errorf("no library %s", library)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	runtime.GOMAXPROCS(2) // the number of buffers depends on it
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var library, file string
		var size int
		_, err := fmt.Sscan(lines.Text(), &library, &size, &file)
		check(err)
		content, err := os.ReadFile(file)
		check(err)
		c, err := made(library, size)
		check(err)
		hits := 0
		for ; len(content) > 0; content = content[8:] {
			if key := binary.LittleEndian.Uint64(content); c.has(key) {
				hits++
			} else {
				c.put(key)
			}
		}
		fmt.Println(hits)
	}
}
