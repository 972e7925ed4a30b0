import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.connector.kafka.source.reader.deserializer.KafkaRecordDeserializationSchema;
import org.apache.flink.util.Collector;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** Reads keys, each with the one field that a workload needs. */
final class Sources {
    static final TypeInformation<Tuple2<String, Long>> NUMBER = Types.TUPLE(Types.STRING, Types.LONG);
    static final TypeInformation<Tuple2<String, String>> TEXT = Types.TUPLE(Types.STRING, Types.STRING);

    private Sources() {}

    private static String key(ConsumerRecord<byte[], byte[]> record) {
        return new String(record.key(), StandardCharsets.UTF_8);
    }

    /** A key and 1. */
    static final class Ones implements KafkaRecordDeserializationSchema<Tuple2<String, Long>> {
        @Override
        public void deserialize(ConsumerRecord<byte[], byte[]> record, Collector<Tuple2<String, Long>> out) {
            out.collect(Tuple2.of(key(record), 1L));
        }

        @Override
        public TypeInformation<Tuple2<String, Long>> getProducedType() {
            return NUMBER;
        }
    }

    /** A key and the amount of a click. */
    static final class Amounts implements KafkaRecordDeserializationSchema<Tuple2<String, Long>> {
        private static final JsonFactory JSON = new JsonFactory();

        @Override
        public void deserialize(ConsumerRecord<byte[], byte[]> record, Collector<Tuple2<String, Long>> out)
                throws IOException {
            try (JsonParser json = at("amount", JSON, record.value())) {
                out.collect(Tuple2.of(key(record), json.getLongValue()));
            }
        }

        @Override
        public TypeInformation<Tuple2<String, Long>> getProducedType() {
            return NUMBER;
        }
    }

    /** A key and the region of a user. */
    static final class Regions implements KafkaRecordDeserializationSchema<Tuple2<String, String>> {
        private static final JsonFactory JSON = new JsonFactory();

        @Override
        public void deserialize(ConsumerRecord<byte[], byte[]> record, Collector<Tuple2<String, String>> out)
                throws IOException {
            try (JsonParser json = at("region", JSON, record.value())) {
                out.collect(Tuple2.of(key(record), json.getText()));
            }
        }

        @Override
        public TypeInformation<Tuple2<String, String>> getProducedType() {
            return TEXT;
        }
    }

    /** Returns a parser at the value of a field; the fields after it are not read. */
    private static JsonParser at(String field, JsonFactory factory, byte[] value) throws IOException {
        JsonParser json = factory.createParser(value);
        json.nextToken();
        while (json.nextToken() == JsonToken.FIELD_NAME) {
            boolean found = json.currentName().equals(field);
            json.nextToken();
            if (found) {
                return json;
            }
            json.skipChildren();
        }
        throw new IOException("no field " + field);
    }
}
