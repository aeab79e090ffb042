import com.amazonaws.services.schemaregistry.serializers.GlueSchemaRegistryKafkaSerializer;
import com.amazonaws.services.schemaregistry.serializers.json.JsonDataWithSchema;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.TextFormat;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.io.DecoderFactory;

/** Records by AWS' serializers: arguments are Glue's endpoint and the folder of the schemas and values. */
public class Record {
    public static void main(String[] given) throws Exception {
        Path folder = Path.of(given[1]);
        for (String kind : List.of("AVRO", "JSON", "PROTOBUF")) {
            String schema = Files.readString(folder.resolve(kind));
            List<String> values = Files.readAllLines(folder.resolve(kind + ".values"));
            for (String compression : List.of("NONE", "ZLIB")) {
                for (String value : values) {
                    Object record = record(kind, schema, value);
                    byte[] bytes = serializer(given[0], kind, compression).serialize(kind.toLowerCase(), record);
                    System.out.println(kind + " " + compression + " " + Base64.getEncoder().encodeToString(bytes));
                }
            }
        }
    }

    private static GlueSchemaRegistryKafkaSerializer serializer(String endpoint, String kind, String compression) {
        Map<String, Object> settings = new HashMap<>();
        settings.put("region", "us-east-1");
        settings.put("endpoint", endpoint);
        settings.put("dataFormat", kind);
        settings.put("compression", compression);
        settings.put("schemaAutoRegistrationEnabled", "true");
        GlueSchemaRegistryKafkaSerializer serializer = new GlueSchemaRegistryKafkaSerializer();
        serializer.configure(settings, false);
        return serializer;
    }

    private static Object record(String kind, String schema, String value) throws Exception {
        if (kind.equals("AVRO")) {
            Schema parsed = new Schema.Parser().parse(schema);
            return new GenericDatumReader<>(parsed).read(null, DecoderFactory.get().jsonDecoder(parsed, value));
        }
        if (kind.equals("JSON")) {
            return JsonDataWithSchema.builder(schema, value).build();
        }
        FileDescriptorProto.Builder file = FileDescriptorProto.newBuilder();
        TextFormat.merge(schema, file);
        Descriptor order = FileDescriptor.buildFrom(file.build(), new FileDescriptor[0]).findMessageTypeByName("Order");
        DynamicMessage.Builder message = DynamicMessage.newBuilder(order);
        TextFormat.merge(value, message);
        return message.build();
    }
}
