import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * One more record a partition when all others are done.
 *
 * <p>An outer join looks for what has no partner at a new record, and at most once a second of the
 * clock: what the last records of the input have closed would wait for ever.
 */
final class Nudge {
    static final int PARTITIONS = 4;
    private static final byte[] KEY = "~end-nudge".getBytes(StandardCharsets.UTF_8);
    private static final byte[] VALUE = "{\"cost\":0,\"at\":0}".getBytes(StandardCharsets.UTF_8);

    private final Map<String, Object> broker;
    private final String topic;

    Nudge(String bootstrap, String topic) {
        this.broker = Map.of("bootstrap.servers", bootstrap);
        this.topic = topic;
    }

    void create() {
        try (Admin admin = Admin.create(broker)) {
            admin.createTopics(List.of(new NewTopic(topic, PARTITIONS, (short) 1))).all().get();
        } catch (InterruptedException | ExecutionException failure) {
            throw new IllegalStateException(failure);
        }
    }

    void send() throws InterruptedException {
        Thread.sleep(1000);
        try (Producer<byte[], byte[]> producer =
            new KafkaProducer<>(broker, new ByteArraySerializer(), new ByteArraySerializer())) {
            long now = System.currentTimeMillis(); // later than all other records
            for (int partition = 0; partition < PARTITIONS; partition++) {
                producer.send(new ProducerRecord<>(topic, partition, now, KEY, VALUE));
            }
        }
    }
}
