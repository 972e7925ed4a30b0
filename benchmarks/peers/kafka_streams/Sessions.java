import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.SessionWindow;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.ProcessorSupplier;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;

/** W4 in the Processor API: one open session for each key; forwards each session once, when it is over. */
final class Sessions implements ProcessorSupplier<String, byte[], Windowed<String>, Long> {
    private static final String NAME = "open-sessions";
    private static final long GAP_MS = 30_000;

    @Override
    public Set<StoreBuilder<?>> stores() {
        return Set.of(Stores
            .keyValueStoreBuilder(Stores.persistentKeyValueStore(NAME), Serdes.String(), Serdes.ByteArray())
            .withCachingEnabled());
    }

    @Override
    public Processor<String, byte[], Windowed<String>, Long> get() {
        return new Counting();
    }

    private record Session(long start, long end, long count) {
        static Session of(byte[] stored) {
            ByteBuffer bytes = ByteBuffer.wrap(stored);
            return new Session(bytes.getLong(), bytes.getLong(), bytes.getLong());
        }

        byte[] bytes() {
            return ByteBuffer.allocate(24).putLong(start).putLong(end).putLong(count).array();
        }
    }

    private static final class Counting implements Processor<String, byte[], Windowed<String>, Long> {
        private ProcessorContext<Windowed<String>, Long> context;
        private KeyValueStore<String, byte[]> open;

        @Override
        public void init(ProcessorContext<Windowed<String>, Long> given) {
            context = given;
            open = given.getStateStore(NAME);
            // By the clock: sessions of many keys end with each record, and all keys are looked through.
            given.schedule(Duration.ofSeconds(1), PunctuationType.WALL_CLOCK_TIME, now -> forwardEnded());
        }

        @Override
        public void process(Record<String, byte[]> click) {
            long time = click.timestamp();
            byte[] stored = open.get(click.key());
            if (stored == null) {
                if (time >= context.currentStreamTimeMs() - GAP_MS) { // else it is late
                    open.put(click.key(), new Session(time, time, 1).bytes());
                }
                return;
            }
            Session before = Session.of(stored);
            if (time < before.start - GAP_MS) {
                return; // late
            }
            Session after = new Session(
                Math.min(before.start, time), Math.max(before.end, time), before.count + 1);
            if (time > before.end + GAP_MS) {
                forward(click.key(), before);
                after = new Session(time, time, 1);
            }
            open.put(click.key(), after.bytes());
        }

        private void forwardEnded() {
            List<String> ended = new ArrayList<>();
            try (KeyValueIterator<String, byte[]> all = open.all()) {
                while (all.hasNext()) {
                    KeyValue<String, byte[]> each = all.next();
                    Session session = Session.of(each.value);
                    if (session.end + GAP_MS < context.currentStreamTimeMs()) {
                        forward(each.key, session);
                        ended.add(each.key);
                    }
                }
            }
            ended.forEach(open::delete);
        }

        private void forward(String key, Session session) {
            Windowed<String> name = new Windowed<>(key, new SessionWindow(session.start, session.end));
            context.forward(new Record<>(name, session.count, session.end));
        }
    }
}
