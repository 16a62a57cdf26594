import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Apache Kafka's Java clients, with their defaults. */
public final class Client {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final BufferedWriter OUT = new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8));
    private static final Duration POLL = Duration.ofMillis(500);

    private interface Verb {
        void run(JsonNode ask) throws Exception;
    }

    private interface AdminWork {
        void run(Admin admin, JsonNode ask) throws Exception;
    }

    private static final Map<String, Verb> VERBS = Map.ofEntries(
            Map.entry("version", ask -> version()),
            Map.entry("create", withAdmin(Client::create)),
            Map.entry("grow", withAdmin(Client::grow)),
            Map.entry("delete", withAdmin((admin, ask) -> admin.deleteTopics(List.of(topic(ask))).all().get())),
            Map.entry("produce", Client::produce),
            Map.entry("consume", Client::consume),
            Map.entry("offsets", withAdmin(Client::offsets)),
            Map.entry("delete-records", withAdmin(Client::deleteRecords)),
            Map.entry("set-config", withAdmin(Client::setConfig)),
            Map.entry("get-config", withAdmin(Client::getConfig)),
            Map.entry("describe-group", withAdmin(Client::describeGroup)),
            Map.entry("committed", withAdmin(Client::committed)));

    private Client() {}

    public static void main(String[] args) throws Exception {
        int code = 0;
        try {
            VERBS.get(args[0]).run(JSON.readTree(args[1]));
        } catch (Exception error) {
            emit(object().put("error", error.toString()));
            code = 1;
        }
        OUT.flush();
        System.exit(code);
    }

    private static ObjectNode object() {
        return JSON.createObjectNode();
    }

    private static void emit(JsonNode line) throws IOException {
        OUT.write(line.toString());
        OUT.write('\n');
    }

    private static void emit(int partition, long offset) throws IOException {
        emit(object().put("p", partition).put("o", offset));
    }

    private static String topic(JsonNode ask) {
        return ask.get("topic").asText();
    }

    private static Properties settings(JsonNode ask) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", ask.get("bootstrap").asText());
        return settings;
    }

    private static Verb withAdmin(AdminWork work) {
        return ask -> {
            try (Admin admin = Admin.create(settings(ask))) {
                work.run(admin, ask);
            }
        };
    }

    private static byte[] raw(JsonNode content) {
        return content.isNull() ? null : content.asText().getBytes(StandardCharsets.UTF_8);
    }

    private static String text(byte[] content) {
        return content == null ? null : new String(content, StandardCharsets.UTF_8);
    }

    private static void version() throws IOException {
        Properties built = new Properties();
        try (var file = Admin.class.getResourceAsStream("/kafka/kafka-version.properties")) {
            built.load(file);
        }
        emit(object().put("version", "kafka-clients " + built.getProperty("version")));
    }

    private static void create(Admin admin, JsonNode ask) throws Exception {
        NewTopic topic = new NewTopic(topic(ask), Optional.of(ask.get("partitions").asInt()), Optional.empty());
        admin.createTopics(List.of(topic)).all().get();
    }

    private static void grow(Admin admin, JsonNode ask) throws Exception {
        admin.createPartitions(Map.of(topic(ask), NewPartitions.increaseTo(ask.get("partitions").asInt()))).all().get();
    }

    private static void produce(JsonNode ask) throws Exception {
        Properties settings = settings(ask);
        String codec = ask.get("codec").asText();
        if (!codec.equals("none")) {
            settings.put("compression.type", codec);
        }
        AtomicReference<Exception> failure = new AtomicReference<>();
        long sent = 0;
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
                var lines = Files.newBufferedReader(Path.of(ask.get("file").asText()))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                producer.send(message(topic(ask), JSON.readTree(line)), (done, error) -> failure.compareAndSet(null, error));
                sent++;
            }
        }
        if (failure.get() != null) {
            throw failure.get();
        }
        emit(object().put("sent", sent));
    }

    private static ProducerRecord<byte[], byte[]> message(String topic, JsonNode line) {
        ProducerRecord<byte[], byte[]> message = new ProducerRecord<>(topic, raw(line.get("k")), raw(line.get("v")));
        for (JsonNode header : line.get("h")) {
            message.headers().add(header.get(0).asText(), raw(header.get(1)));
        }
        return message;
    }

    private static void consume(JsonNode ask) throws Exception {
        Properties settings = settings(ask);
        settings.put("group.id", ask.get("group").asText());
        settings.put("auto.offset.reset", "earliest");
        long left = ask.path("max").asLong(Long.MAX_VALUE);
        boolean bounded = ask.hasNonNull("max");
        if (bounded) {
            settings.put("enable.auto.commit", false);
        }
        Map<TopicPartition, OffsetAndMetadata> ends = new HashMap<>();
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            stopWithInput(consumer);
            consumer.subscribe(List.of(topic(ask)));
            while (left > 0) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(POLL)) {
                    if (left-- > 0) {
                        emit(line(record));
                        ends.put(new TopicPartition(record.topic(), record.partition()), new OffsetAndMetadata(record.offset() + 1));
                    }
                }
                OUT.flush();
            }
            consumer.commitSync(ends);
        } catch (WakeupException asked) {
            // Standard input has ended: there is no more to do.
        }
    }

    private static void stopWithInput(KafkaConsumer<?, ?> consumer) {
        Thread waiting = new Thread(() -> {
            try {
                while (System.in.read() >= 0) {}
            } catch (IOException ended) {
                // As good as an end.
            }
            consumer.wakeup();
        });
        waiting.setDaemon(true);
        waiting.start();
    }

    private static JsonNode line(ConsumerRecord<byte[], byte[]> record) {
        ObjectNode line = object().put("p", record.partition()).put("o", record.offset()).put("t", record.timestamp());
        line.put("k", text(record.key())).put("v", text(record.value()));
        ArrayNode headers = line.putArray("h");
        for (Header header : record.headers()) {
            headers.addArray().add(header.key()).add(text(header.value()));
        }
        return line;
    }

    private static Collection<TopicPartition> partitions(Admin admin, String topic) throws Exception {
        return admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().stream()
                .map(partition -> new TopicPartition(topic, partition.partition()))
                .collect(Collectors.toList());
    }

    private static void offsets(Admin admin, JsonNode ask) throws Exception {
        long at = ask.get("at").asLong();
        OffsetSpec spec = at == -1 ? OffsetSpec.latest() : at == -2 ? OffsetSpec.earliest() : OffsetSpec.forTimestamp(at);
        Map<TopicPartition, OffsetSpec> asked =
                partitions(admin, topic(ask)).stream().collect(Collectors.toMap(partition -> partition, partition -> spec));
        for (var found : admin.listOffsets(asked).all().get().entrySet()) {
            emit(found.getKey().partition(), found.getValue().offset());
        }
    }

    private static void deleteRecords(Admin admin, JsonNode ask) throws Exception {
        Map<TopicPartition, RecordsToDelete> before = new HashMap<>();
        for (var each : ask.get("before").properties()) {
            TopicPartition partition = new TopicPartition(topic(ask), Integer.parseInt(each.getKey()));
            before.put(partition, RecordsToDelete.beforeOffset(each.getValue().asLong()));
        }
        for (var answer : admin.deleteRecords(before).lowWatermarks().entrySet()) {
            emit(answer.getKey().partition(), answer.getValue().get().lowWatermark());
        }
    }

    private static ConfigResource resource(JsonNode ask) {
        return new ConfigResource(ConfigResource.Type.TOPIC, topic(ask));
    }

    private static void setConfig(Admin admin, JsonNode ask) throws Exception {
        ConfigEntry entry = new ConfigEntry(ask.get("name").asText(), ask.get("value").asText());
        AlterConfigOp change = new AlterConfigOp(entry, AlterConfigOp.OpType.SET);
        admin.incrementalAlterConfigs(Map.of(resource(ask), List.of(change))).all().get();
    }

    private static void getConfig(Admin admin, JsonNode ask) throws Exception {
        ConfigEntry entry =
                admin.describeConfigs(List.of(resource(ask))).all().get().get(resource(ask)).get(ask.get("name").asText());
        emit(object().put("value", entry == null ? null : entry.value()));
    }

    private static void describeGroup(Admin admin, JsonNode ask) throws Exception {
        String id = ask.get("group").asText();
        var group = admin.describeConsumerGroups(List.of(id)).all().get().get(id);
        ObjectNode line = object().put("state", group.groupState().toString());
        ArrayNode members = line.putArray("members");
        for (var member : group.members()) {
            ArrayNode assigned = members.addArray();
            member.assignment().topicPartitions().stream().map(TopicPartition::partition).sorted().forEach(assigned::add);
        }
        emit(line);
    }

    private static void committed(Admin admin, JsonNode ask) throws Exception {
        var found = admin.listConsumerGroupOffsets(ask.get("group").asText()).partitionsToOffsetAndMetadata().get();
        for (var each : found.entrySet()) {
            emit(each.getKey().partition(), each.getValue().offset());
        }
    }
}
