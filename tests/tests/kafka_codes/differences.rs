//! Where Tidegate answers otherwise than Apache Kafka, and why.

/// A name that is none is told so, whatever the request: nobody has to find out why a topic stays unknown.
const NAMES: &str = "a name that is none is told so, in every request, and never looked up";
const FINAL: &str = "final, where Kafka has clients send the same bytes again";
const NO_REPLICAS: &str = "the object store replicates: any factor and any place is taken, so that tools made for clusters work";
const NOT_OPENED: &str = "records are stored as they come: none is decompressed on the way in";
const LENIENT: &str = "what means nothing here is not refused";
const EACH: &str = "each is answered for itself, in its place";
const RANGE: &str = "Kafka fails inside: the value is taken for the nearest one in range";
const NO_RETRY_TIME: &str = "the append time of a batch is not kept with its sequence: a retry is told the offset alone";
const STRICT: &str = "a negative length other than -1 is malformed";

/// Case, Tidegate's answer, reason.
pub const DIFFERENCES: &[(&str, &str, &str)] = &[
    ("produce: two batches in a set", "0", "each batch is checked, and they get offsets one after the other"),
    ("produce: trailing bytes", "87", "bytes that are no batch are refused with the set that they are in, not dropped in silence"),
    ("produce: magic 3", "87", FINAL),
    ("produce: magic -1", "87", FINAL),
    ("produce: batch length 0", "87", FINAL),
    ("produce: batch length -1", "87", FINAL),
    ("produce: codec 7", "87", FINAL),
    ("produce: base offset 77", "0", "a producer's base offset is overwritten, whatever it was"),
    ("produce: a gzip batch that is none", "0", NOT_OPENED),
    ("produce: timestamps of the far future", "0", "timestamps are the producer's affair; topics that need bounds use append times"),
    ("produce: topic name empty", "17", NAMES),
    ("produce: topic name ..", "17", NAMES),
    ("produce: topic name with a slash", "17", NAMES),
    ("produce: topic name of 250 characters", "17", NAMES),
    ("produce: time-out -1", "7", "an acknowledgement is a commit, with acks = 1 too, and takes longer than no time"),
    ("produce: with a transactional id", "42", "there are no transactions: a producer that wants one must not believe that it is in one"),
    ("produce: null set", "87", "Kafka fails inside and never answers"),
    ("producer: the same batch again", "0 offset 2 append time -1", NO_RETRY_TIME),
    ("producer: the first batch again", "0 offset 0 append time -1", NO_RETRY_TIME),
    ("producer: epoch -1", "87 offset -1 append time -1", "a producer with an id has an epoch"),
    ("init producer id: id and epoch below -1", "42", "there is no such producer"),
    ("fetch: topic name with a slash", "0 [17]", NAMES),
    ("fetch: max bytes -1", "0 [0]", RANGE),
    ("fetch: partition max bytes -1", "0 [0]", RANGE),
    ("fetch: isolation level 2", "0 [0]", "without transactions all isolation levels read the same"),
    ("fetch: as a replica that is none", "0 [0]", "there are no replicas: whoever fetches is a consumer"),
    ("list offsets: topic name with a slash", "17 offset -1", NAMES),
    ("list offsets: a partition twice", "0 offset 2, 0 offset 0", EACH),
    ("list offsets: isolation level 2", "0", "without transactions all isolation levels read the same"),
    ("metadata: topic id of zeros", "100", "no topic has it; Kafka fails inside"),
    ("metadata: a topic twice", "0 0", EACH),
    ("create topics: 2147483647 partitions", "37", "more partitions than a topic can have are an invalid number of them, and no policy"),
    ("create topics: replication factor 2", "0", NO_REPLICAS),
    ("create topics: replication factor 32767", "0", NO_REPLICAS),
    ("create topics: assigned with a number too", "0", LENIENT),
    ("create topics: assigned to an unknown broker", "0", NO_REPLICAS),
    ("create topics: one twice", "42 42", EACH),
    ("create topics: only a dot from another one", "0", "names are kept apart everywhere: nothing is called a_b because it is called a.b"),
    ("create topics: time-out -1", "0", "a topic is there when it is answered: nothing is waited for"),
    ("delete topics: name with a slash", "17", NAMES),
    ("delete topics: empty name", "17", NAMES),
    ("delete topics: neither name nor id", "100", "no topic has it"),
    ("delete topics: one twice", "0 3", EACH),
    ("delete topics: by name and by id", "0 100", EACH),
    ("offset commit: topic name with a slash", "17", NAMES),
    ("protocol: metadata with an array of -2", "closed", STRICT),
    ("protocol: client name of -5 bytes", "closed", STRICT),
];
