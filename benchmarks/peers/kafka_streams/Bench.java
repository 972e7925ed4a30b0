import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.function.Predicate;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.Repartitioned;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.WindowedSerdes;
import org.apache.kafka.streams.state.BuiltInDslStoreSuppliers;

/**
 * The workloads in Kafka Streams' DSL, or W4 as a processor; runs until all records are done, or until
 * SIGTERM.
 *
 * <p>BENCH_CACHE: the size of the cache in bytes, empty for the default. BENCH_STORE: "rocksdb" or
 * "memory". BENCH_FETCHES: "default" or "large". BENCH_FORM: "dsl" or "processor".
 */
public final class Bench {
    private static final Map<String, String> ENV = System.getenv();
    private static final ObjectReader CLICKS = new ObjectMapper().readerFor(Click.class);
    private static final boolean PROCESSOR = ENV.get("BENCH_FORM").equals("processor");
    private static final String WORKLOAD = ENV.get("BENCH_WORKLOAD");
    private static final String NUDGES = ENV.get("BENCH_OUTPUT") + "-nudge";
    private static final List<String> INPUTS = List.of(ENV.get("BENCH_INPUTS").split(","));
    private static final long[] SIZES =
        Arrays.stream(ENV.get("BENCH_SIZES").split(",")).mapToLong(Long::parseLong).toArray();

    @JsonIgnoreProperties(ignoreUnknown = true)
    public static final class Click {
        public long amount;
    }

    public static void main(String[] arguments) throws InterruptedException {
        Nudge nudge = WORKLOAD.equals("W6o") ? new Nudge(ENV.get("BENCH_BOOTSTRAP"), NUDGES) : null;
        if (nudge != null) {
            nudge.create();
        }
        StreamsBuilder builder = new StreamsBuilder();
        topology(builder);
        KafkaStreams streams = new KafkaStreams(builder.build(), settings());
        Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(20))));
        streams.start();
        long wanted = Arrays.stream(SIZES).sum();
        long told = 0;
        int quiet = 0;
        while (streams.state() != KafkaStreams.State.ERROR) {
            Thread.sleep(50);
            long done = done(streams);
            if (done > told) {
                System.out.println("progress " + done);
                told = done;
            }
            quiet = done >= wanted && nothingInBetween(streams) ? quiet + 1 : 0;
            if (quiet < 2 || wanted == 0 || PROCESSOR || WORKLOAD.equals("Q3")) {
                continue;
            }
            if (nudge != null) {
                nudge.send();
                nudge = null;
                wanted += Nudge.PARTITIONS;
                continue;
            }
            streams.close(); // writes what is in the cache, as a commit would
            return;
        }
        System.exit(1);
    }

    private static Properties settings() {
        Properties settings = new Properties();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, ENV.get("BENCH_OUTPUT") + "-app");
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, ENV.get("BENCH_BOOTSTRAP"));
        settings.put(StreamsConfig.STATE_DIR_CONFIG, ENV.get("BENCH_HOME"));
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, ENV.get("BENCH_THREADS"));
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, ENV.get("BENCH_GUARANTEE"));
        settings.put("auto.offset.reset", "earliest");
        // The default, of which the documentation says: what a broker is known to have is waited
        // for, so that topics are merged by time. More would wait for what producers have not sent.
        settings.put(StreamsConfig.MAX_TASK_IDLE_MS_CONFIG, "0");
        if (WORKLOAD.equals("Q3")) {
            // What is in the cache goes to the other side of a foreign key when it is committed, and
            // comes back: closing would not wait for it, and 30 seconds would be the time measured.
            settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, "1000");
        }
        if (!ENV.get("BENCH_CACHE").isEmpty()) {
            settings.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, ENV.get("BENCH_CACHE"));
        }
        if (ENV.get("BENCH_STORE").equals("memory")) {
            settings.put(
                StreamsConfig.DSL_STORE_SUPPLIERS_CLASS_CONFIG,
                BuiltInDslStoreSuppliers.InMemoryDslStoreSuppliers.class);
        }
        if (ENV.get("BENCH_FETCHES").equals("large")) {
            settings.put(StreamsConfig.BUFFERED_RECORDS_PER_PARTITION_CONFIG, "10000");
            settings.put(StreamsConfig.mainConsumerPrefix("max.poll.records"), "10000");
            settings.put(StreamsConfig.mainConsumerPrefix("max.partition.fetch.bytes"), "4194304");
            settings.put(StreamsConfig.producerPrefix("batch.size"), "262144");
        }
        return settings;
    }

    private static void topology(StreamsBuilder builder) {
        String output = ENV.get("BENCH_OUTPUT");
        if (INPUTS.size() > 1) {
            new Joins(builder, INPUTS.toArray(String[]::new), output, NUDGES).build(WORKLOAD);
            return;
        }
        KStream<String, byte[]> clicks = builder.stream(
            ENV.get("BENCH_INPUT"), Consumed.with(Serdes.String(), Serdes.ByteArray()));
        int repartitions = switch (WORKLOAD) {
            case "W1R" -> 1;
            case "W1RR" -> 2;
            default -> 0;
        };
        for (int number = 0; number < repartitions; number++) {
            clicks = clicks.repartition(
                Repartitioned.with(Serdes.String(), Serdes.ByteArray()).withName("edge-" + number));
        }
        if (PROCESSOR) {
            clicks.process(new Sessions()).to(output, Produced.with(
                WindowedSerdes.sessionWindowedSerdeFrom(String.class), Serdes.Long()));
            return;
        }
        KGroupedStream<String, byte[]> byUser = clicks.groupByKey();
        switch (WORKLOAD) {
            case "W1", "W1R", "W1RR" -> byUser
                .windowedBy(TimeWindows.ofSizeWithNoGrace(Duration.ofSeconds(10)))
                .count()
                .toStream()
                .to(output, Produced.with(
                    WindowedSerdes.timeWindowedSerdeFrom(String.class, 10_000L), Serdes.Long()));
            case "W2" -> byUser
                .count()
                .toStream()
                .to(output, Produced.with(Serdes.String(), Serdes.Long()));
            case "W3" -> clicks
                .mapValues(Bench::amount) // once for each record, not in each of its six windows
                .groupByKey(Grouped.with(Serdes.String(), Serdes.Long()))
                .windowedBy(TimeWindows.ofSizeWithNoGrace(Duration.ofSeconds(60))
                    .advanceBy(Duration.ofSeconds(10)))
                .aggregate(
                    () -> 0L,
                    (user, amount, sum) -> sum + amount,
                    Materialized.with(Serdes.String(), Serdes.Long()))
                .toStream()
                .to(output, Produced.with(
                    WindowedSerdes.timeWindowedSerdeFrom(String.class, 60_000L), Serdes.Long()));
            case "W4" -> byUser
                .windowedBy(SessionWindows.ofInactivityGapWithNoGrace(Duration.ofSeconds(30)))
                .count()
                .toStream()
                .to(output, Produced.with(
                    WindowedSerdes.sessionWindowedSerdeFrom(String.class), Serdes.Long()));
            default -> throw new IllegalArgumentException(WORKLOAD);
        }
    }

    private static long amount(byte[] click) {
        try {
            return CLICKS.<Click>readValue(click).amount;
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    /** Returns how many records of the inputs have been processed. */
    private static long done(KafkaStreams streams) {
        long processed = records(
            streams, "records-consumed-total", topic -> INPUTS.contains(topic) || topic.equals(NUDGES));
        // A global table is loaded before anything else, and its records are not counted.
        boolean loaded = WORKLOAD.equals("W7") && processed > 0;
        return processed + (loaded ? SIZES[2] : 0);
    }

    /** Tells whether all that was written to topics of its own has been read again. */
    private static boolean nothingInBetween(KafkaStreams streams) {
        Predicate<String> own = topic -> topic.startsWith(ENV.get("BENCH_OUTPUT") + "-app-");
        return records(streams, "records-consumed-total", own)
            == records(streams, "records-produced-total", own);
    }

    private static long records(KafkaStreams streams, String name, Predicate<String> topics) {
        return streams.metrics().values().stream()
            .filter(metric -> metric.metricName().group().equals("stream-topic-metrics"))
            .filter(metric -> metric.metricName().name().equals(name))
            .filter(metric -> topics.test(metric.metricName().tags().get("topic")))
            .mapToLong(metric -> ((Double) metric.metricValue()).longValue())
            .sum();
    }
}
