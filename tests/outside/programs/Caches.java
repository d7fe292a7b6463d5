import com.github.benmanes.caffeine.cache.Caffeine;
import com.google.common.cache.CacheBuilder;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongPredicate;
import org.cache2k.Cache2kBuilder;
import org.ehcache.config.builders.CacheConfigurationBuilder;
import org.ehcache.config.builders.CacheManagerBuilder;
import org.ehcache.config.builders.ResourcePoolsBuilder;
import org.ehcache.impl.internal.TimeSourceConfiguration;

/**
 * Replays keys through caches of Java. Each line of standard input has a library, a capacity and a
 * file of keys (64 bits each, little-endian); the answer is a line with the hits.
 */
public final class Caches {
  /** Returns whether a key is cached; it is afterwards. */
  private static LongPredicate made(String library, int size) {
    switch (library) {
      case "caffeine" -> {
        var cache =
            Caffeine.newBuilder().maximumSize(size).executor(Runnable::run).<Long, Long>build();
        return key -> {
          if (cache.getIfPresent(key) != null) return true;
          cache.put(key, key);
          return false;
        };
      }
      case "guava", "guava-1" -> {
        var builder = CacheBuilder.newBuilder().maximumSize(size);
        if (library.equals("guava-1")) builder.concurrencyLevel(1);
        var cache = builder.<Long, Long>build();
        return key -> {
          if (cache.getIfPresent(key) != null) return true;
          cache.put(key, key);
          return false;
        };
      }
      case "cache2k" -> {
        var cache = new Cache2kBuilder<Long, Long>() {}.eternal(true).entryCapacity(size).build();
        return key -> {
          if (cache.peek(key) != null) return true;
          cache.put(key, key);
          return false;
        };
      }
      case "ehcache" -> {
        // A millisecond passes at each access, however fast the machine is.
        var now = new AtomicLong();
        var cache =
            CacheManagerBuilder.newCacheManagerBuilder()
                .using(new TimeSourceConfiguration(now::get))
                .build(true)
                .createCache(
                    "keys",
                    CacheConfigurationBuilder.newCacheConfigurationBuilder(
                        Long.class, Long.class, ResourcePoolsBuilder.heap(size)));
        return key -> {
          now.incrementAndGet();
          if (cache.get(key) != null) return true;
          cache.put(key, key);
          return false;
        };
      }
      default -> throw new IllegalArgumentException(library);
    }
  }

  public static void main(String[] arguments) throws Exception {
    var lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] words = line.split(" ");
      LongPredicate isCached = made(words[0], Integer.parseInt(words[1]));
      LongBuffer keys =
          ByteBuffer.wrap(Files.readAllBytes(Path.of(words[2])))
              .order(ByteOrder.LITTLE_ENDIAN)
              .asLongBuffer();
      int hits = 0;
      while (keys.hasRemaining()) {
        if (isCached.test(keys.get())) hits++;
      }
      System.out.println(hits);
    }
  }
}
