// Writes golden.json beside it. Made with org.apache.avro:avro 1.12.0 and Java 17:
//   java -cp 'lib/*' Golden.java > golden.json
// where lib/ is what `mvn dependency:copy-dependencies` fetches for that one dependency.
import java.io.ByteArrayOutputStream;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.avro.Conversions;
import org.apache.avro.Schema;
import org.apache.avro.data.TimeConversions;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.Encoder;
import org.apache.avro.io.EncoderFactory;

class Golden {
    static final GenericData MODEL = new GenericData();
    static final Map<String, String> CASES = new LinkedHashMap<>();

    static byte[] bytes(Schema schema, Object value, boolean blocking) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        EncoderFactory factory = new EncoderFactory().configureBlockSize(64);
        BinaryEncoder encoder = blocking ? factory.blockingBinaryEncoder(out, null) : factory.binaryEncoder(out, null);
        new GenericDatumWriter<Object>(schema, MODEL).write(value, encoder);
        encoder.flush();
        return out.toByteArray();
    }

    /** The JSON encoding, as text inside of JSON. */
    static String json(Schema schema, Object value) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        Encoder encoder = EncoderFactory.get().jsonEncoder(schema, out);
        new GenericDatumWriter<Object>(schema, MODEL).write(value, encoder);
        encoder.flush();
        return new com.fasterxml.jackson.databind.ObjectMapper().writeValueAsString(out.toString("UTF-8"));
    }

    static String hex(byte[] data) {
        StringBuilder text = new StringBuilder();
        for (byte each : data) text.append(String.format("%02x", each));
        return text.toString();
    }

    static void put(String name, Schema schema, Object value) throws Exception {
        CASES.put(name, String.format("{\"schema\": %s, \"plain\": \"%s\", \"blocking\": \"%s\", \"json\": %s}",
            schema, hex(bytes(schema, value, false)), hex(bytes(schema, value, true)), json(schema, value)));
    }

    /** What Java itself reads of `value` with another schema, written again with that one. */
    static void evolve(String name, Schema writer, Schema reader, Object value) throws Exception {
        byte[] data = bytes(writer, value, false);
        Object read = new GenericDatumReader<Object>(writer, reader, MODEL)
            .read(null, DecoderFactory.get().binaryDecoder(data, null));
        CASES.put(name, String.format("{\"writer\": %s, \"reader\": %s, \"written\": \"%s\", \"read\": \"%s\"}",
            writer, reader, hex(data), hex(bytes(reader, read, false))));
    }

    static Schema schema(String text) {
        return new Schema.Parser().parse(text.replace('\'', '"'));
    }

    static GenericRecord record(Schema schema, Object... values) {
        GenericRecord record = new GenericData.Record(schema);
        for (int place = 0; place < values.length; place++) record.put(place, values[place]);
        return record;
    }

    public static void main(String[] arguments) throws Exception {
        MODEL.addLogicalTypeConversion(new Conversions.DecimalConversion());
        MODEL.addLogicalTypeConversion(new Conversions.UUIDConversion());
        MODEL.addLogicalTypeConversion(new TimeConversions.DateConversion());
        MODEL.addLogicalTypeConversion(new TimeConversions.TimeMillisConversion());
        MODEL.addLogicalTypeConversion(new TimeConversions.TimeMicrosConversion());
        MODEL.addLogicalTypeConversion(new TimeConversions.TimestampMillisConversion());
        MODEL.addLogicalTypeConversion(new TimeConversions.TimestampMicrosConversion());
        MODEL.addLogicalTypeConversion(new TimeConversions.LocalTimestampMicrosConversion());

        Schema scalars = schema("{'type':'record','name':'Scalars','namespace':'shop','fields':["
            + "{'name':'flag','type':'boolean'},{'name':'small','type':'int'},{'name':'large','type':'long'},"
            + "{'name':'half','type':'float'},{'name':'whole','type':'double'},{'name':'data','type':'bytes'},"
            + "{'name':'text','type':'string'},{'name':'nothing','type':'null'},"
            + "{'name':'four','type':{'type':'fixed','name':'Four','size':4}},"
            + "{'name':'suit','type':{'type':'enum','name':'Suit','symbols':['SPADES','HEARTS']}}]}");
        Schema four = scalars.getField("four").schema();
        Schema suit = scalars.getField("suit").schema();
        put("scalars", scalars, record(scalars, true, Integer.MIN_VALUE, Long.MAX_VALUE, 1.5f, -0.1, ByteBuffer.wrap(new byte[] {0, -1}),
            "h\u00e9 \ud83d\ude00", null, new GenericData.Fixed(four, new byte[] {1, 2, 3, 4}), new GenericData.EnumSymbol(suit, "HEARTS")));

        Schema logical = schema("{'type':'record','name':'Logical','fields':["
            + "{'name':'day','type':{'type':'int','logicalType':'date'}},"
            + "{'name':'millis','type':{'type':'int','logicalType':'time-millis'}},"
            + "{'name':'micros','type':{'type':'long','logicalType':'time-micros'}},"
            + "{'name':'at','type':{'type':'long','logicalType':'timestamp-millis'}},"
            + "{'name':'exactly','type':{'type':'long','logicalType':'timestamp-micros'}},"
            + "{'name':'local','type':{'type':'long','logicalType':'local-timestamp-micros'}},"
            + "{'name':'price','type':{'type':'bytes','logicalType':'decimal','precision':9,'scale':2}},"
            + "{'name':'fixed','type':{'type':'fixed','name':'Money','size':6,'logicalType':'decimal','precision':12,'scale':3}},"
            + "{'name':'id','type':{'type':'string','logicalType':'uuid'}}]}");
        put("logical", logical, record(logical, LocalDate.of(1969, 12, 31), LocalTime.of(23, 59, 58, 7_000_000), LocalTime.of(1, 2, 3, 4_000),
            Instant.parse("1969-12-31T23:59:59.999Z"), Instant.parse("2026-11-22T19:06:18.123456Z"), LocalDateTime.of(2026, 11, 22, 19, 6, 18, 5_000),
            new BigDecimal("-1.28"), new BigDecimal("123456789.125"), UUID.fromString("00112233-4455-6677-8899-aabbccddeeff")));

        Schema nested = schema("{'type':'record','name':'Nested','fields':["
            + "{'name':'items','type':{'type':'array','items':{'type':'record','name':'Item','fields':["
            + "{'name':'name','type':'string'},{'name':'count','type':['null','long'],'default':null}]}}},"
            + "{'name':'counts','type':{'type':'map','values':'long'}},"
            + "{'name':'rows','type':{'type':'array','items':{'type':'array','items':'int'}}},"
            + "{'name':'first','type':['null','Item']}]}");
        Schema item = nested.getField("items").schema().getElementType();
        Map<String, Long> counts = new LinkedHashMap<>();
        counts.put("a", 1L);
        counts.put("b", -1L);
        List<Object> items = new java.util.ArrayList<>();
        for (int number = 0; number < 20; number++) items.add(record(item, "item " + number, number % 3 == 0 ? null : (Object) (long) number));
        put("nested", nested, record(nested, items, counts, List.of(List.of(1, 2), List.of(), List.of(-3)), items.get(1)));

        Schema tree = schema("{'type':'record','name':'Tree','fields':[{'name':'value','type':'long'},"
            + "{'name':'children','type':{'type':'array','items':'Tree'}}]}");
        put("tree", tree, record(tree, 1L, List.of(record(tree, 2L, List.of()), record(tree, 3L, List.of(record(tree, 4L, List.of()))))));

        Schema union = schema("[{'type':'record','name':'Opened','fields':[{'name':'id','type':'long'}]},"
            + "{'type':'record','name':'Closed','fields':[{'name':'id','type':'long'},{'name':'why','type':'string'}]},'null','string']");
        put("union", union, record(union.getTypes().get(1), 7L, "done"));

        Schema branches = schema("[{'type':'record','name':'Branches','namespace':'shop','fields':["
            + "{'name':'number','type':['null','int','long','double']},{'name':'text','type':['string','null']},"
            + "{'name':'list','type':['null',{'type':'array','items':['null','float']}]},"
            + "{'name':'map','type':['null',{'type':'map','values':'bytes'}]},"
            + "{'name':'four','type':['null',{'type':'fixed','name':'Two','size':2}]},"
            + "{'name':'suit','type':['null',{'type':'enum','name':'Color','symbols':['RED','BLACK']}]},"
            + "{'name':'day','type':['null',{'type':'int','logicalType':'date'}]},"
            + "{'name':'next','type':['null','Branches']}]}]");
        Schema kind = branches.getTypes().get(0);
        Schema two = kind.getField("four").schema().getTypes().get(1);
        Schema color = kind.getField("suit").schema().getTypes().get(1);
        put("branches", branches, record(kind, 7.5, "hot", java.util.Arrays.asList(0.1f, null, Float.NEGATIVE_INFINITY), Map.of("a", ByteBuffer.wrap(new byte[] {-1})),
            new GenericData.Fixed(two, new byte[] {0, -1}), new GenericData.EnumSymbol(color, "BLACK"), LocalDate.of(1970, 1, 2),
            record(kind, null, null, null, null, null, null, null, null)));

        Schema before = schema("{'type':'record','name':'Order','namespace':'shop','fields':[{'name':'id','type':'int'},"
            + "{'name':'item','type':'string'},{'name':'gone','type':{'type':'map','values':'string'}},"
            + "{'name':'state','type':{'type':'enum','name':'State','symbols':['NEW','PAID','ODD']}},"
            + "{'name':'note','type':'string'},{'name':'price','type':'float'}]}");
        Schema after = schema("{'type':'record','name':'Order','namespace':'shop','fields':["
            + "{'name':'price','type':'double'},{'name':'id','type':'long'},{'name':'product','type':'string','aliases':['item']},"
            + "{'name':'note','type':['null','string'],'default':null},"
            + "{'name':'state','type':{'type':'enum','name':'State','symbols':['UNKNOWN','PAID','NEW'],'default':'UNKNOWN'}},"
            + "{'name':'tags','type':{'type':'array','items':'string'},'default':['old']},"
            + "{'name':'raw','type':'bytes','default':'\\u00ff'},"
            + "{'name':'address','type':{'type':'record','name':'Address','fields':[{'name':'city','type':'string'},"
            + "{'name':'zip','type':['null','string'],'default':null}]},'default':{'city':'?'}}]}");
        Schema state = before.getField("state").schema();
        evolve("backward", before, after, record(before, 7, "tea", Map.of("a", "b"), new GenericData.EnumSymbol(state, "ODD"), "n", 1.5f));
        GenericRecord address = record(after.getField("address").schema(), "Bonn", null);
        Schema early = schema("{'type':'record','name':'Order','namespace':'shop','fields':["
            + "{'name':'id','type':'long'},{'name':'note','type':'string'},{'name':'extra','type':['null','int'],'default':null}]}");
        evolve("forward", after, early, record(after, 2.5, 9L, "tea", "hello", new GenericData.EnumSymbol(after.getField("state").schema(), "PAID"),
            List.of("x", "y"), ByteBuffer.wrap(new byte[0]), address));

        StringBuilder text = new StringBuilder("{\n");
        CASES.forEach((name, content) -> text.append(text.length() > 2 ? ",\n" : "").append(String.format("  \"%s\": %s", name, content)));
        System.out.println(text.append("\n}"));
    }
}
