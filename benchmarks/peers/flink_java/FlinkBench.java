import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.connector.kafka.source.reader.deserializer.KafkaRecordDeserializationSchema;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.WindowAssigner;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;

/**
 * W1 to W5 in Flink's DataStream API, in one process, until SIGTERM.
 *
 * <p>BENCH_STATE: "hashmap" or "rocksdb". BENCH_COMBINING: "true" adds up numbers of a key before the
 * shuffle. BENCH_GUARANTEE: a DeliveryGuarantee.
 */
public final class FlinkBench {
    /** A session here includes a record exactly a gap later; Flink's does not: a millisecond more. */
    static final Duration SESSION_GAP = Duration.ofMillis(30_001);

    private static final Map<String, String> ENV = System.getenv();
    private static final String BOOTSTRAP = ENV.get("BENCH_BOOTSTRAP");
    private static final String OUTPUT = ENV.get("BENCH_OUTPUT");
    private static final String[] INPUTS = ENV.get("BENCH_INPUTS").split(",");
    private static final boolean COMBINING = Boolean.parseBoolean(ENV.get("BENCH_COMBINING"));
    private static final Duration PANE = Duration.ofSeconds(10);

    private final StreamExecutionEnvironment env;

    private FlinkBench(StreamExecutionEnvironment env) {
        this.env = env;
    }

    public static void main(String[] arguments) throws Exception {
        int cores = Runtime.getRuntime().availableProcessors();
        StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(cores, settings());
        DeliveryGuarantee guarantee = DeliveryGuarantee.valueOf(ENV.get("BENCH_GUARANTEE"));
        new FlinkBench(env)
            .results(ENV.get("BENCH_WORKLOAD"))
            .sinkTo(KafkaSink.<Tuple2<byte[], byte[]>>builder()
                .setBootstrapServers(BOOTSTRAP)
                .setRecordSerializer(new Results.Serializer(OUTPUT))
                .setDeliveryGuarantee(guarantee)
                .setTransactionalIdPrefix(OUTPUT)
                .setProperty("transaction.timeout.ms", "600000") // below the broker's maximum
                .build());
        env.execute();
    }

    private static Configuration settings() {
        Configuration settings = new Configuration();
        Path home = Path.of(ENV.get("BENCH_HOME"));
        settings.setString("execution.checkpointing.interval", "1 s");
        settings.setString("execution.checkpointing.storage", "filesystem");
        settings.setString("execution.checkpointing.dir", home.resolve("checkpoints").toUri().toString());
        settings.setString("execution.checkpointing.incremental", "true");
        settings.setString("state.backend.type", ENV.get("BENCH_STATE"));
        settings.setString("state.backend.rocksdb.localdir", home.resolve("rocksdb").toString());
        settings.setString("taskmanager.memory.managed.size", "256m");
        settings.setString("pipeline.object-reuse", "true");
        settings.setString("pipeline.generic-types", "false");
        settings.setString("rest.bind-port", "0");
        return settings;
    }

    private DataStream<Tuple2<byte[], byte[]>> results(String workload) {
        WindowAssigner<Object, TimeWindow> tumbling = TumblingEventTimeWindows.of(PANE);
        return switch (workload) {
            case "W1" -> summed(read(0, new Sources.Ones()), tumbling);
            case "W2" -> byKey(read(0, new Sources.Ones()), Duration.ZERO)
                .process(new RunningSum())
                .returns(Results.TYPE);
            case "W3" -> summed(
                read(0, new Sources.Amounts()), SlidingEventTimeWindows.of(Duration.ofSeconds(60), PANE));
            case "W4" -> read(0, new Sources.Ones())
                .keyBy(one -> one.f0, Types.STRING)
                .window(EventTimeSessionWindows.withGap(SESSION_GAP))
                .aggregate(new Sum(), new Results.OfSession(), Types.LONG, Types.LONG, Results.TYPE);
            case "W5" -> summed(
                read(0, new Sources.Ones())
                    .keyBy(view -> view.f0, Types.STRING)
                    .connect(read(1, new Sources.Regions()).keyBy(user -> user.f0, Types.STRING))
                    .process(new TemporalJoin())
                    .returns(Sources.NUMBER),
                tumbling);
            default -> throw new IllegalArgumentException(workload);
        };
    }

    /** Windows are multiples of panes, so that numbers of a pane may be added up. */
    private static DataStream<Tuple2<byte[], byte[]>> summed(
            DataStream<Tuple2<String, Long>> numbers, WindowAssigner<Object, TimeWindow> windows) {
        return byKey(numbers, PANE)
            .window(windows)
            .aggregate(new Sum(), new Results.OfWindow(), Types.LONG, Types.LONG, Results.TYPE);
    }

    private static KeyedStream<Tuple2<String, Long>, String> byKey(
            DataStream<Tuple2<String, Long>> numbers, Duration pane) {
        DataStream<Tuple2<String, Long>> sums = COMBINING
            ? numbers.transform("combine", Sources.NUMBER, new Combine(pane.toMillis()))
            : numbers;
        return sums.keyBy(number -> number.f0, Types.STRING);
    }

    private <T> DataStream<T> read(int input, KafkaRecordDeserializationSchema<T> schema) {
        KafkaSource<T> source = KafkaSource.<T>builder()
            .setBootstrapServers(BOOTSTRAP)
            .setTopics(INPUTS[input])
            .setGroupId(OUTPUT + "-flink")
            .setStartingOffsets(OffsetsInitializer.earliest())
            .setDeserializer(schema)
            .setProperty("max.poll.records", "5000")
            .setProperty("max.partition.fetch.bytes", "4194304")
            .build();
        return env.fromSource(source, WatermarkStrategy.forMonotonousTimestamps(), INPUTS[input]);
    }

    private static final class Sum implements AggregateFunction<Tuple2<String, Long>, Long, Long> {
        @Override
        public Long createAccumulator() {
            return 0L;
        }

        @Override
        public Long add(Tuple2<String, Long> number, Long sum) {
            return sum + number.f1;
        }

        @Override
        public Long getResult(Long sum) {
            return sum;
        }

        @Override
        public Long merge(Long one, Long other) {
            return one + other;
        }
    }
}
