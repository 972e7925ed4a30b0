// Writes the golden bytes of this folder; see README.md.

import com.google.protobuf.DescriptorProtos.DescriptorProto;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import io.apicurio.registry.serde.avro.AvroKafkaSerializer;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.kafka.common.utils.ByteUtils;

class JavaSerializers {

    static final String V1 =
            "{\"type\":\"record\",\"name\":\"Order\",\"namespace\":\"shop\",\"doc\":\"What somebody wants.\","
                    + "\"fields\":[{\"name\":\"item\",\"type\":{\"type\":\"string\",\"avro.java.string\":\"String\"}},"
                    + "{\"name\":\"count\",\"type\":\"int\"},"
                    + "{\"name\":\"price\",\"type\":[\"null\",\"double\"],\"default\":null}]}";
    static final String V2 =
            "{\"type\":\"record\",\"name\":\"Order\",\"namespace\":\"shop\",\"fields\":["
                    + "{\"name\":\"item\",\"type\":\"string\"},{\"name\":\"count\",\"type\":\"long\"},"
                    + "{\"name\":\"price\",\"type\":[\"null\",\"double\"],\"default\":null},"
                    + "{\"name\":\"notes\",\"type\":{\"type\":\"array\",\"items\":\"string\"},\"default\":[]}]}";

    public static void main(String[] arguments) throws Exception {
        avro(arguments[0]);
        protobuf();
    }

    /** Apicurio's serializer, in Confluent's format: it registers, and asks for the id. */
    static void avro(String registry) {
        Map<String, Object> options = new HashMap<>();
        options.put("apicurio.registry.url", registry);
        options.put("apicurio.registry.as-confluent", true);
        options.put("apicurio.registry.headers.enabled", false);
        options.put("apicurio.registry.use-id", "contentId");
        options.put("apicurio.registry.auto-register", true);
        options.put("apicurio.registry.auto-register.if-exists", "UPDATE");
        options.put(
                "apicurio.registry.artifact-resolver-strategy",
                "io.apicurio.registry.serde.strategy.TopicIdStrategy");
        try (AvroKafkaSerializer<GenericRecord> serializer = new AvroKafkaSerializer<>()) {
            serializer.configure(options, false);
            Schema one = new Schema.Parser().parse(V1), two = new Schema.Parser().parse(V2);
            say("schema", V1);
            show("avro", serializer.serialize("golden", order(one, "tea", 2, 1.5)));
            show("avro", serializer.serialize("golden", order(one, "salt", -1, null)));
            say("schema", V2);
            GenericRecord noted = order(two, "grüner Tee", 1L << 40, null);
            noted.put("notes", List.of("hot", ""));
            show("avro", serializer.serialize("golden", noted));
            GenericRecord plain = order(two, "", 0L, -0.0);
            plain.put("notes", List.of());
            show("avro", serializer.serialize("golden", plain));
        }
    }

    static GenericRecord order(Schema schema, String item, Object count, Double price) {
        GenericRecord made = new GenericData.Record(schema);
        made.put("item", item);
        made.put("count", count);
        made.put("price", price);
        return made;
    }

    /** protobuf-java's bytes, behind indexes by Kafka's own varints, as Confluent's serializer puts them. */
    static void protobuf() throws Exception {
        DescriptorProto inner = message("Line");
        FileDescriptorProto file =
                FileDescriptorProto.newBuilder()
                        .setName("golden.proto")
                        .setPackage("golden")
                        .setSyntax("proto3")
                        .addMessageType(message("Order").toBuilder().addNestedType(inner))
                        .addMessageType(message("Refund"))
                        .build();
        say("descriptor", HexFormat.of().formatHex(file.toByteArray()));
        FileDescriptor built = FileDescriptor.buildFrom(file, new FileDescriptor[0]);
        Descriptor order = built.getMessageTypes().get(0), refund = built.getMessageTypes().get(1);
        show("protobuf", framed(300, filled(order, "tea", 2), 0));
        show("protobuf", framed(300, filled(refund, "salt", -1), 1));
        show("protobuf", framed(300, filled(order.getNestedTypes().get(0), "", 0), 0, 0));
    }

    static DescriptorProto message(String name) {
        return DescriptorProto.newBuilder()
                .setName(name)
                .addField(field("item", 1, FieldDescriptorProto.Type.TYPE_STRING))
                .addField(field("count", 2, FieldDescriptorProto.Type.TYPE_SINT64))
                .build();
    }

    static FieldDescriptorProto field(String name, int number, FieldDescriptorProto.Type type) {
        return FieldDescriptorProto.newBuilder()
                .setName(name)
                .setNumber(number)
                .setType(type)
                .setLabel(FieldDescriptorProto.Label.LABEL_OPTIONAL)
                .build();
    }

    static byte[] filled(Descriptor type, String item, long count) {
        return DynamicMessage.newBuilder(type)
                .setField(type.findFieldByName("item"), item)
                .setField(type.findFieldByName("count"), count)
                .build()
                .toByteArray();
    }

    static byte[] framed(int id, byte[] datum, int... indexes) {
        ByteBuffer buffer = ByteBuffer.allocate(64 + datum.length);
        buffer.put((byte) 0).putInt(id);
        if (indexes.length == 1 && indexes[0] == 0) {
            ByteUtils.writeVarint(0, buffer);
        } else {
            ByteUtils.writeVarint(indexes.length, buffer);
            for (int index : indexes) {
                ByteUtils.writeVarint(index, buffer);
            }
        }
        buffer.put(datum);
        return Arrays.copyOf(buffer.array(), buffer.position());
    }

    static void show(String kind, byte[] data) {
        say(kind, HexFormat.of().formatHex(data));
    }

    static void say(String kind, String text) {
        System.out.println(kind + " " + text);
    }
}
