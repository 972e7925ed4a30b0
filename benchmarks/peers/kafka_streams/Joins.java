import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Set;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.GlobalKTable;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.StreamJoined;
import org.apache.kafka.streams.kstream.TableJoined;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.WindowedSerdes;

/** The workloads that read several topics, in the DSL. */
final class Joins {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Serde<String> TEXT = Serdes.String();
    private static final Duration SIZE = Duration.ofSeconds(10);
    /** Threads run ahead of one another, closers too: behind a repartition nothing is to be late. */
    private static final Duration GRACE = Duration.ofDays(2);

    @JsonIgnoreProperties(ignoreUnknown = true)
    public static final class User {
        public String region;
    }

    @JsonIgnoreProperties(ignoreUnknown = true)
    public static final class Impression {
        public long cost;
        public long at;
    }

    @JsonIgnoreProperties(ignoreUnknown = true)
    public static final class AdClick {
        public long price;
        public long at;
    }

    @JsonIgnoreProperties(ignoreUnknown = true)
    public static final class Message {
        public String to;
        public String text;
        public long at;
    }

    @JsonIgnoreProperties(ignoreUnknown = true)
    public static final class Bid {
        public long price;
        public long dateTime;
    }

    @JsonIgnoreProperties(ignoreUnknown = true)
    public static final class Auction {
        public String itemName;
        public long seller;
        public long category;
    }

    @JsonIgnoreProperties(ignoreUnknown = true)
    public static final class Person {
        public String name;
        public String city;
        public String state;
    }

    /** A result with its own times. */
    public record Event(long start, long end, Object value) {}

    private final StreamsBuilder builder;
    private final String[] inputs;
    private final String output;
    private final String nudges;

    Joins(StreamsBuilder builder, String[] inputs, String output, String nudges) {
        this.builder = builder;
        this.inputs = inputs;
        this.output = output;
        this.nudges = nudges;
    }

    void build(String workload) {
        switch (workload) {
            case "W5" -> views();
            case "W6" -> ads(false);
            case "W6o" -> ads(true);
            case "W7" -> messages();
            case "Q3" -> localItems();
            case "Q8" -> newSellers();
            case "Q20" -> bidsWithAuction();
            default -> throw new IllegalArgumentException(workload);
        }
    }

    private void views() {
        KTable<String, User> users = builder.table(inputs[1], of(User.class));
        stream(0, Serdes.ByteArray())
            .leftJoin(users, (view, user) -> user == null ? "?" : user.region)
            .groupBy((name, region) -> region, Grouped.with(TEXT, TEXT))
            .windowedBy(TimeWindows.ofSizeAndGrace(SIZE, GRACE))
            .count()
            .toStream()
            .to(output, Produced.with(windowed(), Serdes.Long()));
    }

    private void ads(boolean outer) {
        KStream<String, Impression> shown = stream(0, json(Impression.class));
        KStream<String, AdClick> clicks = stream(1, json(AdClick.class));
        JoinWindows near = JoinWindows
            .ofTimeDifferenceAndGrace(SIZE, Duration.ofSeconds(2))
            .before(Duration.ZERO);
        StreamJoined<String, Impression, AdClick> with =
            StreamJoined.with(TEXT, json(Impression.class), json(AdClick.class));
        KStream<String, Event> pairs = outer
            ? shown.merge(builder.stream(nudges, of(Impression.class))).outerJoin(clicks, Joins::pair, near, with)
            : shown.join(clicks, Joins::pair, near, with);
        pairs.to(output, Produced.with(TEXT, json(Event.class)));
    }

    private static Event pair(Impression shown, AdClick click) {
        return new Event(
            shown == null ? 0 : shown.at,
            click == null ? 0 : click.at,
            new Long[] {shown == null ? null : shown.cost, click == null ? null : click.price});
    }

    private void messages() {
        KTable<String, byte[]> blocked =
            builder.table(inputs[1], Consumed.with(TEXT, Serdes.ByteArray()));
        GlobalKTable<String, String> words = builder.globalTable(inputs[2], Consumed.with(TEXT, TEXT));
        stream(0, json(Message.class))
            .leftJoin(blocked, (message, row) -> row == null ? message : null)
            .filter((sender, message) -> message != null)
            .leftJoin(words, (sender, message) -> message.text, (message, translation) -> {
                message.text = translation == null ? message.text : translation;
                return message;
            })
            .map((sender, message) ->
                new KeyValue<>(message.to, new Event(message.at, 0, message.text)))
            .to(output, Produced.with(TEXT, json(Event.class)));
    }

    private void localItems() {
        Set<String> states = Set.of("CA", "ID", "OR");
        KTable<String, Auction> auctions = builder
            .table(inputs[0], of(Auction.class))
            .filter((id, auction) -> auction.category == 10);
        KTable<String, Person> persons = builder
            .table(inputs[1], of(Person.class))
            .filter((id, person) -> states.contains(person.state));
        auctions
            .join(
                persons,
                auction -> Long.toString(auction.seller),
                (auction, person) -> new String[] {person.name, person.city, person.state},
                TableJoined.as("sellers"),
                Materialized.with(TEXT, json(String[].class)))
            .toStream()
            .to(output, Produced.with(TEXT, json(String[].class)));
    }

    private void newSellers() {
        TimeWindows size = TimeWindows.ofSizeAndGrace(SIZE, GRACE);
        KTable<Windowed<String>, Long> selling = stream(0, json(Auction.class))
            .groupBy((id, auction) -> Long.toString(auction.seller), Grouped.with(TEXT, json(Auction.class)))
            .windowedBy(size)
            .count();
        KTable<Windowed<String>, String> persons = stream(1, json(Person.class))
            .mapValues(person -> person.name)
            .groupByKey(Grouped.with(TEXT, TEXT))
            .windowedBy(size)
            .reduce((old, now) -> now);
        persons
            .join(selling, (name, auctions) -> name)
            .toStream()
            .to(output, Produced.with(windowed(), json(String.class)));
    }

    private void bidsWithAuction() {
        KTable<String, Auction> auctions = builder.table(inputs[1], of(Auction.class));
        stream(0, json(Bid.class))
            .join(auctions, (bid, auction) -> auction.category == 10
                ? new Event(bid.dateTime, 0, new String[] {Long.toString(bid.price), auction.itemName})
                : null)
            .filter((id, event) -> event != null)
            .to(output, Produced.with(TEXT, json(Event.class)));
    }

    private <V> KStream<String, V> stream(int input, Serde<V> values) {
        return builder.stream(inputs[input], Consumed.with(TEXT, values));
    }

    private static <V> Consumed<String, V> of(Class<V> kind) {
        return Consumed.with(TEXT, json(kind));
    }

    private static Serde<Windowed<String>> windowed() {
        return WindowedSerdes.timeWindowedSerdeFrom(String.class, SIZE.toMillis());
    }

    private static <V> Serde<V> json(Class<V> kind) {
        return Serdes.serdeFrom(
            (topic, value) -> {
                try {
                    return value == null ? null : JSON.writeValueAsBytes(value);
                } catch (IOException failure) {
                    throw new UncheckedIOException(failure);
                }
            },
            (topic, data) -> {
                try {
                    return data == null ? null : JSON.readValue(data, kind);
                } catch (IOException failure) {
                    throw new UncheckedIOException(failure);
                }
            });
    }
}
