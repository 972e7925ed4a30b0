import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.hazelcast.config.Config;
import com.hazelcast.core.Hazelcast;
import com.hazelcast.function.FunctionEx;
import com.hazelcast.jet.Util;
import com.hazelcast.jet.aggregate.AggregateOperation1;
import com.hazelcast.jet.aggregate.AggregateOperations;
import com.hazelcast.jet.config.JobConfig;
import com.hazelcast.jet.config.ProcessingGuarantee;
import com.hazelcast.jet.datamodel.KeyedWindowResult;
import com.hazelcast.jet.kafka.KafkaSinks;
import com.hazelcast.jet.kafka.KafkaSources;
import com.hazelcast.jet.pipeline.Pipeline;
import com.hazelcast.jet.pipeline.Sink;
import com.hazelcast.jet.pipeline.StreamStage;
import com.hazelcast.jet.pipeline.WindowDefinition;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** W1 to W4 in Jet's Pipeline API, in one member, until SIGTERM. */
public final class JetBench {
    private static final Map<String, String> ENV = System.getenv();
    private static final int CORES = Runtime.getRuntime().availableProcessors();
    private static final JsonFactory JSON = new JsonFactory();
    /** A session here includes a record exactly a gap later; Jet's does not: a millisecond more. */
    private static final long SESSION_GAP_MS = 30_001;

    private JetBench() {}

    public static void main(String[] arguments) {
        JobConfig settings = new JobConfig()
            .setProcessingGuarantee(ProcessingGuarantee.AT_LEAST_ONCE)
            .setSnapshotIntervalMillis(1000);
        Hazelcast.newHazelcastInstance(member())
            .getJet()
            .newJob(pipeline(ENV.get("BENCH_WORKLOAD")), settings)
            .join();
    }

    private static Config member() {
        Config config = new Config();
        config.setClusterName(ENV.get("BENCH_OUTPUT"));
        config.setProperty("hazelcast.logging.type", "slf4j");
        config.setProperty("hazelcast.phone.home.enabled", "false");
        config.setProperty("hazelcast.socket.bind.any", "false");
        config.setProperty("hazelcast.shutdownhook.policy", "TERMINATE");
        config.getNetworkConfig().getInterfaces().setEnabled(true).addInterface("127.0.0.1");
        config.getNetworkConfig().getJoin().getMulticastConfig().setEnabled(false);
        config.getNetworkConfig().getJoin().getAutoDetectionConfig().setEnabled(false);
        config.getJetConfig().setEnabled(true).setCooperativeThreadCount(CORES).setBackupCount(0);
        return config;
    }

    private static Pipeline pipeline(String workload) {
        Pipeline pipeline = Pipeline.create();
        switch (workload) {
            case "W1" -> windows(
                read(pipeline, JetBench::key),
                FunctionEx.identity(),
                WindowDefinition.tumbling(10_000),
                AggregateOperations.counting());
            case "W2" -> read(pipeline, JetBench::key)
                .groupingKey(FunctionEx.identity())
                .rollingAggregate(AggregateOperations.counting())
                .setLocalParallelism(CORES)
                .writeTo(KafkaSinks.<Map.Entry<String, Long>, byte[], byte[]>kafka(
                    producer(),
                    ENV.get("BENCH_OUTPUT"),
                    total -> bytes(total.getKey()),
                    total -> int64(total.getValue())))
                .setLocalParallelism(1); // two would write the totals of a key in another order
            case "W3" -> windows(
                read(pipeline, click -> Util.entry(key(click), amount(click.value()))),
                Map.Entry::getKey,
                WindowDefinition.sliding(60_000, 10_000),
                AggregateOperations.summingLong(Map.Entry::getValue));
            case "W4" -> windows(
                read(pipeline, JetBench::key),
                FunctionEx.identity(),
                WindowDefinition.session(SESSION_GAP_MS),
                AggregateOperations.counting());
            default -> throw new IllegalArgumentException(workload);
        }
        return pipeline;
    }

    private static <T> StreamStage<T> read(
            Pipeline pipeline, FunctionEx<ConsumerRecord<byte[], byte[]>, T> projection) {
        return pipeline
            .readFrom(KafkaSources.<byte[], byte[], T>kafka(consumer(), projection, ENV.get("BENCH_INPUT")))
            .withNativeTimestamps(0)
            .setLocalParallelism(CORES);
    }

    private static <T> void windows(
            StreamStage<T> records,
            FunctionEx<T, String> key,
            WindowDefinition windows,
            AggregateOperation1<? super T, ?, Long> aggregate) {
        boolean sessions = ENV.get("BENCH_WORKLOAD").equals("W4");
        Sink<KeyedWindowResult<String, Long>> sink = KafkaSinks.kafka(
            producer(),
            ENV.get("BENCH_OUTPUT"),
            result -> sessions
                ? bytes(result.key(), result.end() - SESSION_GAP_MS, result.start())
                : bytes(result.key(), result.start()),
            result -> int64(result.result()));
        records
            .groupingKey(key)
            .window(windows)
            .aggregate(aggregate)
            .setLocalParallelism(CORES)
            .writeTo(sink)
            .setLocalParallelism(CORES);
    }

    private static String key(ConsumerRecord<byte[], byte[]> record) {
        return new String(record.key(), StandardCharsets.UTF_8);
    }

    private static long amount(byte[] click) throws IOException {
        try (JsonParser json = JSON.createParser(click)) {
            json.nextToken();
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                boolean found = json.currentName().equals("amount");
                json.nextToken();
                if (found) {
                    return json.getLongValue();
                }
            }
        }
        throw new IOException("no amount");
    }

    /** Returns the key of a result, as in Kafka Streams: followed by times. */
    private static byte[] bytes(String key, long... times) {
        byte[] name = key.getBytes(StandardCharsets.UTF_8);
        ByteBuffer whole = ByteBuffer.allocate(name.length + Long.BYTES * times.length).put(name);
        for (long time : times) {
            whole.putLong(time);
        }
        return whole.array();
    }

    private static byte[] int64(long value) {
        return ByteBuffer.allocate(Long.BYTES).putLong(value).array();
    }

    private static Properties consumer() {
        Properties given = new Properties();
        given.put("bootstrap.servers", ENV.get("BENCH_BOOTSTRAP"));
        given.put("key.deserializer", ByteArrayDeserializer.class.getName());
        given.put("value.deserializer", ByteArrayDeserializer.class.getName());
        given.put("auto.offset.reset", "earliest");
        given.put("max.poll.records", "5000");
        given.put("max.partition.fetch.bytes", "4194304");
        return given;
    }

    private static Properties producer() {
        Properties given = new Properties();
        given.put("bootstrap.servers", ENV.get("BENCH_BOOTSTRAP"));
        given.put("key.serializer", ByteArraySerializer.class.getName());
        given.put("value.serializer", ByteArraySerializer.class.getName());
        given.put("linger.ms", "5");
        return given;
    }
}
