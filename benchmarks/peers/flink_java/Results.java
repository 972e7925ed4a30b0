import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.apache.flink.api.common.typeinfo.PrimitiveArrayTypeInfo;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;
import org.apache.kafka.clients.producer.ProducerRecord;

/** Results in the format of Kafka Streams: windowed keys, and counts of eight bytes. */
final class Results {
    static final TypeInformation<Tuple2<byte[], byte[]>> TYPE = Types.TUPLE(
        PrimitiveArrayTypeInfo.BYTE_PRIMITIVE_ARRAY_TYPE_INFO,
        PrimitiveArrayTypeInfo.BYTE_PRIMITIVE_ARRAY_TYPE_INFO);

    private Results() {}

    /** Returns a result; its key is followed by some times. */
    static Tuple2<byte[], byte[]> result(String key, long sum, long... times) {
        byte[] name = key.getBytes(StandardCharsets.UTF_8);
        ByteBuffer whole = ByteBuffer.allocate(name.length + Long.BYTES * times.length).put(name);
        for (long time : times) {
            whole.putLong(time);
        }
        return Tuple2.of(whole.array(), ByteBuffer.allocate(Long.BYTES).putLong(sum).array());
    }

    static final class OfWindow
            extends ProcessWindowFunction<Long, Tuple2<byte[], byte[]>, String, TimeWindow> {
        @Override
        public void process(
                String key, Context context, Iterable<Long> sums, Collector<Tuple2<byte[], byte[]>> out) {
            out.collect(result(key, sums.iterator().next(), context.window().getStart()));
        }
    }

    static final class OfSession
            extends ProcessWindowFunction<Long, Tuple2<byte[], byte[]>, String, TimeWindow> {
        @Override
        public void process(
                String key, Context context, Iterable<Long> sums, Collector<Tuple2<byte[], byte[]>> out) {
            long end = context.window().getEnd() - FlinkBench.SESSION_GAP.toMillis();
            out.collect(result(key, sums.iterator().next(), end, context.window().getStart()));
        }
    }

    static final class Serializer implements KafkaRecordSerializationSchema<Tuple2<byte[], byte[]>> {
        private final String topic;

        Serializer(String topic) {
            this.topic = topic;
        }

        @Override
        public ProducerRecord<byte[], byte[]> serialize(
                Tuple2<byte[], byte[]> result, KafkaSinkContext context, Long time) {
            return new ProducerRecord<>(topic, null, time, result.f0, result.f1);
        }
    }
}
