// kafkajs, with its defaults; snappy and lz4 as its documentation has them: by plug-ins.
'use strict';

const fs = require('node:fs');
const { AssignerProtocol, CompressionCodecs, CompressionTypes, ConfigResourceTypes, Kafka, logLevel } = require('kafkajs');
const snappy = require('kafkajs-snappy');
const lz4 = require('lz4js');

CompressionCodecs[CompressionTypes.Snappy] = snappy;
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: async (encoder) => Buffer.from(lz4.compress(encoder.buffer)),
  decompress: async (buffer) => Buffer.from(lz4.decompress(buffer)),
});

const BATCH = 1000;
const CODECS = { none: CompressionTypes.None, gzip: CompressionTypes.GZIP, snappy: CompressionTypes.Snappy, lz4: CompressionTypes.LZ4 };

const emit = (line) => fs.writeSync(1, `${JSON.stringify(line)}\n`);
const text = (content) => (content === null || content === undefined ? null : content.toString());
const client = (ask) => new Kafka({ brokers: [ask.bootstrap], logLevel: logLevel.ERROR });

const withAdmin = (work) => async (ask) => {
  const admin = client(ask).admin();
  await admin.connect();
  try {
    await work(admin, ask);
  } finally {
    await admin.disconnect();
  }
};

function* batches(file) {
  const lines = fs.readFileSync(file, 'utf8').trimEnd().split('\n');
  for (let start = 0; start < lines.length; start += BATCH) {
    yield lines.slice(start, start + BATCH).map((line) => {
      const { k, v, h } = JSON.parse(line);
      return { key: k, value: v, headers: Object.fromEntries(h) };
    });
  }
}

async function produce(ask) {
  const producer = client(ask).producer();
  await producer.connect();
  let sent = 0;
  for (const messages of batches(ask.file)) {
    await producer.send({ topic: ask.topic, compression: CODECS[ask.codec], messages });
    sent += messages.length;
  }
  await producer.disconnect();
  emit({ sent });
}

async function consume(ask) {
  const consumer = client(ask).consumer({ groupId: ask.group });
  const ends = new Map();
  let taken = 0;
  let finish;
  const finished = new Promise((resolve) => { finish = resolve; });
  process.stdin.on('end', finish).resume();
  consumer.on(consumer.events.CRASH, ({ payload }) => payload.restart || finish(payload.error));
  await consumer.connect();
  await consumer.subscribe({ topic: ask.topic, fromBeginning: true });
  const eachMessage = async ({ partition, message }) => {
    if (ask.max && taken === ask.max) return;
    const h = Object.entries(message.headers ?? {}).map(([name, value]) => [name, text(value)]);
    const { offset, timestamp, key, value } = message;
    emit({ p: partition, o: Number(offset), t: Number(timestamp), k: text(key), v: text(value), h });
    ends.set(partition, Number(offset) + 1);
    taken += 1;
    if (taken === ask.max) finish();
  };
  await consumer.run({ autoCommit: !ask.max, eachMessage });
  const error = await finished;
  if (ask.max) {
    await consumer.commitOffsets([...ends].map(([partition, offset]) => ({ topic: ask.topic, partition, offset: String(offset) })));
  }
  await consumer.disconnect();
  if (error) throw error;
}

const found = (partitions, field) => partitions.forEach((each) => emit({ p: each.partition, o: Number(each[field]) }));

const verbs = {
  version: async () => emit({ version: `kafkajs ${require('kafkajs/package.json').version}` }),
  create: withAdmin(async (admin, { topic, partitions }) => {
    await admin.createTopics({ topics: [{ topic, numPartitions: partitions }] });
  }),
  grow: withAdmin(async (admin, { topic, partitions }) => {
    await admin.createPartitions({ topicPartitions: [{ topic, count: partitions }] });
  }),
  delete: withAdmin(async (admin, { topic }) => admin.deleteTopics({ topics: [topic] })),
  produce,
  consume,
  offsets: withAdmin(async (admin, { topic, at }) => {
    if (at >= 0) return found(await admin.fetchTopicOffsetsByTimestamp(topic, at), 'offset');
    return found(await admin.fetchTopicOffsets(topic), at === -1 ? 'high' : 'low');
  }),
  'delete-records': withAdmin(async (admin, { topic, before }) => {
    const partitions = Object.entries(before).map(([partition, offset]) => ({ partition: Number(partition), offset: String(offset) }));
    await admin.fetchTopicOffsets(topic); // it deletes only where it has looked before
    await admin.deleteTopicRecords({ topic, partitions });
    const asked = new Set(partitions.map(({ partition }) => partition));
    found((await admin.fetchTopicOffsets(topic)).filter(({ partition }) => asked.has(partition)), 'low');
  }),
  'set-config': withAdmin(async (admin, { topic, name, value }) => {
    await admin.alterConfigs({ resources: [{ type: ConfigResourceTypes.TOPIC, name: topic, configEntries: [{ name, value }] }] });
  }),
  'get-config': withAdmin(async (admin, { topic, name }) => {
    const { resources } = await admin.describeConfigs({ resources: [{ type: ConfigResourceTypes.TOPIC, name: topic }] });
    const entry = resources[0].configEntries.find(({ configName }) => configName === name);
    emit({ value: entry ? entry.configValue : null });
  }),
  'describe-group': withAdmin(async (admin, { group }) => {
    const [{ state, members }] = (await admin.describeGroups([group])).groups;
    const assigned = ({ memberAssignment }) => {
      if (!memberAssignment.length) return [];
      return Object.values(AssignerProtocol.MemberAssignment.decode(memberAssignment).assignment).flat().sort();
    };
    emit({ state, members: members.map(assigned) });
  }),
  committed: withAdmin(async (admin, { group }) => {
    for (const { partitions } of await admin.fetchOffsets({ groupId: group })) found(partitions, 'offset');
  }),
};

const [verb, ask] = process.argv.slice(2);
verbs[verb](JSON.parse(ask)).then(
  () => process.exit(0),
  (error) => {
    emit({ error: `${error.name}: ${error.message}` });
    process.exit(1);
  },
);
